// A table as data: its schema and everything that was asked of it. Immutable; requests pin one by
// shared_ptr while the catalog moves on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/schema.h"

namespace stator::catalog {

enum class BillingMode : uint8_t { kProvisioned, kPayPerRequest };

// States follow from the clock: a record says until when a change lasts, and nothing has to be
// written for it to end.
enum class TableState : uint8_t { kCreating, kActive, kUpdating, kDeleting, kGone };
std::string_view state_name(TableState state);  // "CREATING", ...

// Capacity of a table or of a global index.
struct Capacity {
  // What is provisioned, and how often it was lowered on the UTC day of the last decrease. With
  // on-demand billing the units are 0.
  struct Provisioned {
    int64_t read_units = 0;
    int64_t write_units = 0;
    int64_t decreases = 0;
    bool operator==(const Provisioned&) const = default;
  };
  Provisioned provisioned;
  Provisioned before;     // what is shown while the table is UPDATING to `provisioned`
  bool changing = false;  // the change that the table is UPDATING for touches this capacity
  std::optional<int64_t> last_increase_ms;
  std::optional<int64_t> last_decrease_ms;
  std::optional<int64_t> max_read_request_units;  // OnDemandThroughput; -1 takes a limit away
  std::optional<int64_t> max_write_request_units;
  std::optional<int64_t> warm_read_units;  // WarmThroughput as asked
  std::optional<int64_t> warm_write_units;
};

// Sets new units and notes in what direction they went. They are shown once the table is ACTIVE
// again.
void provision(Capacity& capacity, int64_t read_units, int64_t write_units, int64_t now_ms);
// How often capacity may be lowered on a UTC day: four times, and once more in each hour without a
// decrease.
bool may_lower(const Capacity& capacity, int64_t now_ms);

// The table's own stream. Who turns it on leaves the label empty: the catalog opens a stream and
// gives it one.
struct StreamSettings {
  bool enabled = false;
  std::string view_type;
  std::string label;  // of the latest stream, also after it was turned off
};

// Encryption with a key of KMS. Kept and shown, nothing else.
struct EncryptionSettings {
  bool enabled = false;
  std::string kms_key_arn;
  bool changing = false;  // the change that the table is UPDATING for is this one
};

// Counting of the keys that are used most.
struct InsightsSettings {
  bool enabled = false;
  bool throttled_only = false;  // counts only what was throttled
  int64_t created_ms = 0;       // in the names of its rules
  int64_t changed_ms = 0;       // ENABLING or DISABLING for a while from then on
};

struct Table {
  std::shared_ptr<const model::TableSchema> schema;
  // Numbers given to indexes so far. They begin with 1 (0 is the table itself) and are never given
  // again.
  model::IndexNumber last_index_number = 0;
  std::vector<model::KeyAttribute> attribute_definitions;  // sorted by name
  std::string id;                                          // a UUID
  std::string arn;
  int64_t created_ms = 0;
  BillingMode billing = BillingMode::kProvisioned;
  std::optional<int64_t> on_demand_since_ms;
  // False if the billing mode was never named: DescribeTable then has no BillingModeSummary.
  bool billing_named = false;
  Capacity capacity;
  std::vector<Capacity> index_capacity;  // one for each of schema->indexes (unused for local ones)
  bool deletion_protection = false;
  std::string table_class;  // empty if never named
  std::optional<int64_t> table_class_updated_ms;
  std::optional<EncryptionSettings> encryption;
  std::optional<StreamSettings> stream;
  bool hidden_stream = false;  // changes are recorded for a destination too
  model::StreamNumber last_stream_number = 0;
  std::vector<std::pair<std::string, std::string>> tags;
  // Indexes that were deleted and whose entries are still to be erased.
  std::vector<model::IndexNumber> dead_indexes;
  // Time to live: which attribute says so is in the schema.
  bool ttl_indexing = false;  // items from before it was enabled are still to be looked at
  bool ttl_clearing = false;  // it was disabled and its queue is still to be erased
  std::optional<int64_t> ttl_changed_ms;
  std::string resource_policy;
  int64_t resource_policy_revision_ms =
      0;  // of the policy, or of its deletion; 0 if there never was one
  std::map<model::IndexNumber, InsightsSettings>
      insights;  // of the table (0) and of global indexes; none: never asked

  int64_t active_at_ms = 0;              // CREATING before
  int64_t updating_until_ms = 0;         // UPDATING before
  std::optional<int64_t> deleted_at_ms;  // DELETING before, gone after

  const std::string& name() const { return schema->name; }
  TableState state(int64_t now_ms) const;
};

using TablePtr = std::shared_ptr<const Table>;

// Fills in `index.projected` from the table's key, the index's key and its included attributes.
void complete_projection(model::Index& index, const model::KeySchema& table_key);

}  // namespace stator::catalog
