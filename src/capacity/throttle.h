// Provisioned capacity that counts. Each table and each global index has a bucket for reads and one
// for writes, which fills with what is provisioned (or with the maximum of on-demand billing) and
// keeps five minutes of what nobody used. A request goes on if something is left and then takes its
// whole cost, even if that is more: the cost of a read is known only afterwards.
// docs/decisions/throttling.md says why.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "capacity/bucket_table.h"
#include "capacity/consumption.h"
#include "capacity/usage.h"
#include "catalog/table.h"
#include "common/clock.h"

namespace stator::capacity {

enum class ThrottleMode : uint8_t {
  kOff,
  kProvisioned,  // what somebody asked for is kept: provisioned capacity, maximums of on-demand
                 // billing
  kFull,         // and the service's own limit on a single partition key
};

enum class Access : uint8_t { kRead, kWrite };
enum class Limit : uint8_t { kProvisioned, kMaximum, kKeyRange };

inline constexpr double kBurstSeconds = 300;
inline constexpr double kKeyReadUnitsPerSecond = 3000;
inline constexpr double kKeyWriteUnitsPerSecond = 1000;
inline constexpr size_t kMostTableBuckets = 65'536;
inline constexpr size_t kMostKeyBuckets = 65'536;

// Where units are taken.
struct Place {
  const model::Index* index =
      nullptr;  // a global index of the table's schema; null: the table, with its local indexes
  std::optional<uint64_t> partition;  // model::partition_hash, if it is one partition key
  double units = 0;
};

// Why a request may not go on: all places where nothing is left, in the order they were given.
struct Refusal {
  struct Blocked {
    const model::Index* index = nullptr;
    Limit limit = Limit::kProvisioned;
  };
  Access access = Access::kRead;
  std::vector<Blocked> blocked;  // at least one
};

// Thread-safe. What a table provides is taken from the Table that a request works on, so a change
// counts from the first request that sees it.
class Throttle {
 public:
  Throttle(ThrottleMode mode, const Clock& clock);

  // False if nothing can ever be refused on this table and nobody counts: then the rest need not be
  // called.
  bool watches(const catalog::Table& table) const {
    if (consumption_.active() && table.billing == catalog::BillingMode::kProvisioned) return true;
    if (mode_ == ThrottleMode::kOff) return false;
    return mode_ == ThrottleMode::kFull || table.billing == catalog::BillingMode::kProvisioned ||
           has_maximum(table);
  }
  // Whether places need their partition.
  bool watches_keys() const { return mode_ == ThrottleMode::kFull; }

  // Nothing if something is left at all places.
  std::optional<Refusal> check(const catalog::Table& table, Access access,
                               std::span<const Place> places);
  // Takes the units of all places; negative ones are given back.
  void take(const catalog::Table& table, Access access, std::span<const Place> places);
  // check, then take unless it refuses.
  std::optional<Refusal> admit(const catalog::Table& table, Access access,
                               std::span<const Place> places);

  // The units that were taken, for those who scale capacity with them. Counted in every mode.
  Consumption& consumption() { return consumption_; }
  // What every table and global index consumed and refused, for those who watch the server.
  Usage& usage() { return usage_; }

 private:
  static bool has_maximum(const catalog::Table& table);

  const ThrottleMode mode_;
  const Clock& clock_;
  BucketTable tables_;
  BucketTable keys_;
  Consumption consumption_;
  Usage usage_;
};

}  // namespace stator::capacity
