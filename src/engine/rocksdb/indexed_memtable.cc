#include "engine/rocksdb/indexed_memtable.h"

#include <rocksdb/slice.h>

#include <cassert>
#include <memory>
#include <new>
#include <optional>
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

// Enough for a cursor of each kind.
constexpr size_t kCursorBytes = 48;

// Memory of cursors that this thread is done with.
class CursorMemory {
 public:
  CursorMemory() = default;
  ~CursorMemory() { keep(0); }
  CursorMemory(const CursorMemory&) = delete;
  CursorMemory& operator=(const CursorMemory&) = delete;

  void* take() {
    keep(kKept);
    if (free_.empty()) return ::operator new(kCursorBytes);
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

// RocksDB places its own iterators in an arena of a kind that it does not show, and then ends them
// without freeing them; so a cursor's memory is given back by its destructor, for the next one on
// this thread, and never by delete.
class Cursor : public rocksdb::MemTableRep::Iterator {
 public:
  explicit Cursor(const OrderedEntries& entries) : entries_(entries) {}
  ~Cursor() override { cursor_memory.give_back(this); }
  static void* operator new(size_t) { return cursor_memory.take(); }
  static void operator delete(void*) {}

  bool Valid() const override { return version_ != nullptr; }
  const char* key() const override { return version_->entry(); }

 protected:
  // A caller gives one of them.
  static std::string_view wanted_of(const rocksdb::Slice& internal_key, const char* entry) {
    return entry != nullptr ? internal_key_of(entry) : view_of(internal_key);
  }
  static std::string_view key_of_node(const Node& node) {
    return key_of(internal_key_of(node.entry()));
  }
  const Node* key_before() const { return entries_.key_before(key_of_node(*key_)); }

  const OrderedEntries& entries_;
  const Node* key_ = nullptr;      // the one that stands for it
  const Node* version_ = nullptr;  // of that key
};

// Over all versions of all keys.
class FullCursor final : public Cursor {
 public:
  using Cursor::Cursor;

  void Next() override {
    version_ = version_->older();
    if (version_ == nullptr) go_to_newest(key_->next_key());
  }
  void Prev() override {
    const Node* newer = key_->newest();
    if (newer == version_) return go_to_oldest(key_before());
    while (newer->older() != version_) newer = newer->older();
    version_ = newer;
  }
  void Seek(const rocksdb::Slice& internal_key, const char* entry) override {
    const std::string_view wanted = wanted_of(internal_key, entry);
    go_to_newest(entries_.key_at_or_after(key_of(wanted)));
    if (key_ == nullptr || key_of_node(*key_) != key_of(wanted)) return;
    version_ = version_at(version_, version_of(wanted));
    if (version_ == nullptr) go_to_newest(key_->next_key());
  }
  void SeekForPrev(const rocksdb::Slice& internal_key, const char* entry) override {
    const std::string_view wanted = wanted_of(internal_key, entry);
    key_ = entries_.key_at_or_after(key_of(wanted));
    if (key_ == nullptr || key_of_node(*key_) != key_of(wanted))
      return go_to_oldest(entries_.key_before(key_of(wanted)));
    // The oldest of those that are not older than the one that is wanted.
    version_ = nullptr;
    for (const Node* at = key_->newest();
         at != nullptr && version_of(internal_key_of(at->entry())) >= version_of(wanted);
         at = at->older())
      version_ = at;
    if (version_ == nullptr) go_to_oldest(key_before());
  }
  void SeekToFirst() override { go_to_newest(entries_.first_key()); }
  void SeekToLast() override { go_to_oldest(entries_.last_key()); }

 private:
  void go_to_newest(const Node* key) {
    key_ = key;
    version_ = key == nullptr ? nullptr : key->newest();
  }
  // Versions come in their order, so the one that stands for the key is most likely the oldest.
  void go_to_oldest(const Node* key) {
    key_ = version_ = key;
    if (key == nullptr) return;
    while (const Node* const older = version_->older()) version_ = older;
  }
};

// Over the keys, each with its newest version that a view has: the others have no meaning to it,
// and there may be many. Of keys that it has nothing of, only some are passed over at once: RocksDB
// passes over the others, and knows where to stop.
class ViewCursor final : public Cursor {
 public:
  ViewCursor(const OrderedEntries& entries, uint64_t version)
      : Cursor(entries), view_version_(version) {}

  void Next() override { go_forward(key_->next_key()); }
  void Prev() override { go_back(key_before()); }
  void Seek(const rocksdb::Slice& internal_key, const char* entry) override {
    const std::string_view wanted = wanted_of(internal_key, entry);
    go_forward(entries_.key_at_or_after(key_of(wanted)));
    if (key_ != nullptr && is_of_key(wanted) && version() > version_of(wanted)) Next();
  }
  void SeekForPrev(const rocksdb::Slice& internal_key, const char* entry) override {
    const std::string_view wanted = wanted_of(internal_key, entry);
    key_ = entries_.key_at_or_after(key_of(wanted));
    if (key_ != nullptr && is_of_key(wanted)) {
      version_ = version_at(key_->newest(), view_version_);
      if (version_ != nullptr && version() >= version_of(wanted)) return;
    }
    go_back(entries_.key_before(key_of(wanted)));
  }
  void SeekToFirst() override { go_forward(entries_.first_key()); }
  void SeekToLast() override { go_back(entries_.last_key()); }

 private:
  bool is_of_key(std::string_view wanted) const { return key_of_node(*key_) == key_of(wanted); }
  uint64_t version() const { return version_of(internal_key_of(version_->entry())); }
  // To the first one that the view has anything of, from `key` on.
  void go_forward(const Node* key) {
    for (int passed = 0; !stop_at(key, passed); ++passed) key = key_->next_key();
  }
  void go_back(const Node* key) {
    for (int passed = 0; !stop_at(key, passed); ++passed) key = key_before();
  }
  bool stop_at(const Node* key, int passed) {
    key_ = key;
    version_ = key == nullptr ? nullptr : version_at(key->newest(), view_version_);
    if (key != nullptr && version_ == nullptr && passed == kMaxPassed) version_ = key->newest();
    return key == nullptr || version_ != nullptr;
  }

  static constexpr int kMaxPassed = 8;

  const uint64_t view_version_;
};

static_assert(sizeof(FullCursor) <= kCursorBytes && sizeof(ViewCursor) <= kCursorBytes);

// Finds one key by the index: its newest version, and the older ones behind it.
class KeyLookup final : public rocksdb::MemTableRep::Iterator {
 public:
  explicit KeyLookup(const KeyIndex& index) : index_(index) {}

  void Seek(const rocksdb::Slice& internal_key, const char*) override {
    const std::string_view wanted = view_of(internal_key);
    const char* const newest = index_.find(key_of(wanted));
    if (newest != nullptr)
      version_ = version_at(OrderedEntries::node_of(newest), version_of(wanted));
  }
  void Next() override { version_ = version_->older(); }
  bool Valid() const override { return version_ != nullptr; }
  const char* key() const override { return version_->entry(); }

  // Nobody looks for one key in these ways.
  void Prev() override { assert(false); }
  void SeekForPrev(const rocksdb::Slice&, const char*) override { assert(false); }
  void SeekToFirst() override { assert(false); }
  void SeekToLast() override { assert(false); }

 private:
  const KeyIndex& index_;
  const Node* version_ = nullptr;
};

// The one of a look-up that this thread is in.
thread_local KeyLookup* looking_up = nullptr;
// The highest version that the iterators that this thread makes are for, if that is known.
thread_local std::optional<uint64_t> view_version;

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
    const std::string_view internal_key = internal_key_of(allocated_->entry());
    const KeyIndex::Place place = index_.place_of(key_of(internal_key));
    Node* const newest =
        place.newest() == nullptr ? nullptr : OrderedEntries::node_of(place.newest());
    if (!entries_.insert(allocated_, height_, newest)) return false;
    if (newest == nullptr ||
        version_of(internal_key_of(newest->entry())) < version_of(internal_key))
      index_.set(place, allocated_->entry());
    return true;
  }
  bool Contains(const char* entry) const override {
    const std::string_view wanted = internal_key_of(entry);
    const char* const newest = index_.find(key_of(wanted));
    if (newest == nullptr) return false;
    const Node* const found = version_at(OrderedEntries::node_of(newest), version_of(wanted));
    return found != nullptr && internal_key_of(found->entry()) == wanted;
  }
  // Beside what was allocated.
  size_t ApproximateMemoryUsage() override { return index_.size_bytes(); }
  Iterator* GetIterator(rocksdb::Arena*) override {
    if (view_version) return new ViewCursor(entries_, *view_version);
    return new FullCursor(entries_);
  }
  // MemTableRep's own asks for an iterator, looks with it, and never frees it.
  void Get(const rocksdb::LookupKey& key, void* argument,
           bool (*found)(void* argument, const char* entry)) override {
    KeyLookup lookup(index_);
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

ReadingAt::ReadingAt(uint64_t sequence) {
  assert(!view_version);
  view_version = sequence << kKindBits | ((1u << kKindBits) - 1);
}

ReadingAt::~ReadingAt() {
  view_version.reset();
}

rocksdb::MemTableRep* IndexedMemtableFactory::CreateMemTableRep(
    const rocksdb::MemTableRep::KeyComparator&, rocksdb::Allocator* allocator,
    const rocksdb::SliceTransform*, rocksdb::Logger*) {
  return new IndexedMemtable(allocator);
}

}  // namespace stator::engine
