#include "engine/rocksdb/indexed_memtable.h"

#include <rocksdb/slice.h>

#include <cassert>
#include <memory>
#include <new>
#include <vector>

#include "engine/rocksdb/key_index.h"
#include "engine/rocksdb/memtable_entry.h"
#include "engine/rocksdb/ordered_entries.h"

namespace stator::engine {

namespace {

using Node = OrderedEntries::Node;

std::string_view view_of(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// Memory of cursors that this thread is done with.
class CursorMemory {
 public:
  CursorMemory() = default;
  ~CursorMemory() { keep(0); }
  CursorMemory(const CursorMemory&) = delete;
  CursorMemory& operator=(const CursorMemory&) = delete;

  void* take(size_t bytes) {
    keep(kKept);
    if (free_.empty()) return ::operator new(bytes);
    void* const memory = free_.back();
    free_.pop_back();
    return memory;
  }
  void give_back(void* memory) {
    keep(kKept);
    free_.push_back(memory);
  }

 private:
  static constexpr size_t kKept = 16;

  void keep(size_t count) {
    for (; free_.size() > count; free_.pop_back()) ::operator delete(free_.back());
  }

  std::vector<void*> free_;
};

thread_local CursorMemory cursor_memory;

// Over all entries. RocksDB places its own iterators in an arena of a kind that it does not show,
// and then ends them without freeing them; so a cursor's memory is given back by its destructor,
// for the next one on this thread, and never by delete.
class Cursor final : public rocksdb::MemTableRep::Iterator {
 public:
  explicit Cursor(const OrderedEntries& entries) : entries_(entries) {}
  ~Cursor() override { cursor_memory.give_back(this); }
  static void* operator new(size_t bytes) { return cursor_memory.take(bytes); }
  static void operator delete(void*) {}

  bool Valid() const override { return node_ != nullptr; }
  const char* key() const override { return node_->entry(); }
  void Next() override { node_ = node_->next(); }
  void Prev() override { node_ = entries_.before(internal_key_of(node_->entry())); }
  void Seek(const rocksdb::Slice& internal_key, const char* entry) override {
    node_ = entries_.at_or_after(wanted_of(internal_key, entry));
  }
  void SeekForPrev(const rocksdb::Slice& internal_key, const char* entry) override {
    const std::string_view wanted = wanted_of(internal_key, entry);
    node_ = entries_.at_or_after(wanted);
    if (node_ == nullptr || internal_key_of(node_->entry()) != wanted)
      node_ = entries_.before(wanted);
  }
  void SeekToFirst() override { node_ = entries_.first(); }
  void SeekToLast() override { node_ = entries_.last(); }

 private:
  // A caller gives one of them.
  static std::string_view wanted_of(const rocksdb::Slice& internal_key, const char* entry) {
    return entry != nullptr ? internal_key_of(entry) : view_of(internal_key);
  }

  const OrderedEntries& entries_;
  const Node* node_ = nullptr;
};

// Finds one key: its newest version by the index, an older one in the list.
class KeyLookup final : public rocksdb::MemTableRep::Iterator {
 public:
  KeyLookup(const KeyIndex& index, const OrderedEntries& entries)
      : index_(index), entries_(entries) {}

  void Seek(const rocksdb::Slice& internal_key, const char*) override {
    const std::string_view wanted = view_of(internal_key);
    entry_ = index_.find(key_of(wanted));
    if (entry_ == nullptr || version_of(internal_key_of(entry_)) <= version_of(wanted)) return;
    go_to(entries_.at_or_after(wanted));
  }
  void Next() override { go_to(OrderedEntries::node_of(entry_)->next()); }
  bool Valid() const override { return entry_ != nullptr; }
  const char* key() const override { return entry_; }

  // Nobody looks for one key in these ways.
  void Prev() override { assert(false); }
  void SeekForPrev(const rocksdb::Slice&, const char*) override { assert(false); }
  void SeekToFirst() override { assert(false); }
  void SeekToLast() override { assert(false); }

 private:
  void go_to(const Node* node) { entry_ = node == nullptr ? nullptr : node->entry(); }

  const KeyIndex& index_;
  const OrderedEntries& entries_;
  const char* entry_ = nullptr;
};

// The one of a look-up that this thread is in.
thread_local KeyLookup* looking_up = nullptr;

class IndexedMemtable final : public rocksdb::MemTableRep {
 public:
  explicit IndexedMemtable(rocksdb::Allocator* allocator) : MemTableRep(allocator) {}

  rocksdb::KeyHandle Allocate(size_t size, char** entry) override {
    height_ = entries_.choose_height();
    char* memory = nullptr;
    MemTableRep::Allocate(OrderedEntries::size_of(height_, size), &memory);
    allocated_ = OrderedEntries::make(memory, height_);
    *entry = const_cast<char*>(allocated_->entry());
    return allocated_;
  }
  void Insert(rocksdb::KeyHandle handle) override { InsertKey(handle); }
  bool InsertKey(rocksdb::KeyHandle handle) override {
    assert(handle == allocated_);
    static_cast<void>(handle);
    if (!entries_.insert(allocated_, height_)) return false;
    index_.add(allocated_->entry());
    return true;
  }
  bool Contains(const char* entry) const override {
    const std::string_view wanted = internal_key_of(entry);
    const Node* const node = entries_.at_or_after(wanted);
    return node != nullptr && internal_key_of(node->entry()) == wanted;
  }
  // Beside what was allocated.
  size_t ApproximateMemoryUsage() override { return index_.size_bytes(); }
  Iterator* GetIterator(rocksdb::Arena*) override { return new Cursor(entries_); }
  // MemTableRep's own asks for an iterator, looks with it, and never frees it.
  void Get(const rocksdb::LookupKey& key, void* argument,
           bool (*found)(void* argument, const char* entry)) override {
    KeyLookup lookup(index_, entries_);
    looking_up = &lookup;
    MemTableRep::Get(key, argument, found);
    looking_up = nullptr;
  }
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override {
    return looking_up != nullptr ? looking_up : GetIterator(arena);
  }

 private:
  OrderedEntries entries_;
  KeyIndex index_;
  // The last one.
  Node* allocated_ = nullptr;
  int height_ = 0;
};

}  // namespace

rocksdb::MemTableRep* IndexedMemtableFactory::CreateMemTableRep(
    const rocksdb::MemTableRep::KeyComparator&, rocksdb::Allocator* allocator,
    const rocksdb::SliceTransform*, rocksdb::Logger*) {
  return new IndexedMemtable(allocator);
}

}  // namespace stator::engine
