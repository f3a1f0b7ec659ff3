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

  // Where a key is, or is to be: good for one set() and until the next place_of().
  class Place {
   public:
    // The key's newest entry, or null.
    const char* newest() const { return newest_; }

   private:
    friend class KeyIndex;
    std::atomic<uint64_t>* slot_ = nullptr;
    uint64_t tag_ = 0;
    const char* newest_ = nullptr;
  };
  Place place_of(std::string_view key);
  // Its newest entry from now on, as memtable_entry.h has it; it stays where it is.
  void set(const Place& place, const char* entry);
  // The newest entry of `key`, or null. From any thread.
  const char* find(std::string_view key) const;
  size_t size_bytes() const { return size_bytes_.load(std::memory_order_relaxed); }

 private:
  using Slots = std::vector<std::atomic<uint64_t>>;

  void grow_to(size_t size);
  static Place place_in(Slots& slots, std::string_view key);

  // Readers may be in the smaller ones still, which together are as large as the last.
  std::vector<std::unique_ptr<Slots>> all_;
  size_t used_ = 0;
  std::atomic<const Slots*> current_{nullptr};
  std::atomic<size_t> size_bytes_{0};
};

}  // namespace stator::engine
