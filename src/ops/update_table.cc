#include <algorithm>
#include <array>
#include <set>

#include "json/writer.h"
#include "ops/operation.h"
#include "ops/table_description.h"
#include "ops/table_request.h"

namespace stator::ops {

namespace {

using catalog::BillingMode;
using catalog::Capacity;
using json::Element;

constexpr int64_t kMaxIndexUnits = 1'000'000'000'000;
constexpr size_t kMaxIndexUpdates = 5;
constexpr std::string_view kActions[] = {"Update", "Create", "Delete"};

using Units = std::pair<int64_t, int64_t>;  // reads, writes

// The request, read once; applying it may happen more than once.
struct Asked {
  std::optional<BillingMode> billing;
  std::optional<Units> throughput;
  std::optional<json::ArrayElement> index_updates;
  bool index_update_named = false;  // even if the list is empty
  std::optional<Element> stream;
  std::optional<catalog::EncryptionSettings> encryption;
  std::string table_class;
  std::optional<bool> deletion_protection;
  bool on_demand = false;
  bool warm = false;
};

void refuse_unsupported(const Element& body) {
  if (json::member(body, "VectorIndexUpdates")) invalid("Vector indexes are not supported");
  for (const std::string_view name :
       {"ReplicaUpdates", "MultiRegionConsistency", "GlobalTableWitnessUpdates",
        "GlobalTableSettingsReplicationMode"}) {
    if (json::member(body, name)) invalid("Global tables are not supported");
  }
}

std::string_view index_name_of(const Element& update) {
  for (const std::string_view action : kActions) {
    if (const auto found = json::member(update, action))
      return json::string_member(*found, "IndexName").value_or("");
  }
  return {};
}

void check_index_updates(const json::ArrayElement& updates) {
  std::set<std::string_view> names;
  for (const Element update : updates) {
    const auto actions = std::count_if(
        std::begin(kActions), std::end(kActions),
        [&](std::string_view action) { return json::member(update, action).has_value(); });
    if (actions == 0) {
      invalid_parameter(
          "One of GlobalSecondaryIndexUpdate.Update, GlobalSecondaryIndexUpdate.Create, "
          "GlobalSecondaryIndexUpdate.Delete must not be null");
    }
    if (actions > 1) {
      invalid_parameter(
          "Only one global secondary index action is allowed per GlobalSecondaryIndexUpdate "
          "object");
    }
    const auto name = index_name_of(update);
    if (!names.insert(name).second) {
      invalid_parameter(
          "Only one global secondary index update per index is allowed simultaneously. Index: " +
          std::string(name));
    }
  }
}

bool changes_index_list(const Asked& asked) {
  if (!asked.index_updates) return false;
  return std::any_of(asked.index_updates->begin(), asked.index_updates->end(),
                     [](const Element& update) { return !json::member(update, "Update"); });
}

// Some changes go alone.
void check_combination(const Asked& asked) {
  const bool capacity = asked.billing || asked.throughput || asked.index_updates;
  const int singles = (asked.encryption ? 1 : 0) + (asked.table_class.empty() ? 0 : 1) +
                      (asked.deletion_protection ? 1 : 0) + (asked.warm ? 1 : 0);
  const bool others = capacity || asked.stream || asked.on_demand || singles > 1;
  if (asked.encryption && others) {
    invalid_parameter(
        "Server-Side Encryption modification must be the only operation in the request");
  }
  if (!asked.table_class.empty() && others) {
    invalid_parameter("TableClass modification must be the only operation in the request");
  }
  if (asked.deletion_protection && others) {
    invalid_parameter("DeletionProtection modification must be the only operation in the request");
  }
  if (asked.warm && others)
    invalid_parameter("WarmThroughput must be the only operation in the request");
  if (asked.on_demand && (asked.throughput || asked.index_updates || asked.stream)) {
    invalid_parameter(
        "OnDemandThroughput can only be combined with BillingMode in an UpdateTable request");
  }
  const bool table_capacity = asked.throughput || asked.billing;
  if (asked.stream && table_capacity)
    invalid_parameter("You cannot modify stream status while updating table IOPS");
  if (changes_index_list(asked) && asked.throughput) {
    invalid_parameter("You cannot create or delete index while updating table IOPS");
  }
  if (changes_index_list(asked) && asked.stream) {
    invalid_parameter("You cannot create or delete index while changing stream status");
  }
}

// Everything that can be said about the request without the table.
Asked read_request(const Request& request) {
  const Element& body = request.body;
  refuse_unsupported(body);
  Asked asked;
  if (const auto mode = json::string_member(body, "BillingMode")) {
    asked.billing =
        *mode == "PAY_PER_REQUEST" ? BillingMode::kPayPerRequest : BillingMode::kProvisioned;
  }
  asked.throughput = read_throughput(body);
  asked.index_updates = json::array_member(body, "GlobalSecondaryIndexUpdates");
  asked.index_update_named = asked.index_updates.has_value();
  if (asked.index_updates && asked.index_updates->size() == 0) asked.index_updates.reset();
  asked.stream = json::member(body, "StreamSpecification");
  asked.deletion_protection = json::bool_member(body, "DeletionProtectionEnabled");
  asked.on_demand = json::member(body, "OnDemandThroughput").has_value();
  asked.warm = json::member(body, "WarmThroughput").has_value();

  const bool anything = asked.billing || asked.throughput || asked.index_updates || asked.stream ||
                        asked.deletion_protection || asked.on_demand || asked.warm ||
                        json::member(body, "SSESpecification") || json::member(body, "TableClass");
  if (!anything) {
    invalid(
        "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, "
        "GlobalSecondaryIndexUpdates, "
        "SSESpecification, ReplicaUpdates, MultiAccountReplicaReady, ReplicaTransitRoleArn, "
        "MultiRegionConsistency, "
        "DeletionProtectionEnabled, OnDemandThroughput, WarmThroughput or TableClass is required");
  }
  if (asked.index_update_named && !asked.index_updates) {
    invalid_parameter("List of GlobalSecondaryIndexUpdates is empty");
  }
  asked.table_class = read_table_class(body);
  asked.encryption = read_encryption(request.context, body);
  if (asked.billing == BillingMode::kProvisioned && !asked.throughput) {
    invalid_parameter("ProvisionedThroughput must be specified when BillingMode is PROVISIONED");
  }
  if (asked.throughput) check_throughput_bounds(*asked.throughput);
  if (asked.index_updates) check_index_updates(*asked.index_updates);
  check_combination(asked);
  return asked;
}

void set_units(Capacity& capacity, const Units& units, int64_t now_ms) {
  catalog::provision(capacity, units.first, units.second, now_ms);
}

// `whose` is "the table", "the index gsi1"; `of` the same in the second place.
void refuse_same_units(const Capacity& capacity, const Units& units, const std::string& whose,
                       const std::string& of) {
  const auto& now = capacity.provisioned;
  if (now.read_units != units.first || now.write_units != units.second) return;
  invalid("The provisioned throughput for " + whose +
          " will not change. The requested value equals the current value. Current "
          "ReadCapacityUnits provisioned for " +
          of + ": " + std::to_string(now.read_units) + ". Requested ReadCapacityUnits: " +
          std::to_string(units.first) + ". Current WriteCapacityUnits provisioned for " + of +
          ": " + std::to_string(now.write_units) +
          ". Requested WriteCapacityUnits: " + std::to_string(units.second) +
          ". Refer to the Amazon DynamoDB Developer Guide for current limits and how to request "
          "higher limits.");
}

class Update {
 public:
  Update(const Request& request, const Asked& asked, catalog::Table& table)
      : request_(request), asked_(asked), table_(table), now_ms_(request.context.clock.now_ms()) {}

  // True if there is something that takes its time.
  bool apply() {
    refuse_unless_active(table_, now_ms_);
    table_.capacity.changing = false;
    for (auto& capacity : table_.index_capacity) capacity.changing = false;
    // Encryption that was turned off is shown only as long as that takes.
    if (table_.encryption && !table_.encryption->enabled) table_.encryption.reset();
    if (table_.encryption) table_.encryption->changing = false;

    const BillingMode before = table_.billing;
    const BillingMode after = asked_.billing.value_or(before);
    if (asked_.throughput && after == BillingMode::kPayPerRequest) {
      invalid_parameter(
          "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
          "PAY_PER_REQUEST");
    }
    apply_index_updates(before, after);
    if (asked_.throughput) {
      if (before == after)
        refuse_same_units(table_.capacity, *asked_.throughput, "the table", "the table");
      set_units(table_.capacity, *asked_.throughput, now_ms_);
    }
    if (before != after) switch_billing(after);
    read_on_demand(request_.body, after, {}, table_.capacity);
    if (asked_.warm) {
      read_warm(request_.body, table_.capacity);
      table_.capacity.before = table_.capacity.provisioned;
      table_.capacity.changing = true;
    }
    if (asked_.stream) apply_stream();
    if (asked_.encryption) apply_encryption();
    if (asked_.deletion_protection) table_.deletion_protection = *asked_.deletion_protection;
    if (!asked_.table_class.empty()) {
      table_.table_class = asked_.table_class;
      table_.table_class_updated_ms = now_ms_;
    }
    table_.billing = after;
    if (asked_.billing) table_.billing_named = true;
    if (is_idle(before, after)) return false;
    table_.updating_until_ms = now_ms_ + request_.context.catalog.options().table_delay_ms;
    return true;
  }

  // The index that apply() took away: the answer still shows it.
  const std::optional<model::Index>& deleted_index() const { return deleted_index_; }
  const Capacity& deleted_capacity() const { return deleted_capacity_; }

 private:
  // On-demand billing asked of a table that has it already is accepted and changes nothing.
  bool is_idle(BillingMode before, BillingMode after) const {
    return asked_.billing && before == after && !asked_.throughput && !asked_.index_updates &&
           !asked_.on_demand;
  }

  std::optional<size_t> find_index(std::string_view name) const {
    const auto& indexes = table_.schema->indexes;
    for (size_t i = 0; i < indexes.size(); ++i) {
      if (indexes[i].name == name) return i;
    }
    return std::nullopt;
  }

  void apply_index_updates(BillingMode before, BillingMode after) {
    std::set<std::string_view> provisioned;
    if (asked_.index_updates) {
      refuse_many_index_changes();
      for (const Element update : *asked_.index_updates) {
        if (const auto changed = json::member(update, "Update")) {
          update_index(*changed, before, after, provisioned);
        } else if (const auto created = json::member(update, "Create")) {
          create_index(*created, after);
        } else {
          delete_index(*json::member(update, "Delete"));
        }
      }
    }
    if (before == BillingMode::kProvisioned || after != BillingMode::kProvisioned) return;
    std::string missing;
    for (const auto& index : table_.schema->indexes) {
      if (!index.global || provisioned.contains(index.name)) continue;
      missing.append(missing.empty() ? "" : ",").append(index.name);
    }
    if (!missing.empty())
      invalid_parameter("ProvisionedThroughput must be specified for index: " + missing);
  }

  void refuse_many_index_changes() const {
    const auto changes =
        std::count_if(asked_.index_updates->begin(), asked_.index_updates->end(),
                      [](const Element& update) { return !json::member(update, "Update"); });
    if (changes <= 1 && asked_.index_updates->size() <= kMaxIndexUpdates) return;
    throw ApiError("LimitExceededException",
                   "Subscriber limit exceeded: Only 1 online index can be created or deleted "
                   "simultaneously per table");
  }

  // The definitions of the request complete those of the table, which keep their types.
  Definitions merged_definitions(const json::ArrayElement& asked) const {
    Definitions merged = table_.attribute_definitions;
    for (auto& definition : read_definitions(asked)) {
      const bool known = std::any_of(merged.begin(), merged.end(), [&](const auto& other) {
        return other.name == definition.name;
      });
      if (!known) merged.push_back(std::move(definition));
    }
    return merged;
  }

  void create_index(const Element& action, BillingMode billing) {
    const auto name = *json::string_member(action, "IndexName");
    const auto definitions = json::array_member(request_.body, "AttributeDefinitions");
    if (!definitions)
      invalid_parameter("AttributeDefinitions is not specified for index: " + std::string(name));
    if (find_index(name)) invalid("Attempting to create an index which already exists");
    const auto& indexes = table_.schema->indexes;
    const auto count = std::count_if(indexes.begin(), indexes.end(),
                                     [](const auto& index) { return index.global; });
    if (static_cast<size_t>(count) >= kMaxGlobalIndexes) {
      throw ApiError("LimitExceededException",
                     "Subscriber limit exceeded: Number of global secondary indexes exceeds "
                     "per-table limit of 20");
    }
    const Definitions merged = merged_definitions(*definitions);
    GlobalIndex created = read_global_index(action, merged, billing);
    refuse_while_building();
    // Its entries are made in the background (work/backfill.cc); from this commit on, writers keep
    // it up to date.
    created.index.building = true;
    auto schema = std::make_shared<model::TableSchema>(*table_.schema);
    schema->indexes.push_back(std::move(created.index));
    table_.schema = std::move(schema);
    table_.index_capacity.push_back(created.capacity);
    table_.attribute_definitions = used_definitions(merged);
  }

  // Of a table and its indexes.
  Definitions used_definitions(const Definitions& definitions) const {
    Definitions used;
    for (const auto& definition : definitions) {
      bool needed = table_.schema->key.position(definition.name).has_value();
      for (const auto& index : table_.schema->indexes) {
        needed = needed || index.key.position(definition.name).has_value();
      }
      if (needed) used.push_back(definition);
    }
    std::sort(used.begin(), used.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    return used;
  }

  void refuse_while_building() const {
    if (!table_.schema->is_building()) return;
    throw ApiError("LimitExceededException",
                   "Subscriber limit exceeded: Only 1 online index can be created or deleted "
                   "simultaneously per table");
  }

  void delete_index(const Element& action) {
    const auto name = *json::string_member(action, "IndexName");
    const auto at = find_index(name);
    if (!at) throw_index_not_found(name);
    if (!table_.schema->indexes[*at].global) {
      invalid("Cannot delete an index that is not a GlobalSecondaryIndex: " + std::string(name));
    }
    // No writer keeps it from this commit on; its entries are erased in the background
    // (work/cleaning.cc).
    auto schema = std::make_shared<model::TableSchema>(*table_.schema);
    const auto position = static_cast<std::ptrdiff_t>(*at);
    table_.dead_indexes.push_back(schema->indexes[*at].number);
    deleted_index_ = schema->indexes[*at];
    deleted_capacity_ = table_.index_capacity[*at];
    schema->indexes.erase(schema->indexes.begin() + position);
    table_.index_capacity.erase(table_.index_capacity.begin() + position);
    table_.schema = std::move(schema);
    table_.attribute_definitions = used_definitions(table_.attribute_definitions);
  }

  [[noreturn]] static void throw_index_not_found(std::string_view name) {
    throw ApiError("ResourceNotFoundException",
                   "Requested resource not found: Index " + std::string(name) + " for table");
  }

  void update_index(const Element& action, BillingMode before, BillingMode after,
                    std::set<std::string_view>& provisioned) {
    const auto name = *json::string_member(action, "IndexName");
    const auto units = read_throughput(action);
    if (units && (units->first > kMaxIndexUnits || units->second > kMaxIndexUnits)) {
      invalid(
          "This operation cannot be performed with given input values. Please contact DynamoDB "
          "service team for more "
          "info: Action Blocked: IndexUpdate");
    }
    const auto at = find_index(name);
    if (!at) throw_index_not_found(name);
    if (!table_.schema->indexes[*at].global) {
      invalid("Cannot update an index that is not a GlobalSecondaryIndex: " + std::string(name));
    }
    Capacity& capacity = table_.index_capacity.at(*at);
    if (units) {
      if (after == BillingMode::kPayPerRequest) {
        invalid_parameter(
            "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified for index: " +
            std::string(name) + " when BillingMode is PAY_PER_REQUEST");
      }
      if (before == after) {
        refuse_same_units(capacity, *units, "the index " + std::string(name),
                          "index " + std::string(name));
      }
      set_units(capacity, *units, now_ms_);
      provisioned.insert(table_.schema->indexes[*at].name);
    }
    read_on_demand(action, after, name, capacity);
    read_warm(action, capacity);
    capacity.changing = true;
    if (!units) capacity.before = capacity.provisioned;
  }

  // Either way the new units are shown at once.
  void switch_billing(BillingMode after) {
    const bool on_demand = after == BillingMode::kPayPerRequest;
    if (on_demand) table_.on_demand_since_ms = now_ms_;
    const auto settle = [&](Capacity& capacity) {
      if (on_demand) {
        set_units(capacity, {0, 0}, now_ms_);
      } else {
        capacity.max_read_request_units.reset();
        capacity.max_write_request_units.reset();
      }
      capacity.before = capacity.provisioned;
      capacity.changing = true;
    };
    settle(table_.capacity);
    for (size_t i = 0; i < table_.index_capacity.size(); ++i) {
      if (table_.schema->indexes[i].global) settle(table_.index_capacity[i]);
    }
  }

  void apply_stream() {
    const bool enable = json::bool_member(*asked_.stream, "StreamEnabled").value_or(false);
    const auto view_type = json::string_member(*asked_.stream, "StreamViewType");
    const bool enabled = table_.stream && table_.stream->enabled;
    if (enable) {
      if (!view_type)
        invalid_parameter("If stream is being enabled then UpdateViewType is required");
      if (enabled) invalid("Table already has an enabled stream: TableName: " + table_.name());
      table_.stream = catalog::StreamSettings{
          .enabled = true, .view_type = std::string(*view_type), .label = {}};
      return;
    }
    if (view_type)
      invalid_parameter("If stream is being disabled, then UpdateViewType must not be specified");
    if (!enabled) invalid("Table has no stream to disable: TableName: " + table_.name());
    table_.stream->enabled = false;
  }

  void apply_encryption() {
    const bool encrypted = table_.encryption && table_.encryption->enabled;
    if (!asked_.encryption->enabled && !encrypted)
      invalid_parameter("Table is already encrypted by default");
    auto settings = *asked_.encryption;
    if (!settings.enabled) settings.kms_key_arn = table_.encryption->kms_key_arn;
    settings.changing = true;
    table_.encryption = std::move(settings);
  }

  const Request& request_;
  const Asked& asked_;
  catalog::Table& table_;
  int64_t now_ms_;
  std::optional<model::Index> deleted_index_;
  Capacity deleted_capacity_;
};

}  // namespace

Task<std::string> update_table(Request& request) {
  const Context& context = request.context;
  require_table_name(request);
  static constexpr std::array<std::string_view, 1> kCheckedHere = {"TableClass"};
  check_shape(request, kCheckedHere);
  const Asked asked = read_request(request);
  const auto known = existing_table(request);

  bool updating = false;
  std::optional<model::Index> deleted;
  Capacity deleted_capacity;
  const std::function<void(catalog::Table&)> change = [&](catalog::Table& table) {
    Update update(request, asked, table);
    updating = update.apply();
    deleted = update.deleted_index();
    deleted_capacity = update.deleted_capacity();
  };
  const auto updated = co_await context.catalog.update(known->name(), change);
  if (!updated) throw_table_not_found(known->name());

  const auto sizes = co_await context.store.sizes(*updated->schema);
  catalog::Table shown = *updated;
  if (deleted) {
    auto schema = std::make_shared<model::TableSchema>(*shown.schema);
    schema->indexes.push_back(*deleted);
    shown.schema = std::move(schema);
    shown.index_capacity.push_back(deleted_capacity);
  }
  std::string out;
  json::Object answer(out);
  append_table_description(answer.key("TableDescription"), shown,
                           updating ? catalog::TableState::kUpdating : catalog::TableState::kActive,
                           sizes, context.clock.now_ms(), deleted ? deleted->name : std::string());
  answer.close();
  co_return out;
}

}  // namespace stator::ops
