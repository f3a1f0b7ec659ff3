// What tables and indexes consumed and refused since the start, for those who watch the server.
// Counts every request, so it must cost next to nothing: no lock, no allocation.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>

#include "model/schema.h"

namespace stator::capacity {

// Thread-safe. Places beyond about kMostPlaces are not counted one by one but together.
class Usage {
 public:
  static constexpr size_t kMostPlaces = 16'384;

  // A table (index 0) or one of its global indexes.
  struct Place {
    model::TableNumber table = 0;
    model::IndexNumber index = 0;
    auto operator<=>(const Place&) const = default;
  };
  struct Totals {
    double read_units = 0;
    double write_units = 0;
    uint64_t throttled_reads = 0;
    uint64_t throttled_writes = 0;
  };

  Usage();

  void consumed(Place place, bool write, double units);
  void throttled(Place place, bool write);
  // Zero for a place that nobody used.
  Totals totals(Place place) const;
  // Gives the room of tables that are gone to others. `tables` are those that are there.
  void keep_only(const std::set<model::TableNumber>& tables);

 private:
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kGone = ~uint64_t{0};
  // How far from its place by hash an entry may be.
  static constexpr size_t kProbes = 32;

  struct alignas(64) Entry {
    std::atomic<uint64_t> key{kFree};
    // In halves of a unit: every cost is a multiple of it.
    std::atomic<int64_t> read_halves{0};
    std::atomic<int64_t> write_halves{0};
    std::atomic<uint64_t> throttled_reads{0};
    std::atomic<uint64_t> throttled_writes{0};
  };

  static uint64_t key_of(Place place);
  const Entry* find(uint64_t key) const;
  Entry& claim(uint64_t key);

  struct Unmap {
    void operator()(std::array<Entry, kMostPlaces>* entries) const;
  };

  std::unique_ptr<std::array<Entry, kMostPlaces>, Unmap> entries_;
  Entry others_;
};

}  // namespace stator::capacity
