#include "capacity/bucket_table.h"

#include <algorithm>

namespace stator::capacity {

namespace {

uint64_t mix(uint64_t value) {
  value ^= value >> 31;
  value *= 0x9E3779B97F4A7C15;
  value ^= value >> 29;
  value *= 0xBF58476D1CE4E5B9;
  return value ^ (value >> 32);
}

}  // namespace

size_t BucketTable::KeyHash::operator()(const BucketKey& key) const {
  const uint64_t place = (static_cast<uint64_t>(key.index) << 1) | (key.write ? 1 : 0);
  return mix(key.partition + mix(place + mix(key.table)));
}

BucketTable::BucketTable(size_t most_buckets)
    : most_in_shard_(std::max<size_t>(most_buckets / kShards, 1)) {}

void BucketTable::fill(Bucket& bucket, int64_t now_us) {
  // A clock that was set back counts from its new time.
  const double elapsed_s = static_cast<double>(std::max<int64_t>(now_us - bucket.at_us, 0)) / 1e6;
  bucket.units = std::min(bucket.units + elapsed_s * bucket.rate.units_per_s, bucket.rate.full());
  bucket.at_us = now_us;
}

void BucketTable::make_room(Shard& shard, int64_t now_us) const {
  auto& buckets = shard.buckets;
  for (auto& [key, bucket] : buckets) fill(bucket, now_us);
  std::erase_if(buckets,
                [](const auto& entry) { return entry.second.units >= entry.second.rate.full(); });
  if (buckets.size() < most_in_shard_) return;
  const auto fullness = [](const Bucket& bucket) {
    return bucket.units / std::max(bucket.rate.full(), 1.0);
  };
  double sum = 0;
  double fullest = fullness(buckets.begin()->second);
  for (const auto& [key, bucket] : buckets) {
    sum += fullness(bucket);
    fullest = std::max(fullest, fullness(bucket));
  }
  // Rounding may lift the mean over all of them.
  const double bound = std::min(sum / static_cast<double>(buckets.size()), fullest);
  std::erase_if(buckets, [&](const auto& entry) { return fullness(entry.second) >= bound; });
}

bool BucketTable::has_units(const BucketKey& key, Rate rate, int64_t now_us) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto at = shard.buckets.find(key);
  if (at == shard.buckets.end()) return true;
  fill(at->second, now_us);
  at->second.rate = rate;
  return at->second.units > 0;
}

void BucketTable::take(const BucketKey& key, Rate rate, double units, int64_t now_us) {
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  auto at = shard.buckets.find(key);
  if (at == shard.buckets.end()) {
    if (units <= 0) return;
    if (shard.buckets.size() >= most_in_shard_) make_room(shard, now_us);
    at = shard.buckets.emplace(key, Bucket{rate.full(), rate, now_us}).first;
  }
  Bucket& bucket = at->second;
  fill(bucket, now_us);
  bucket.rate = rate;
  bucket.units = std::min(bucket.units, rate.full()) - units;
  bucket.units = std::min(bucket.units, rate.full());
}

size_t BucketTable::size() const {
  size_t size = 0;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    size += shard.buckets.size();
  }
  return size;
}

}  // namespace stator::capacity
