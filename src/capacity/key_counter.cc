#include "capacity/key_counter.h"

#include <algorithm>

namespace stator::capacity {

void KeyCounter::add(std::string_view key) {
  std::string owned(key);
  // Not the bits that the map of the shard uses first.
  Shard& shard = shards_[(std::hash<std::string>{}(owned) >> 32) % kShards];
  const std::lock_guard lock(shard.mutex);
  const auto known = shard.places.find(owned);
  if (known != shard.places.end()) {
    shard.keys[known->second].count += 1;
    return;
  }
  if (shard.keys.size() < kKeysInShard) {
    shard.places.emplace(owned, shard.keys.size());
    shard.keys.push_back({std::move(owned), 1, 0});
    return;
  }
  const auto rarest =
      std::min_element(shard.keys.begin(), shard.keys.end(),
                       [](const Counted& a, const Counted& b) { return a.count < b.count; });
  shard.places.erase(rarest->key);
  shard.places.emplace(owned, static_cast<size_t>(rarest - shard.keys.begin()));
  *rarest = {std::move(owned), rarest->count + 1, rarest->count};
}

std::vector<KeyCounter::Counted> KeyCounter::top(size_t limit) const {
  std::vector<Counted> all;
  for (const Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    all.insert(all.end(), shard.keys.begin(), shard.keys.end());
  }
  const size_t count = std::min(limit, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [](const Counted& a, const Counted& b) {
                      return a.count != b.count ? a.count > b.count : a.key < b.key;
                    });
  all.resize(count);
  return all;
}

}  // namespace stator::capacity
