#include <algorithm>
#include <array>
#include <set>

#include "json/writer.h"
#include "ops/operation.h"
#include "ops/resource_policy.h"
#include "ops/table_description.h"
#include "ops/table_request.h"

namespace stator::ops {

namespace {

using json::Element;

constexpr size_t kMinNameLength = 3;
constexpr size_t kMaxLocalIndexes = 5;
constexpr size_t kMaxIncludedAttributes = 100;  // of all indexes together

// The parts of the request that several checks need.
struct Parts {
  Definitions definitions;
  KeyElements key;
  std::optional<json::ArrayElement> local_indexes;
  std::optional<json::ArrayElement> global_indexes;
};

// Members of what this database does not do. Ignoring them would be worse.
void refuse_unsupported(const Element& body) {
  if (json::member(body, "VectorIndexes")) invalid("Vector indexes are not supported");
  if (json::member(body, "GlobalTableSourceArn") ||
      json::member(body, "GlobalTableSettingsReplicationMode")) {
    invalid("Global tables are not supported");
  }
}

void read_billing(const Element& body, catalog::Table& table) {
  const auto mode = json::string_member(body, "BillingMode");
  const auto units = read_throughput(body);
  table.billing_named = mode.has_value();
  if (mode == "PAY_PER_REQUEST") {
    table.billing = catalog::BillingMode::kPayPerRequest;
    if (units) {
      invalid_parameter(
          "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when BillingMode is "
          "PAY_PER_REQUEST");
    }
    return;
  }
  if (!units) {
    invalid_parameter(
        "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is "
        "PROVISIONED");
  }
  check_throughput_bounds(*units);
  table.capacity.provisioned = {.read_units = units->first, .write_units = units->second};
}

std::string join(const std::vector<std::string>& names) {
  std::string out = "[";
  for (size_t i = 0; i < names.size(); ++i) out.append(i > 0 ? ", " : "").append(names[i]);
  return out + "]";
}

// Every definition must be used by some key.
void check_definitions_used(const Parts& parts) {
  if (!parts.local_indexes && !parts.global_indexes) {
    if (parts.key.size() == parts.definitions.size()) return;
    invalid_parameter(
        "Number of attributes in KeySchema does not exactly match number of attributes defined in "
        "AttributeDefinitions");
  }
  std::set<std::string> used;
  for (const KeyElement& element : parts.key) used.insert(element.name);
  for (const auto& indexes : {parts.local_indexes, parts.global_indexes}) {
    if (!indexes) continue;
    for (const Element index : *indexes) {
      for (const KeyElement& element : read_key_elements(*json::array_member(index, "KeySchema"))) {
        used.insert(element.name);
      }
    }
  }
  std::vector<std::string> defined;
  std::vector<std::string> keys;
  for (const auto& definition : parts.definitions) {
    defined.push_back(definition.name);
    if (used.contains(definition.name)) keys.push_back(definition.name);
  }
  if (keys.size() == defined.size()) return;
  invalid_parameter("Some AttributeDefinitions are not used. AttributeDefinitions: " +
                    join(defined) + ", keys used: " + join(keys));
}

void check_table_key(const Parts& parts) {
  if (parts.key.size() > parts.definitions.size()) {
    invalid("Invalid KeySchema: Some index key attribute have no definition");
  }
  std::set<std::string_view> names;
  for (const auto& definition : parts.definitions) {
    if (!names.insert(definition.name).second)
      invalid("Attribute Name is duplicated: " + definition.name);
  }
  check_defined(parts.key, parts.definitions);
  check_simple_key(parts.key);
}

void refuse_duplicate(const std::vector<model::Index>& indexes, const std::string& name) {
  const bool known = std::any_of(indexes.begin(), indexes.end(),
                                 [&](const auto& index) { return index.name == name; });
  if (known) invalid_parameter("Duplicate index name: " + name);
}

void read_local_indexes(const Parts& parts, model::TableSchema& schema, catalog::Table& table) {
  if (!parts.local_indexes) return;
  if (parts.local_indexes->size() == 0) invalid_parameter("List of LocalSecondaryIndexes is empty");
  if (parts.key.size() != 2) {
    invalid_parameter(
        "Table KeySchema does not have a range key, which is required when specifying a "
        "LocalSecondaryIndex");
  }
  for (const Element request : *parts.local_indexes) {
    model::Index index;
    index.name = std::string(*json::string_member(request, "IndexName"));
    const auto elements = read_key_elements(*json::array_member(request, "KeySchema"));
    check_defined(elements, parts.definitions);
    check_simple_key(elements);
    if (elements.size() != 2)
      invalid_parameter("Index KeySchema does not have a range key for index: " + index.name);
    if (elements[0].name != parts.key[0].name) {
      invalid_parameter(
          "Index KeySchema does not have the same leading hash key as table KeySchema for index: " +
          index.name + ". index hash key: " + elements[0].name +
          ", table hash key: " + parts.key[0].name);
    }
    read_projection(request, index);
    refuse_duplicate(schema.indexes, index.name);
    index.key = make_key(elements, parts.definitions);
    schema.indexes.push_back(std::move(index));
    table.index_capacity.emplace_back();
  }
  if (parts.local_indexes->size() > kMaxLocalIndexes) {
    invalid_parameter("Number of LocalSecondaryIndexes exceeds per-table limit of 5");
  }
}

void read_global_indexes(const Parts& parts, model::TableSchema& schema, catalog::Table& table) {
  if (!parts.global_indexes) return;
  if (parts.global_indexes->size() == 0)
    invalid_parameter("List of GlobalSecondaryIndexes is empty");
  for (const Element request : *parts.global_indexes) {
    auto read = read_global_index(request, parts.definitions, table.billing);
    refuse_duplicate(schema.indexes, read.index.name);
    schema.indexes.push_back(std::move(read.index));
    table.index_capacity.push_back(std::move(read.capacity));
  }
  if (parts.global_indexes->size() > kMaxGlobalIndexes) {
    invalid_parameter("GlobalSecondaryIndex count exceeds the per-table limit of 20");
  }
}

void check_included_total(const model::TableSchema& schema) {
  size_t total = 0;
  for (const auto& index : schema.indexes) total += index.included.size();
  if (total > kMaxIncludedAttributes) {
    invalid_parameter(
        "Number of NonKeyAttributes of all secondary indexes exceeds per-table limit of 100");
  }
}

void read_stream(const Element& body, catalog::Table& table) {
  const auto specification = json::member(body, "StreamSpecification");
  if (!specification) return;
  const auto view_type = json::string_member(*specification, "StreamViewType");
  if (!json::bool_member(*specification, "StreamEnabled").value_or(false)) {
    if (view_type) {
      invalid_parameter(
          "Table is being created with a stream disabled, UpdateViewType should not be specified");
    }
    return;
  }
  if (!view_type)
    invalid_parameter("Table is being created with a stream enabled, UpdateViewType is required");
  table.stream =
      catalog::StreamSettings{.enabled = true, .view_type = std::string(*view_type), .label = {}};
}

// The table as asked for. Throws everything that is wrong with the request beyond its shape.
catalog::Table read_table(const Request& request, std::string name) {
  const Element& body = request.body;
  const int64_t now_ms = request.context.clock.now_ms();
  refuse_unsupported(body);

  catalog::Table table;
  table.table_class = read_table_class(body);
  read_billing(body, table);

  Parts parts{.definitions = read_definitions(json::array_member(body, "AttributeDefinitions")),
              .key = read_key_elements(*json::array_member(body, "KeySchema")),
              .local_indexes = json::array_member(body, "LocalSecondaryIndexes"),
              .global_indexes = json::array_member(body, "GlobalSecondaryIndexes")};
  check_table_key(parts);
  check_definitions_used(parts);

  auto schema = std::make_shared<model::TableSchema>();
  schema->name = std::move(name);
  schema->key = make_key(parts.key, parts.definitions);
  read_local_indexes(parts, *schema, table);
  read_global_indexes(parts, *schema, table);
  check_included_total(*schema);
  read_on_demand(body, table.billing, {}, table.capacity);
  read_warm(body, table.capacity);
  read_stream(body, table);
  table.encryption = read_encryption(request.context, body);
  table.tags = read_tags(json::array_member(body, "Tags"));
  table.deletion_protection = json::bool_member(body, "DeletionProtectionEnabled").value_or(false);
  if (const auto policy = json::string_member(body, "ResourcePolicy")) {
    table.resource_policy = read_resource_policy(*policy);
    table.resource_policy_revision_ms = now_ms;
  }

  table.schema = std::move(schema);
  table.attribute_definitions = std::move(parts.definitions);
  std::sort(table.attribute_definitions.begin(), table.attribute_definitions.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return table;
}

}  // namespace

Task<std::string> create_table(Request& request) {
  const Context& context = request.context;
  // The name is looked at alone, before everything else.
  require_table_name(request);
  const auto name_or_arn = *json::string_member(request.body, "TableName");
  throw_if_any(table_name_violations(name_or_arn, kMinNameLength));
  static constexpr std::array<std::string_view, 2> kCheckedHere = {"TableName", "TableClass"};
  check_shape(request, kCheckedHere);

  const std::string name = table_name_of(context, name_or_arn);
  auto table = read_table(request, name);
  const auto created = co_await context.catalog.create(std::move(table));
  if (!created) throw ApiError("ResourceInUseException", "Table already exists: " + name);

  std::string out;
  json::Object answer(out);
  append_table_description(answer.key("TableDescription"), *created, catalog::TableState::kCreating,
                           {}, context.clock.now_ms());
  answer.close();
  co_return out;
}

}  // namespace stator::ops
