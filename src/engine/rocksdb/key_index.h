// From each key of a memtable to its newest entry. Internal to the engine.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace stator::engine {

// Open addressing, half full at the most. One thread adds; others find meanwhile, without a lock.
// A reader finds everything that was added before the sequence number that it reads at was
// published: in the slots that it sees, or in the larger ones that took their place.
class KeyIndex {
 public:
  KeyIndex();
  KeyIndex(const KeyIndex&) = delete;
  KeyIndex& operator=(const KeyIndex&) = delete;

  // An entry as memtable_entry.h has it; it stays where it is.
  void add(const char* entry);
  // The newest entry of `key`, or null. From any thread.
  const char* find(std::string_view key) const;
  size_t size_bytes() const { return size_bytes_.load(std::memory_order_relaxed); }

 private:
  using Slots = std::vector<std::atomic<uint64_t>>;

  void grow_to(size_t size);
  static bool put(Slots& slots, const char* entry);

  // Readers may be in the smaller ones still, which together are as large as the last.
  std::vector<std::unique_ptr<Slots>> all_;
  size_t used_ = 0;
  std::atomic<const Slots*> current_{nullptr};
  std::atomic<size_t> size_bytes_{0};
};

}  // namespace stator::engine
