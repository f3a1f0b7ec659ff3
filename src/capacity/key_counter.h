// Which keys are used most, in bounded memory: the "space saving" summary. Each shard keeps a fixed
// number of keys; a new key takes the place of the rarest one and inherits its count, which is then
// the most that the new count can be too high by. A key that is more frequent than 1 in
// kKeysInShard within its shard is never lost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stator::capacity {

// Thread-safe.
class KeyCounter {
 public:
  static constexpr size_t kShards = 8;
  static constexpr size_t kKeysInShard = 128;

  struct Counted {
    std::string key;
    uint64_t count = 0;
    uint64_t error = 0;  // the true count is between count - error and count
  };

  void add(std::string_view key);
  // Those counted most, the most frequent first.
  std::vector<Counted> top(size_t limit) const;

 private:
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::vector<Counted> keys;
    std::unordered_map<std::string, size_t> places;
  };

  std::array<Shard, kShards> shards_;
};

}  // namespace stator::capacity
