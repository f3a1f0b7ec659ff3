#include "ops/item_request.h"

#include <algorithm>
#include <array>

namespace stator::ops {

namespace {

constexpr int kLayerDepth = 63;  // deeper values are read by the service's older layer
constexpr size_t kMaxPartitionKeyBytes = 2048;
constexpr size_t kMaxSortKeyBytes = 1024;

size_t key_bytes(const model::Value& value) {
  return model::size_bytes(value);
}

void append_units(std::string& out, double units, std::string_view units_member) {
  json::Object object(out);
  object.number("CapacityUnits", units);
  if (!units_member.empty()) object.number(units_member, units);
  object.close();
}

}  // namespace

expr::Wording check_write_shape(const Request& request, std::string_view subject) {
  const auto table_name = json::string_member(request.body, "TableName");
  const auto item = json::member(request.body, subject);
  const bool current = table_name && item && value_depth(request.body, kLayerDepth) < kLayerDepth;
  if (current && table_name->empty()) {
    invalid(std::string(kEnvelope) +
            "Value at 'TableName' failed to satisfy constraint: Member must have length greater "
            "than or equal to 1");
  }
  const auto violations = find_violations(request.body, *request.shape);
  if (violations.empty()) return current ? expr::Wording::kCurrent : expr::Wording::kOlder;
  std::vector<std::string> texts;
  for (const Violation& violation : violations) {
    if (current && violation.path == "returnValues") {
      texts.emplace_back(
          "Failed to satisfy constraint: Member must satisfy enum value set: [ALL_OLD, "
          "UPDATED_OLD, ALL_NEW, "
          "UPDATE_NEW, NONE]");
      if (request.shape->name == "UpdateItemInput") throw_violations({texts.back()});
    } else if (current && violation.path == "conditionalOperator") {
      texts.emplace_back(
          "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]");
    } else {
      texts.push_back(violation.text);
    }
  }
  throw_violations(texts);
}

void RequestBindings::check() const {
  bindings.check_names();
  bindings.check_values();
  if (bad_value) throw *bad_value;
}

RequestBindings read_bindings(const json::Element& body, expr::Wording wording) {
  RequestBindings result;
  std::optional<expr::Bindings::Names> names;
  std::optional<expr::Bindings::Values> values;
  if (const auto object = json::object_member(body, "ExpressionAttributeNames")) {
    names.emplace();
    for (const auto field : *object) {
      std::string_view name;
      if (field.value.get(name) == simdjson::SUCCESS)
        names->emplace_back(std::string(field.key), std::string(name));
    }
  }
  if (const auto object = json::object_member(body, "ExpressionAttributeValues")) {
    values.emplace();
    for (const auto field : *object) {
      if (field.value.is_null()) continue;
      model::Value value;
      try {
        value = read_value(field.value, wording);
      } catch (const ApiError& error) {
        if (!result.bad_value) {
          result.bad_value = error;
          if (wording == expr::Wording::kOlder && error.type() == "ValidationException") {
            result.bad_value =
                ApiError(error.type(), "ExpressionAttributeValues contains invalid value: " +
                                           error.message() + " for key " + std::string(field.key));
          }
        }
      }
      values->emplace_back(std::string(field.key), std::move(value));
    }
  }
  result.bindings = expr::Bindings(std::move(names), std::move(values), wording);
  return result;
}

std::vector<expr::LegacyCondition> read_conditions(const json::Element& map,
                                                   expr::Wording wording) {
  std::vector<expr::LegacyCondition> conditions;
  const json::ObjectElement entries = map.get_object();
  for (const auto field : entries) {
    expr::LegacyCondition condition;
    condition.name = std::string(field.key);
    if (const auto op = json::string_member(field.value, "ComparisonOperator")) {
      condition.op = expr::parse_comparison_operator(*op).value_or(expr::ComparisonOperator::kEq);
    }
    if (const auto list = json::array_member(field.value, "AttributeValueList")) {
      for (const json::Element value : *list)
        condition.values.push_back(read_value(value, wording));
    }
    conditions.push_back(std::move(condition));
  }
  return conditions;
}

std::vector<expr::ExpectedAttribute> read_expected(const json::Element& map,
                                                   expr::Wording wording) {
  std::vector<expr::ExpectedAttribute> expected;
  const json::ObjectElement entries = map.get_object();
  for (const auto field : entries) {
    expr::ExpectedAttribute attribute;
    attribute.name = std::string(field.key);
    if (const auto op = json::string_member(field.value, "ComparisonOperator")) {
      attribute.op = expr::parse_comparison_operator(*op);
    }
    if (const auto list = json::array_member(field.value, "AttributeValueList")) {
      attribute.values.emplace();
      for (const json::Element value : *list)
        attribute.values->push_back(read_value(value, wording));
    }
    if (const auto value = json::member(field.value, "Value"))
      attribute.value = read_value(*value, wording);
    attribute.exists = json::bool_member(field.value, "Exists");
    expected.push_back(std::move(attribute));
  }
  return expected;
}

std::vector<expr::AttributeUpdate> read_attribute_updates(const json::Element& map,
                                                          expr::Wording wording) {
  std::vector<expr::AttributeUpdate> updates;
  const json::ObjectElement entries = map.get_object();
  for (const auto field : entries) {
    expr::AttributeUpdate update;
    update.name = std::string(field.key);
    if (const auto action = json::string_member(field.value, "Action")) {
      if (*action == "PUT") update.action = expr::AttributeUpdate::Action::kPut;
      if (*action == "ADD") update.action = expr::AttributeUpdate::Action::kAdd;
      if (*action == "DELETE") update.action = expr::AttributeUpdate::Action::kDelete;
    }
    if (const auto value = json::member(field.value, "Value"))
      update.value = read_value(*value, wording);
    updates.push_back(std::move(update));
  }
  return updates;
}

std::optional<expr::ConditionalOperator> read_conditional_operator(const json::Element& body) {
  const auto text = json::string_member(body, "ConditionalOperator");
  if (!text) return std::nullopt;
  return *text == "OR" ? expr::ConditionalOperator::kOr : expr::ConditionalOperator::kAnd;
}

std::vector<std::string> read_names(const json::ArrayElement& array) {
  std::vector<std::string> names;
  for (const json::Element element : array) {
    std::string_view name;
    if (element.get(name) == simdjson::SUCCESS) names.emplace_back(name);
  }
  return names;
}

void check_key_values(const model::KeySchema& key, const model::Item& item) {
  for (size_t i = 0; i < key.size(); ++i) {
    const model::KeyAttribute& attribute = key.at(i);
    const model::Value* value = item.find(attribute.name);
    if (value == nullptr) continue;
    const bool empty_string = value->is(model::Type::kString) && value->as_string().empty();
    const bool empty_binary = value->is(model::Type::kBinary) && value->as_binary().empty();
    if (empty_string || empty_binary) {
      invalid(
          "One or more parameter values are not valid. The AttributeValue for a key attribute "
          "cannot contain an "
          "empty " +
          std::string(empty_string ? "string" : "binary") + " value. Key: " + attribute.name);
    }
  }
  for (size_t i = 0; i < key.size(); ++i) {
    const model::Value* value = item.find(key.at(i).name);
    if (value == nullptr) continue;
    const bool partition = i < key.partition.size();
    if (partition && key_bytes(*value) > kMaxPartitionKeyBytes) {
      invalid(
          "One or more parameter values were invalid: Size of hashkey has exceeded the maximum "
          "size limit of2048 "
          "bytes");
    }
    if (!partition && key_bytes(*value) > kMaxSortKeyBytes) {
      invalid(
          "One or more parameter values were invalid: Aggregated size of all range keys has "
          "exceeded the size limit "
          "of 1024 bytes");
    }
  }
}

void check_key(const model::TableSchema& table, const model::Item& key) {
  bool matches = key.size() == table.key.size();
  for (size_t i = 0; matches && i < table.key.size(); ++i) {
    const model::KeyAttribute& attribute = table.key.at(i);
    const model::Value* value = key.find(attribute.name);
    matches = value != nullptr && value->type() == model::value_type(attribute.type);
  }
  if (!matches) invalid("The provided key element does not match the schema");
  check_key_values(table.key, key);
}

void check_item_keys(const model::TableSchema& table, const model::Item& item) {
  for (size_t i = 0; i < table.key.size(); ++i) {
    const model::KeyAttribute& attribute = table.key.at(i);
    const model::Value* value = item.find(attribute.name);
    if (value == nullptr) {
      invalid("One or more parameter values were invalid: Missing the key " + attribute.name +
              " in the item");
    }
    if (value->type() != model::value_type(attribute.type)) {
      invalid("One or more parameter values were invalid: Type mismatch for key " + attribute.name +
              " expected: " + std::string(model::key_type_name(attribute.type)) +
              " actual: " + std::string(model::type_name(value->type())));
    }
  }
  check_key_values(table.key, item);
}

CapacityMode capacity_mode(const json::Element& body) {
  const auto text = json::string_member(body, "ReturnConsumedCapacity");
  if (!text || *text == "NONE") return CapacityMode::kNone;
  return *text == "INDEXES" ? CapacityMode::kIndexes : CapacityMode::kTotal;
}

void append_capacity_value(std::string& out, CapacityMode mode, const Consumed& consumed,
                           std::string_view units_member) {
  double total = consumed.table + consumed.unassigned;
  for (const double units : consumed.indexes) total += units;
  json::Object object(out);
  object.string("TableName", consumed.table_name);
  object.number("CapacityUnits", total);
  if (!units_member.empty()) object.number(units_member, total);
  if (mode == CapacityMode::kIndexes) {
    append_units(object.key("Table"), consumed.table, units_member);
    for (const bool global : {false, true}) {
      bool any = false;
      for (size_t i = 0; i < consumed.indexes.size(); ++i) {
        any = any || (consumed.indexes[i] > 0 && consumed.schema->indexes[i].global == global);
      }
      if (!any) continue;
      json::Object indexes(object.key(global ? "GlobalSecondaryIndexes" : "LocalSecondaryIndexes"));
      for (size_t i = 0; i < consumed.indexes.size(); ++i) {
        const model::Index& index = consumed.schema->indexes[i];
        if (consumed.indexes[i] <= 0 || index.global != global) continue;
        append_units(indexes.key(index.name), consumed.indexes[i], units_member);
      }
      indexes.close();
    }
  }
  object.close();
}

void append_capacity(json::Object& answer, CapacityMode mode, const Consumed& consumed) {
  if (mode == CapacityMode::kNone) return;
  append_capacity_value(answer.key("ConsumedCapacity"), mode, consumed);
}

bool wants_collection_metrics(const json::Element& body) {
  return json::string_member(body, "ReturnItemCollectionMetrics") == "SIZE";
}

void append_collection_metrics_value(std::string& out, const model::TableSchema& table,
                                     const model::Item& key, int64_t collection_bytes) {
  const std::string& partition = table.key.partition[0].name;
  const auto gigabytes = static_cast<int64_t>(collection_bytes / (1024LL * 1024 * 1024));
  json::Object metrics(out);
  json::Object collection(metrics.key("ItemCollectionKey"));
  append_value(collection.key(partition), *key.find(partition));
  collection.close();
  json::Array range(metrics.key("SizeEstimateRangeGB"));
  json::append_double(range.element(), static_cast<double>(gigabytes));
  json::append_double(range.element(), static_cast<double>(gigabytes + 1));
  range.close();
  metrics.close();
}

void throw_condition_failed(bool with_item, const std::optional<model::Item>& item) {
  std::string extra;
  if (with_item && item) {
    extra = ",\"Item\":";
    append_item(extra, *item);
  }
  throw ApiError("ConditionalCheckFailedException", "The conditional request failed",
                 std::move(extra));
}

}  // namespace stator::ops
