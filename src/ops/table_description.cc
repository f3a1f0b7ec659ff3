#include "ops/table_description.h"

#include <algorithm>

#include "json/writer.h"

namespace stator::ops {

namespace {

using catalog::Capacity;
using catalog::Table;
using catalog::TableState;
using Size = store::Store::Size;

constexpr int64_t kDayMs = 24LL * 60 * 60 * 1000;
// What a table with on-demand billing can take from its first second on.
constexpr int64_t kOnDemandWarmReads = 12'000;
constexpr int64_t kOnDemandWarmWrites = 4'000;

void append_time(json::Object& object, std::string_view name, int64_t time_ms) {
  append_timestamp(object.key(name), time_ms);
}

// While a change is under way, what was provisioned before is still in force.
const Capacity::Provisioned& in_force(const Capacity& capacity, TableState state) {
  return state == TableState::kUpdating && capacity.changing ? capacity.before
                                                             : capacity.provisioned;
}

void append_provisioned(std::string& out, const Capacity& capacity, TableState state,
                        int64_t now_ms) {
  const auto& provisioned = in_force(capacity, state);
  const bool today =
      capacity.last_decrease_ms && *capacity.last_decrease_ms / kDayMs == now_ms / kDayMs;
  json::Object object(out);
  if (capacity.last_increase_ms)
    append_time(object, "LastIncreaseDateTime", *capacity.last_increase_ms);
  if (capacity.last_decrease_ms)
    append_time(object, "LastDecreaseDateTime", *capacity.last_decrease_ms);
  object.integer("NumberOfDecreasesToday", today ? provisioned.decreases : 0);
  object.integer("ReadCapacityUnits", provisioned.read_units);
  object.integer("WriteCapacityUnits", provisioned.write_units);
  object.close();
}

void append_on_demand(json::Object& object, const Capacity& capacity) {
  if (!capacity.max_read_request_units && !capacity.max_write_request_units) return;
  json::Object limits(object.key("OnDemandThroughput"));
  limits.integer("MaxReadRequestUnits", capacity.max_read_request_units.value_or(-1));
  limits.integer("MaxWriteRequestUnits", capacity.max_write_request_units.value_or(-1));
  limits.close();
}

void append_warm(json::Object& object, const Capacity& capacity, catalog::BillingMode billing,
                 TableState state) {
  const bool on_demand = billing == catalog::BillingMode::kPayPerRequest;
  const auto& provisioned = in_force(capacity, state);
  json::Object warm(object.key("WarmThroughput"));
  warm.integer("ReadUnitsPerSecond",
               std::max(capacity.warm_read_units.value_or(0),
                        on_demand ? kOnDemandWarmReads : provisioned.read_units));
  warm.integer("WriteUnitsPerSecond",
               std::max(capacity.warm_write_units.value_or(0),
                        on_demand ? kOnDemandWarmWrites : provisioned.write_units));
  const bool changing =
      state == TableState::kCreating || (state == TableState::kUpdating && capacity.changing);
  warm.string("Status", changing ? "UPDATING" : "ACTIVE");
  warm.close();
}

void append_index_common(json::Object& object, const Table& table, const model::Index& index,
                         const Size& size) {
  object.string("IndexName", index.name);
  append_key_schema(object.key("KeySchema"), index.key);
  append_projection(object.key("Projection"), index);
  object.integer("IndexSizeBytes", size.bytes);
  object.integer("ItemCount", size.items);
  object.string("IndexArn", table.arn + "/index/" + index.name);
}

void append_indexes(json::Object& object, const Table& table, TableState state,
                    const std::vector<Size>& sizes, int64_t now_ms, bool global,
                    std::string_view deleting) {
  const auto& indexes = table.schema->indexes;
  const auto wanted = [global](const model::Index& index) { return index.global == global; };
  if (std::none_of(indexes.begin(), indexes.end(), wanted)) return;
  json::Array list(object.key(global ? "GlobalSecondaryIndexes" : "LocalSecondaryIndexes"));
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (!wanted(indexes[i])) continue;
    json::Object index(list.element());
    append_index_common(index, table, indexes[i], sizes.size() > i + 1 ? sizes[i + 1] : Size{});
    if (global) {
      const Capacity& capacity = table.index_capacity.at(i);
      const TableState shown =
          state == TableState::kUpdating && !capacity.changing ? TableState::kActive : state;
      if (table.restore) {
        // The service shows no state of an index that is being restored.
      } else if (indexes[i].building) {
        index.string("IndexStatus", "CREATING");
        index.boolean("Backfilling", state != TableState::kUpdating);
      } else {
        index.string("IndexStatus",
                     indexes[i].name == deleting ? "DELETING" : catalog::state_name(shown));
      }
      append_provisioned(index.key("ProvisionedThroughput"), capacity, state, now_ms);
      append_on_demand(index, capacity);
      if (state != TableState::kCreating) append_warm(index, capacity, table.billing, state);
    }
    index.close();
  }
  list.close();
}

// Tables that never were on demand have no summary.
void append_billing(json::Object& object, const Table& table, TableState state) {
  if (table.billing != catalog::BillingMode::kPayPerRequest && !table.on_demand_since_ms) return;
  json::Object billing(object.key("BillingModeSummary"));
  billing.string("BillingMode", table.billing == catalog::BillingMode::kPayPerRequest
                                    ? "PAY_PER_REQUEST"
                                    : "PROVISIONED");
  if (table.on_demand_since_ms && state != TableState::kCreating) {
    append_time(billing, "LastUpdateToPayPerRequestDateTime", *table.on_demand_since_ms);
  }
  billing.close();
}

void append_settings(json::Object& object, const Table& table, TableState state) {
  if (table.stream && table.stream->enabled) {
    json::Object stream(object.key("StreamSpecification"));
    stream.boolean("StreamEnabled", true);
    stream.string("StreamViewType", table.stream->view_type);
    stream.close();
  }
  if (table.stream && !table.stream->label.empty()) {
    object.string("LatestStreamLabel", table.stream->label);
    object.string("LatestStreamArn", table.arn + "/stream/" + table.stream->label);
  }
  const bool encrypting =
      table.encryption && table.encryption->changing && state == TableState::kUpdating;
  if (table.encryption && (table.encryption->enabled || encrypting)) {
    json::Object encryption(object.key("SSEDescription"));
    encryption.string("Status", encrypting ? "UPDATING" : "ENABLED");
    encryption.string("SSEType", "KMS");
    encryption.string("KMSMasterKeyArn", table.encryption->kms_key_arn);
    encryption.close();
  }
  if (!table.table_class.empty()) {
    json::Object table_class(object.key("TableClassSummary"));
    table_class.string("TableClass", table.table_class);
    if (table.table_class_updated_ms)
      append_time(table_class, "LastUpdateDateTime", *table.table_class_updated_ms);
    table_class.close();
  }
}

// As long as the restore lasts: the service forgets where a table came from.
void append_restore_summary(std::string& out, const catalog::RestoreSource& source) {
  json::Object summary(out);
  if (!source.backup_arn.empty()) summary.string("SourceBackupArn", source.backup_arn);
  summary.string("SourceTableArn", source.table_arn);
  append_time(summary, "RestoreDateTime", source.time_ms);
  summary.boolean("RestoreInProgress", true);
  summary.close();
}

void append_facts(json::Object& object, const Table& table, TableState state,
                  const std::vector<Size>& sizes, int64_t now_ms) {
  object.string("TableName", table.name());
  object.string("TableStatus", catalog::state_name(state));
  append_provisioned(object.key("ProvisionedThroughput"), table.capacity, state, now_ms);
  object.integer("TableSizeBytes", sizes.empty() ? 0 : sizes[0].bytes);
  object.integer("ItemCount", sizes.empty() ? 0 : sizes[0].items);
  object.string("TableArn", table.arn);
  object.string("TableId", table.id);
  append_billing(object, table, state);
  object.boolean("DeletionProtectionEnabled", table.deletion_protection);
  if (table.restore) append_restore_summary(object.key("RestoreSummary"), *table.restore);
}

}  // namespace

void append_key_schema(std::string& out, const model::KeySchema& key) {
  json::Array list(out);
  for (size_t i = 0; i < key.size(); ++i) {
    json::Object element(list.element());
    element.string("AttributeName", key.at(i).name);
    element.string("KeyType", i < key.partition.size() ? "HASH" : "RANGE");
    element.close();
  }
  list.close();
}

void append_projection(std::string& out, const model::Index& index) {
  json::Object projection(out);
  switch (index.projection) {
    case model::ProjectionType::kAll:
      projection.string("ProjectionType", "ALL");
      break;
    case model::ProjectionType::kKeysOnly:
      projection.string("ProjectionType", "KEYS_ONLY");
      break;
    case model::ProjectionType::kInclude: {
      projection.string("ProjectionType", "INCLUDE");
      auto names = index.included;
      std::sort(names.begin(), names.end());
      json::Array list(projection.key("NonKeyAttributes"));
      for (const auto& name : names) json::append_quoted(list.element(), name);
      list.close();
      break;
    }
  }
  projection.close();
}

void append_timestamp(std::string& out, int64_t time_ms) {
  json::append_int(out, time_ms / 1000);
  const auto fraction = static_cast<int>(time_ms % 1000);
  out.push_back('.');
  out.push_back(static_cast<char>('0' + fraction / 100));
  out.push_back(static_cast<char>('0' + fraction / 10 % 10));
  out.push_back(static_cast<char>('0' + fraction % 10));
}

void append_table_description(std::string& out, const Table& table, TableState state,
                              const std::vector<Size>& sizes, int64_t now_ms,
                              std::string_view deleting) {
  json::Object object(out);
  json::Array definitions(object.key("AttributeDefinitions"));
  for (const auto& attribute : table.attribute_definitions) {
    json::Object definition(definitions.element());
    definition.string("AttributeName", attribute.name);
    definition.string("AttributeType", model::key_type_name(attribute.type));
    definition.close();
  }
  definitions.close();
  append_key_schema(object.key("KeySchema"), table.schema->key);
  append_time(object, "CreationDateTime", table.created_ms);
  append_facts(object, table, state, sizes, now_ms);
  append_indexes(object, table, state, sizes, now_ms, false, deleting);
  append_indexes(object, table, state, sizes, now_ms, true, deleting);
  append_settings(object, table, state);
  append_on_demand(object, table.capacity);
  if (state != TableState::kCreating || table.capacity.warm_read_units ||
      table.capacity.warm_write_units) {
    append_warm(object, table.capacity, table.billing, state);
  }
  object.close();
}

void append_deleted_table_description(std::string& out, const Table& table,
                                      const std::vector<Size>& sizes, int64_t now_ms) {
  json::Object object(out);
  append_facts(object, table, TableState::kDeleting, sizes, now_ms);
  object.close();
}

}  // namespace stator::ops
