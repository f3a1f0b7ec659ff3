// How many units are consumed, for those who scale capacity with it. Only what somebody watches is
// counted; while nobody does, this costs one branch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <shared_mutex>

#include "model/schema.h"

namespace stator::capacity {

// Thread-safe.
class Consumption {
 public:
  struct Place {
    model::TableNumber table = 0;
    model::IndexNumber index = 0;  // a global index; 0: the table
    bool write = false;
    auto operator<=>(const Place&) const = default;
  };

  bool active() const { return active_.load(std::memory_order_relaxed); }
  // Counts these places from now on and forgets all others.
  void watch(const std::set<Place>& places);
  // Units may be negative: some that were counted and then given back.
  void add(const Place& place, double units);
  // All units since the place is watched; 0 if it is not.
  double total(const Place& place) const;

 private:
  std::atomic<bool> active_{false};
  mutable std::shared_mutex mutex_;
  std::map<Place, std::unique_ptr<std::atomic<double>>> totals_;
};

}  // namespace stator::capacity
