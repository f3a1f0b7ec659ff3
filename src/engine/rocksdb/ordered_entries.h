// The entries of a memtable in their order: by key, the newest of a key first. Internal to the
// engine.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stator::engine {

// A skip list. Each node has the first bytes of its key as a number, so that most steps compare two
// numbers and touch no other memory. One thread inserts; others read meanwhile, without a lock:
// what is in it stays as it is, where it is, as long as whoever gave the memory keeps it.
class OrderedEntries {
 public:
  // In front of an entry's bytes.
  class Node {
   public:
    const char* entry() const { return reinterpret_cast<const char*>(this + 1); }
    const Node* next() const { return links_[0].load(std::memory_order_acquire); }

   private:
    friend class OrderedEntries;
    std::atomic<Node*>& link(int level) { return *(&links_[0] - level); }
    const Node* next(int level) const {
      return (&links_[0] - level)->load(std::memory_order_acquire);
    }

    std::atomic<Node*> links_[1];  // of the lowest level; those of the others lie before it
    uint64_t prefix_ = 0;
  };

  OrderedEntries();
  OrderedEntries(const OrderedEntries&) = delete;
  OrderedEntries& operator=(const OrderedEntries&) = delete;

  // The height of the next node, and the memory that one of this height needs around an entry.
  int choose_height();
  static size_t size_of(int height, size_t entry_bytes);
  // Makes a node of `size_of(height, …)` bytes at `memory`. Its entry is then to be written, and it
  // to be inserted.
  static Node* make(char* memory, int height);
  static Node* node_of(const char* entry) {
    return reinterpret_cast<Node*>(const_cast<char*>(entry)) - 1;
  }
  // False if the same version of its key is there already.
  bool insert(Node* node, int height);

  // From any thread. The first that is not before `internal_key`, or the last that is; null if
  // there is none.
  const Node* at_or_after(std::string_view internal_key) const;
  const Node* before(std::string_view internal_key) const;
  const Node* first() const { return head()->next(); }
  const Node* last() const;

 private:
  static constexpr int kMaxHeight = 12;
  // One in so many nodes is on the next level too.
  static constexpr uint32_t kBranching = 4;

  const Node* head() const { return reinterpret_cast<const Node*>(&head_[kMaxHeight - 1]); }
  Node* head() { return reinterpret_cast<Node*>(&head_[kMaxHeight - 1]); }
  static bool is_before(const Node& node, uint64_t prefix, std::string_view internal_key);
  // Two that followed each other when they were looked at: more may be between them since.
  struct Gap {
    const Node* before = nullptr;  // the head if there is none
    const Node* after = nullptr;
  };
  Gap find(uint64_t prefix, std::string_view internal_key,
           std::array<Node*, kMaxHeight>* path) const;

  std::array<std::atomic<Node*>, kMaxHeight + 1> head_{};  // links, and room for a prefix
  std::atomic<int> height_{1};
  uint64_t random_ = 0x9e3779b97f4a7c15;
};

}  // namespace stator::engine
