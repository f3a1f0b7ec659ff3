#include "engine/rocksdb/ordered_entries.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <new>

#include "engine/rocksdb/memtable_entry.h"

namespace stator::engine {

namespace {

// The first 8 bytes as a number that orders as they do; a shorter key as if zeros followed.
uint64_t prefix_of(std::string_view key) {
  if (key.size() >= 8) return __builtin_bswap64(load_8_bytes(key.data()));
  uint64_t prefix = 0;
  std::memcpy(&prefix, key.data(), key.size());
  return __builtin_bswap64(prefix);
}

}  // namespace

OrderedEntries::OrderedEntries() {
  static_assert(sizeof(Node) == 4 * sizeof(uint64_t) && alignof(Node) == sizeof(uint64_t));
  static_assert(sizeof(std::atomic<Node*>) == sizeof(uint64_t));
}

int OrderedEntries::choose_height() {
  int height = 1;
  for (; height < kMaxHeight; ++height) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    if ((random_ >> 32) % kBranching != 0) break;
  }
  return height;
}

size_t OrderedEntries::size_of(int height, size_t entry_bytes) {
  const size_t for_alignment = alignof(Node) - 1;
  return for_alignment + static_cast<size_t>(height - 1) * sizeof(std::atomic<Node*>) +
         sizeof(Node) + entry_bytes;
}

OrderedEntries::Node* OrderedEntries::make(char* memory, int height) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  char* at = memory + (-address & (alignof(Node) - 1));
  for (int level = height - 1; level > 0; --level) {
    new (at) std::atomic<Node*>(nullptr);
    at += sizeof(std::atomic<Node*>);
  }
  return new (at) Node();
}

bool OrderedEntries::is_before(const Node& node, uint64_t prefix, std::string_view key) {
  if (node.prefix_ != prefix) return node.prefix_ < prefix;
  return key_of(internal_key_of(node.entry())) < key;
}

// The last node before `key` and the first one that is not; into `path` the like of the former on
// each level.
OrderedEntries::Gap OrderedEntries::find(uint64_t prefix, std::string_view key,
                                         std::array<Node*, kMaxHeight>* path) const {
  const Node* at = head();
  const Node* not_before = nullptr;  // found so on a level above
  for (int level = height_.load(std::memory_order_relaxed) - 1; level >= 0; --level) {
    const Node* next = at->next(level);
    while (next != nullptr && next != not_before) {
      const Node* const after = next->next(level);
      __builtin_prefetch(after);
      if (!is_before(*next, prefix, key)) break;
      at = next;
      next = after;
    }
    not_before = next;
    if (path != nullptr) (*path)[static_cast<size_t>(level)] = const_cast<Node*>(at);
  }
  return {at, not_before};
}

bool OrderedEntries::insert(Node* node, int height, Node* newest) {
  if (newest != nullptr) return insert_version(node, newest);
  insert_key(node, height);
  return true;
}

void OrderedEntries::insert_key(Node* node, int height) {
  const std::string_view key = key_of(internal_key_of(node->entry()));
  node->prefix_ = prefix_of(key);
  node->newest_.store(node, std::memory_order_relaxed);
  std::array<Node*, kMaxHeight> path;
  const int height_before = height_.load(std::memory_order_relaxed);
  find(node->prefix_, key, &path);
  if (height > height_before) {
    std::fill(path.begin() + height_before, path.begin() + height, head());
    // A reader that sees the new height but not the node finds nothing on the levels above.
    height_.store(height, std::memory_order_relaxed);
  }
  for (int level = 0; level < height; ++level) {
    std::atomic<Node*>& link = path[static_cast<size_t>(level)]->link(level);
    node->link(level).store(link.load(std::memory_order_relaxed), std::memory_order_relaxed);
    link.store(node, std::memory_order_release);
  }
}

// Nearly always as the newest one.
bool OrderedEntries::insert_version(Node* node, Node* newest) {
  Node* const key = newest->stands_for_key();
  const uint64_t version = version_of(internal_key_of(node->entry()));
  node->links_[0].store(key, std::memory_order_relaxed);
  std::atomic<Node*>* link = &key->newest_;
  Node* next = newest;
  for (; next != nullptr; next = link->load(std::memory_order_relaxed)) {
    const uint64_t other = version_of(internal_key_of(next->entry()));
    if (other == version) return false;
    if (other < version) break;
    link = &next->older_;
  }
  node->older_.store(next, std::memory_order_relaxed);
  link->store(node, std::memory_order_release);
  return true;
}

const OrderedEntries::Node* OrderedEntries::key_at_or_after(std::string_view key) const {
  return find(prefix_of(key), key, nullptr).after;
}

const OrderedEntries::Node* OrderedEntries::key_before(std::string_view key) const {
  const Node* const node = find(prefix_of(key), key, nullptr).before;
  return node == head() ? nullptr : node;
}

const OrderedEntries::Node* OrderedEntries::last_key() const {
  const Node* at = head();
  for (int level = height_.load(std::memory_order_relaxed) - 1; level >= 0; --level) {
    while (const Node* const next = at->next(level)) at = next;
  }
  return at == head() ? nullptr : at;
}

const OrderedEntries::Node* version_at(const OrderedEntries::Node* newest, uint64_t version) {
  while (newest != nullptr && version_of(internal_key_of(newest->entry())) > version)
    newest = newest->older();
  return newest;
}

}  // namespace stator::engine
