// Token buckets by key, in bounded memory. A bucket that nobody has is a full one, so those that
// have filled up again can be forgotten.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace stator::capacity {

struct BucketKey {
  uint64_t table = 0;
  uint32_t index = 0;  // 0: the table itself
  bool write = false;
  uint64_t partition = 0;  // of buckets of one partition key
  bool operator==(const BucketKey&) const = default;
};

// How a bucket fills: so many units a second, and as many as come in within `burst_s` while nobody
// takes any.
struct Rate {
  double units_per_s = 0;
  double burst_s = 1;
  double full() const { return units_per_s * burst_s; }
};

// Thread-safe.
class BucketTable {
 public:
  // Forgets buckets beyond about `most_buckets`: those that are full again first, then the fuller
  // ones.
  explicit BucketTable(size_t most_buckets);

  // Whether anything is left.
  bool has_units(const BucketKey& key, Rate rate, int64_t now_us);
  // Takes units. What is left may become less than nothing, and has to be made up for before
  // has_units. Negative units are given back.
  void take(const BucketKey& key, Rate rate, double units, int64_t now_us);

  size_t size() const;

 private:
  static constexpr size_t kShards = 64;
  struct Bucket {
    double units = 0;
    Rate rate;  // as of the last look: what it filled with since
    int64_t at_us = 0;
  };
  struct KeyHash {
    size_t operator()(const BucketKey& key) const;
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    std::unordered_map<BucketKey, Bucket, KeyHash> buckets;
  };

  static void fill(Bucket& bucket, int64_t now_us);
  void make_room(Shard& shard, int64_t now_us) const;
  Shard& shard_of(const BucketKey& key) { return shards_[KeyHash()(key) % kShards]; }

  const size_t most_in_shard_;
  std::array<Shard, kShards> shards_;
};

}  // namespace stator::capacity
