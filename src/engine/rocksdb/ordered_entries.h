// The entries of a memtable in their order: by key, the newest of a key first. Internal to the
// engine.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stator::engine {

// A skip list of keys, each with the chain of its versions. A node has the first bytes of its key
// as a number, so that most steps compare two numbers and touch no other memory. One thread
// inserts; others read meanwhile, without a lock: what is in it stays as it is, where it is, as
// long as whoever gave the memory keeps it.
class OrderedEntries {
 public:
  // In front of an entry's bytes. The first one of a key that was inserted is in the list and
  // stands for the key; the others are only in its chain.
  class Node {
   public:
    const char* entry() const { return reinterpret_cast<const char*>(this + 1); }
    // The version before this one, or null.
    const Node* older() const { return older_.load(std::memory_order_acquire); }
    // Of one that stands for its key: the key's newest version, and the next key or null.
    const Node* newest() const { return newest_.load(std::memory_order_acquire); }
    const Node* next_key() const { return links_[0].load(std::memory_order_acquire); }

   private:
    friend class OrderedEntries;
    std::atomic<Node*>& link(int level) { return *(&links_[0] - level); }
    const Node* next(int level) const {
      return (&links_[0] - level)->load(std::memory_order_acquire);
    }
    Node* stands_for_key() {
      return newest_.load(std::memory_order_relaxed) != nullptr
                 ? this
                 : links_[0].load(std::memory_order_relaxed);
    }

    // Of the lowest level; those of the others lie before it. One that is only in a chain has the
    // one that stands for its key here.
    std::atomic<Node*> links_[1];
    uint64_t prefix_ = 0;
    std::atomic<Node*> newest_{nullptr};
    std::atomic<Node*> older_{nullptr};
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
  // `newest` is the newest version of its key so far, null if the key is new. False if the same
  // version is there already.
  bool insert(Node* node, int height, Node* newest);

  // From any thread. The first key that is not before `key`, or the last that is; null if there is
  // none.
  const Node* key_at_or_after(std::string_view key) const;
  const Node* key_before(std::string_view key) const;
  const Node* first_key() const { return head()->next_key(); }
  const Node* last_key() const;

 private:
  static constexpr int kMaxHeight = 12;
  // One in so many nodes is on the next level too.
  static constexpr uint32_t kBranching = 4;

  const Node* head() const { return reinterpret_cast<const Node*>(&head_[kMaxHeight - 1]); }
  Node* head() { return reinterpret_cast<Node*>(&head_[kMaxHeight - 1]); }
  static bool is_before(const Node& node, uint64_t prefix, std::string_view key);
  // Two that followed each other when they were looked at: more may be between them since.
  struct Gap {
    const Node* before = nullptr;  // the head if there is none
    const Node* after = nullptr;
  };
  Gap find(uint64_t prefix, std::string_view key, std::array<Node*, kMaxHeight>* path) const;
  void insert_key(Node* node, int height);
  static bool insert_version(Node* node, Node* newest);

  std::array<std::atomic<Node*>, kMaxHeight + 3> head_{};  // links, and room for the rest of a node
  std::atomic<int> height_{1};
  uint64_t random_ = 0x9e3779b97f4a7c15;
};

// The newest version of a key that is not newer than `version`, or null. `newest` is the one to
// begin with.
const OrderedEntries::Node* version_at(const OrderedEntries::Node* newest, uint64_t version);

}  // namespace stator::engine
