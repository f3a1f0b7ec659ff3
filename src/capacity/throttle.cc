#include "capacity/throttle.h"

#include <algorithm>
#include <cassert>

namespace stator::capacity {

namespace {

bool is_maximum(const std::optional<int64_t>& units) {
  return units && *units > 0;
}

// What a table or index provides in a second, and why; nothing if it has no bound.
struct Provided {
  Rate rate;
  Limit limit = Limit::kProvisioned;
};

std::optional<Provided> provided(const catalog::Table& table, const model::Index* index,
                                 Access access) {
  const catalog::Capacity* capacity = &table.capacity;
  if (index != nullptr) {
    const auto at = static_cast<size_t>(index - table.schema->indexes.data());
    assert(at < table.schema->indexes.size());
    if (at >= table.index_capacity.size()) return std::nullopt;
    capacity = &table.index_capacity[at];
  }
  const bool write = access == Access::kWrite;
  if (table.billing == catalog::BillingMode::kProvisioned) {
    const int64_t units =
        write ? capacity->provisioned.write_units : capacity->provisioned.read_units;
    if (units <= 0) return std::nullopt;
    return Provided{{static_cast<double>(units), kBurstSeconds}, Limit::kProvisioned};
  }
  const auto& units = write ? capacity->max_write_request_units : capacity->max_read_request_units;
  if (!is_maximum(units)) return std::nullopt;
  return Provided{{static_cast<double>(*units), kBurstSeconds}, Limit::kMaximum};
}

BucketKey bucket_key(const catalog::Table& table, const Place& place, Access access) {
  return {table.schema->number, place.index != nullptr ? place.index->number : 0,
          access == Access::kWrite, 0};
}

// One second of it: burst capacity does not help a single key.
Rate key_rate(Access access) {
  return {access == Access::kWrite ? kKeyWriteUnitsPerSecond : kKeyReadUnitsPerSecond, 1};
}

}  // namespace

Throttle::Throttle(ThrottleMode mode, const Clock& clock)
    : mode_(mode), clock_(clock), tables_(kMostTableBuckets), keys_(kMostKeyBuckets) {}

bool Throttle::has_maximum(const catalog::Table& table) {
  const auto has = [](const catalog::Capacity& capacity) {
    return is_maximum(capacity.max_read_request_units) ||
           is_maximum(capacity.max_write_request_units);
  };
  return has(table.capacity) ||
         std::any_of(table.index_capacity.begin(), table.index_capacity.end(), has);
}

std::optional<Refusal> Throttle::check(const catalog::Table& table, Access access,
                                       std::span<const Place> places) {
  if (mode_ == ThrottleMode::kOff) return std::nullopt;
  const int64_t now_us = clock_.now_us();
  std::optional<Refusal> refusal;
  const auto block = [&](const Place& place, Limit limit) {
    if (!refusal) refusal = Refusal{access, {}};
    refusal->blocked.push_back({place.index, limit});
  };
  for (const Place& place : places) {
    BucketKey key = bucket_key(table, place, access);
    const auto bound = provided(table, place.index, access);
    if (bound && !tables_.has_units(key, bound->rate, now_us)) {
      block(place, bound->limit);
      continue;
    }
    if (mode_ != ThrottleMode::kFull || !place.partition) continue;
    key.partition = *place.partition;
    if (!keys_.has_units(key, key_rate(access), now_us)) block(place, Limit::kKeyRange);
  }
  return refusal;
}

void Throttle::take(const catalog::Table& table, Access access, std::span<const Place> places) {
  if (consumption_.active()) {
    for (const Place& place : places) {
      const model::IndexNumber index = place.index != nullptr ? place.index->number : 0;
      consumption_.add({table.schema->number, index, access == Access::kWrite}, place.units);
    }
  }
  if (mode_ == ThrottleMode::kOff) return;
  const int64_t now_us = clock_.now_us();
  for (const Place& place : places) {
    if (place.units == 0) continue;
    BucketKey key = bucket_key(table, place, access);
    if (const auto bound = provided(table, place.index, access))
      tables_.take(key, bound->rate, place.units, now_us);
    if (mode_ != ThrottleMode::kFull || !place.partition) continue;
    key.partition = *place.partition;
    keys_.take(key, key_rate(access), place.units, now_us);
  }
}

std::optional<Refusal> Throttle::admit(const catalog::Table& table, Access access,
                                       std::span<const Place> places) {
  auto refusal = check(table, access, places);
  if (!refusal) take(table, access, places);
  return refusal;
}

}  // namespace stator::capacity
