#include "capacity/consumption.h"

#include <mutex>

namespace stator::capacity {

void Consumption::watch(const std::set<Place>& places) {
  const std::unique_lock lock(mutex_);
  std::erase_if(totals_, [&](const auto& entry) { return !places.contains(entry.first); });
  for (const Place& place : places) {
    auto& total = totals_[place];
    if (!total) total = std::make_unique<std::atomic<double>>(0.0);
  }
  active_ = !totals_.empty();
}

void Consumption::add(const Place& place, double units) {
  const std::shared_lock lock(mutex_);
  const auto at = totals_.find(place);
  if (at != totals_.end()) at->second->fetch_add(units, std::memory_order_relaxed);
}

double Consumption::total(const Place& place) const {
  const std::shared_lock lock(mutex_);
  const auto at = totals_.find(place);
  return at != totals_.end() ? at->second->load(std::memory_order_relaxed) : 0;
}

}  // namespace stator::capacity
