#include <algorithm>
#include <set>

#include "json/writer.h"
#include "ops/recovery.h"
#include "ops/table_description.h"
#include "ops/table_request.h"
#include "store/history.h"

namespace stator::ops {

namespace {

using json::Element;

constexpr size_t kMaxRestores = 50;  // at the same time

[[noreturn]] void invalid_request(const std::string& text) {
  invalid("Invalid Request: " + text);
}

// --- overrides

void read_billing(const Element& body, const catalog::Table& source, catalog::Table& table) {
  const auto mode = json::string_member(body, "BillingModeOverride");
  const auto throughput = json::member(body, "ProvisionedThroughputOverride");
  if (mode == "PAY_PER_REQUEST" && throughput) {
    invalid_request(
        "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST");
  }
  if (mode == "PROVISIONED" && !throughput) {
    invalid_request(
        "Must override ProvisionedThroughput if BillingMode is overridden to PROVISIONED");
  }
  table.billing = source.billing;
  table.billing_named = source.billing_named || mode.has_value();
  if (mode) {
    table.billing = *mode == "PAY_PER_REQUEST" ? catalog::BillingMode::kPayPerRequest
                                               : catalog::BillingMode::kProvisioned;
  }
  const bool provisioned = table.billing == catalog::BillingMode::kProvisioned;
  if (!throughput) {
    if (provisioned) {
      table.capacity.provisioned.read_units = source.capacity.provisioned.read_units;
      table.capacity.provisioned.write_units = source.capacity.provisioned.write_units;
    }
    return;
  }
  if (!provisioned)
    invalid_request("Cannot override ProvisionedThroughput unless BillingMode is PROVISIONED");
  const std::pair units{json::int_member(*throughput, "ReadCapacityUnits").value_or(0),
                        json::int_member(*throughput, "WriteCapacityUnits").value_or(0)};
  check_throughput_bounds(units);
  table.capacity.provisioned = {.read_units = units.first, .write_units = units.second};
}

void read_maximum(const Element& throughput, std::string_view name, bool on_demand,
                  std::optional<int64_t>& target) {
  const auto units = json::int_member(throughput, name);
  if (!units) return;
  if (!on_demand) {
    invalid_request("Cannot override " + std::string(name) +
                    " for OnDemandThroughput unless BillingModeOverride is PAY_PER_REQUEST");
  }
  if (*units == 0 || *units < -1) {
    invalid_request("Requested " + std::string(name) +
                    " for OnDemandThroughput is outside of valid range");
  }
  target = *units == -1 ? std::nullopt : units;
}

void read_maximums(const Element& holder, std::string_view name, catalog::BillingMode billing,
                   catalog::Capacity& capacity) {
  const auto throughput = json::member(holder, name);
  if (!throughput) return;
  const bool on_demand = billing == catalog::BillingMode::kPayPerRequest;
  read_maximum(*throughput, "MaxReadRequestUnits", on_demand, capacity.max_read_request_units);
  read_maximum(*throughput, "MaxWriteRequestUnits", on_demand, capacity.max_write_request_units);
}

bool same_key(const KeyElements& elements, const model::KeySchema& key) {
  if (elements.size() != key.size()) return false;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].name != key.at(i).name || elements[i].hash != (i < key.partition.size()))
      return false;
  }
  return true;
}

bool same_projection(const model::Index& a, const model::Index& b) {
  if (a.projection != b.projection) return false;
  return std::set(a.included.begin(), a.included.end()) ==
         std::set(b.included.begin(), b.included.end());
}

// The index of the source that an override means: the one with its key and projection, whatever it
// is called.
size_t find_overridden(const Element& request, const catalog::Table& source, bool global) {
  const std::string name(json::string_member(request, "IndexName").value_or(""));
  model::Index asked;
  asked.name = name;
  asked.global = global;
  read_projection(request, asked);
  const auto elements = read_key_elements(*json::array_member(request, "KeySchema"));
  const auto& indexes = source.schema->indexes;
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (indexes[i].global == global && same_key(elements, indexes[i].key) &&
        same_projection(asked, indexes[i]))
      return i;
  }
  invalid_request("Index " + name +
                  " does not match a secondary index that existed in the source table and cannot "
                  "be created during the restore operation");
}

catalog::Capacity carried_capacity(const catalog::Capacity& source, catalog::BillingMode billing) {
  catalog::Capacity capacity;
  if (billing == catalog::BillingMode::kProvisioned) {
    capacity.provisioned.read_units = source.provisioned.read_units;
    capacity.provisioned.write_units = source.provisioned.write_units;
  } else {
    capacity.max_read_request_units = source.max_read_request_units;
    capacity.max_write_request_units = source.max_write_request_units;
  }
  return capacity;
}

[[noreturn]] void throw_no_throughput(const std::string& index) {
  invalid_request("Must specify provisioned throughput for index " + index);
}

catalog::Capacity overridden_capacity(const Element& request, const std::string& name,
                                      const catalog::Capacity& source,
                                      catalog::BillingMode billing) {
  if (json::member(request, "WarmThroughput"))
    invalid_request("WarmThroughput is not supported for index " + name);
  catalog::Capacity capacity = carried_capacity(source, billing);
  const auto units = read_throughput(request);
  if (billing == catalog::BillingMode::kPayPerRequest) {
    if (units) {
      invalid_request(
          "Cannot override ProvisionedThroughput if BillingMode is overridden to PAY_PER_REQUEST "
          "for index " +
          name);
    }
  } else {
    if (!units) throw_no_throughput(name);
    check_throughput_bounds(*units);
    capacity.provisioned = {.read_units = units->first, .write_units = units->second};
  }
  read_maximums(request, "OnDemandThroughput", billing, capacity);
  return capacity;
}

// Indexes of one kind: all of the source's, or those that the request names, under its names.
void read_indexes(const Element& body, const catalog::Table& source, bool global,
                  model::TableSchema& schema, catalog::Table& table) {
  const auto add = [&](const model::Index& index, std::string name, catalog::Capacity capacity) {
    const bool known = std::any_of(schema.indexes.begin(), schema.indexes.end(),
                                   [&](const auto& one) { return one.name == name; });
    if (known) invalid_parameter("Duplicate index name: " + name);
    model::Index copy = index;
    copy.number = 0;
    copy.building = false;
    copy.name = std::move(name);
    schema.indexes.push_back(std::move(copy));
    table.index_capacity.push_back(std::move(capacity));
  };
  const auto& indexes = source.schema->indexes;
  const auto list = json::array_member(
      body, global ? "GlobalSecondaryIndexOverride" : "LocalSecondaryIndexOverride");
  if (list) {
    for (const Element request : *list) {
      const size_t at = find_overridden(request, source, global);
      const std::string name(*json::string_member(request, "IndexName"));
      add(indexes[at], name,
          global ? overridden_capacity(request, name, source.index_capacity.at(at), table.billing)
                 : catalog::Capacity());
    }
    return;
  }
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (indexes[i].global != global) continue;
    const bool newly_provisioned = source.billing == catalog::BillingMode::kPayPerRequest &&
                                   table.billing == catalog::BillingMode::kProvisioned;
    if (global && newly_provisioned) throw_no_throughput(indexes[i].name);
    add(indexes[i], indexes[i].name,
        global ? carried_capacity(source.index_capacity.at(i), table.billing)
               : catalog::Capacity());
  }
}

bool is_used(const model::TableSchema& schema, const std::string& attribute) {
  return schema.key.position(attribute) ||
         std::any_of(schema.indexes.begin(), schema.indexes.end(), [&](const model::Index& index) {
           return index.key.position(attribute).has_value();
         });
}

// --- RestoreTableToPointInTime

// The name of the source. Throws unless it is given in exactly one way.
std::string source_name(const Request& request) {
  const auto name = json::string_member(request.body, "SourceTableName");
  const auto arn = json::string_member(request.body, "SourceTableArn");
  if (name && arn) invalid("Must provide exactly one of: sourceTableArn, sourceTableName");
  if (!name && !arn) require_table_name(request);
  if (name) return std::string(*name);
  if (!arn || !arn->starts_with("arn:"))
    invalid_parameter("ARNs must start with 'arn:': " + std::string(arn.value_or("")));
  const std::string start = "arn:aws:dynamodb:" + request.context.region + ":";
  if (arn->starts_with("arn:aws:dynamodb:") && !arn->starts_with(start) &&
      !json::member(request.body, "SSESpecificationOverride")) {
    invalid_request("sseSpecificationOverride must be provided for cross-region restores");
  }
  const std::string prefix = start + request.context.account + ":table/";
  if (!arn->starts_with(prefix)) {
    if (arn->starts_with(start)) {
      invalid(
          "This action is only supported by accounts that match the resource owner\u2019s "
          "account.");
    }
    invalid("sourceTableArn is not a valid ARN");
  }
  return std::string(arn->substr(prefix.size()));
}

// The second to restore to; nothing if it is the latest one.
std::optional<int64_t> read_second(const Request& request) {
  const bool latest = json::bool_member(request.body, "UseLatestRestorableTime").value_or(false);
  const auto time_ms = time_member_ms(request.body, "RestoreDateTime");
  if (latest && time_ms) {
    invalid_request(
        "Both RestoreDateTime and UseLatestRestorableTime cannot be set for point-in-time restore "
        "request. Please specify either RestoreDateTime time or UseLatestRestorableTime");
  }
  if (!latest && !time_ms) {
    invalid_request(
        "Either one of RestoreDateTime or UseLatestRestorableTime must be specified, but not both");
  }
  if (latest) return std::nullopt;
  return *time_ms / 1000;
}

void check_second(int64_t second, const RestorableTimes& times) {
  if (second >= times.earliest_s && second <= times.latest_s) return;
  throw ApiError("InvalidRestoreTimeException",
                 "RestoreDateTime '" + utc_text(second) +
                     "' must be within EarliestRestorableDateTime '" + utc_text(times.earliest_s) +
                     "' and LatestRestorableDateTime '" + utc_text(times.latest_s) + "'");
}

}  // namespace

catalog::Table restored_table(const Request& request, const catalog::Table& source,
                              std::string name) {
  const Element& body = request.body;
  if (json::member(body, "VectorIndexOverride")) invalid("Vector indexes are not supported");
  catalog::Table table;
  read_billing(body, source, table);
  if (table.billing == catalog::BillingMode::kPayPerRequest) {
    table.capacity.max_read_request_units = source.capacity.max_read_request_units;
    table.capacity.max_write_request_units = source.capacity.max_write_request_units;
  }
  read_maximums(body, "OnDemandThroughputOverride", table.billing, table.capacity);
  auto schema = std::make_shared<model::TableSchema>();
  schema->name = std::move(name);
  schema->key = source.schema->key;
  read_indexes(body, source, false, *schema, table);
  read_indexes(body, source, true, *schema, table);
  for (const auto& definition : source.attribute_definitions) {
    if (is_used(*schema, definition.name)) table.attribute_definitions.push_back(definition);
  }
  table.schema = std::move(schema);
  if (json::member(body, "SSESpecificationOverride")) {
    table.encryption = read_encryption(request.context, body, "SSESpecificationOverride");
  } else if (source.encryption && source.encryption->enabled) {
    table.encryption = source.encryption;
    table.encryption->changing = false;
  }
  return table;
}

void check_restore_target(const Request& request, const std::string& name) {
  const auto taken = request.context.catalog.find(name);
  if (!taken) return;
  if (!taken->restore)
    throw ApiError("TableAlreadyExistsException", "Table already exists: " + name);
  const catalog::RestoreSource& origin = *taken->restore;
  throw ApiError("TableInUseException",
                 "Table: " + name + " is already being restored from " +
                     (origin.backup_arn.empty() ? "table: " + origin.table_arn
                                                : "backup: " + origin.backup_arn));
}

Task<std::string> begin_restore(const Request& request, catalog::Table table,
                                catalog::RestoreSource from) {
  const Context& context = request.context;
  const std::string name = table.name();
  check_restore_target(request, name);
  const auto tables = context.catalog.list();
  const auto restores = static_cast<size_t>(std::count_if(
      tables.begin(), tables.end(), [](const auto& one) { return one->restore.has_value(); }));
  if (restores >= kMaxRestores) {
    throw ApiError("LimitExceededException",
                   "Subscriber limit exceeded: Only 50 restore operations can be done "
                   "simultaneously");
  }
  table.restore = std::move(from);
  auto creating = context.catalog.create(std::move(table));
  const auto created = co_await creating;
  if (!created) throw ApiError("TableAlreadyExistsException", "Table already exists: " + name);
  std::string out;
  json::Object answer(out);
  append_table_description(answer.key("TableDescription"), *created, catalog::TableState::kCreating,
                           {}, context.clock.now_ms());
  answer.close();
  co_return out;
}

Task<std::string> restore_table_to_point_in_time(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const auto second = read_second(request);
  const std::string name = source_name(request);
  auto holding = context.catalog.hold(name);
  const catalog::Catalog::HeldTable held = co_await holding;
  const int64_t now_ms = context.clock.now_ms();
  if (!held.table || held.table->state(now_ms) == catalog::TableState::kCreating)
    throw_source_not_found(name);
  const catalog::Table& source = *held.table;
  if (!source.recovery.since_ms) {
    throw ApiError("PointInTimeRecoveryUnavailableException",
                   "Point in time recovery is not enabled for table '" + name + "'");
  }
  const RestorableTimes times = restorable_times(source, now_ms);
  if (second) check_second(*second, times);
  catalog::Table table = restored_table(
      request, source, std::string(*json::string_member(request.body, "TargetTableName")));

  store::Past past;
  if (second) {
    auto looking = store::past_at(context.store.engine(), *source.schema, *second);
    past = co_await looking;
  } else {
    past = store::past_now(context.store.engine(), *source.schema, times.latest_s);
  }
  catalog::RestoreSource from;
  from.table_arn = source.arn;
  from.time_ms = second.value_or(times.latest_s) * 1000;
  from.table = past.table;
  from.era = past.era;
  from.first_day = past.first_day;
  from.cut = past.cut;
  auto beginning = begin_restore(request, std::move(table), std::move(from));
  co_return co_await beginning;
}

}  // namespace stator::ops
