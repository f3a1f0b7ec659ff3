// What the item operations have in common: reading the parts of a request that they share, and
// writing the parts of an answer that they share.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/expr.h"
#include "json/writer.h"
#include "ops/operation.h"
#include "ops/value_json.h"

namespace stator::ops {

// Begins the message of every table-independent error of PutItem, UpdateItem and DeleteItem.
inline constexpr std::string_view kEnvelope = "1 validation error detected: ";

// Runs `check` and puts `prefix` before the message of a ValidationException that it throws.
template <typename Check>
void with_prefix(std::string_view prefix, Check check) {
  if (prefix.empty()) {
    check();
    return;
  }
  try {
    check();
  } catch (const ApiError& error) {
    if (error.type() != "ValidationException") throw;
    throw ApiError(error.type(), std::string(prefix) + error.message(), error.extra());
  }
}

// The shape checks of PutItem, UpdateItem and DeleteItem. `subject` is "Item" or "Key". Returns the
// layer that words the rest of the request: the current one, or the older one if a required member
// is absent or a value is nested very deep.
expr::Wording check_write_shape(const Request& request, std::string_view subject);

// Placeholders of a request. A value that cannot be read is reported by check(), after the names.
struct RequestBindings {
  expr::Bindings bindings;
  std::optional<ApiError> bad_value;

  // Names and values themselves, in the service's order.
  void check() const;
};
RequestBindings read_bindings(const json::Element& body, expr::Wording wording);

// The legacy parameters.
std::vector<expr::LegacyCondition> read_conditions(const json::Element& map, expr::Wording wording);
std::vector<expr::ExpectedAttribute> read_expected(const json::Element& map, expr::Wording wording);
std::vector<expr::AttributeUpdate> read_attribute_updates(const json::Element& map,
                                                          expr::Wording wording);
std::optional<expr::ConditionalOperator> read_conditional_operator(const json::Element& body);
std::vector<std::string> read_names(const json::ArrayElement& names);

// The key of an item, as it was given, against the table: throws "The provided key element does not
// match the schema" and what the service says about empty and too long keys.
void check_key(const model::TableSchema& table, const model::Item& key);
// The same for the keys inside a whole item, which have messages of their own.
void check_item_keys(const model::TableSchema& table, const model::Item& item);
// Empty and too long key values. Types have been checked.
void check_key_values(const model::KeySchema& key, const model::Item& item);

enum class CapacityMode { kNone, kTotal, kIndexes };
CapacityMode capacity_mode(const json::Element& body);

// Units consumed on one table and its indexes.
struct Consumed {
  std::string table_name;
  double table = 0;
  std::vector<double> indexes;  // in the schema's order
  const model::TableSchema* schema = nullptr;
  double unassigned = 0;  // counts in the total only: what failed members of a PartiQL batch cost
};
// "ConsumedCapacity" of a single-item operation, Query or Scan; nothing with kNone.
void append_capacity(json::Object& answer, CapacityMode mode, const Consumed& consumed);
// The value alone. With `units_member` ("WriteCapacityUnits"), that member is beside CapacityUnits,
// as in transactions.
void append_capacity_value(std::string& out, CapacityMode mode, const Consumed& consumed,
                           std::string_view units_member = {});

// "ItemCollectionMetrics", if they were asked for and the table has local indexes.
bool wants_collection_metrics(const json::Element& body);
void append_collection_metrics_value(std::string& out, const model::TableSchema& table,
                                     const model::Item& key, int64_t collection_bytes);

// The error of a failed condition, with the item if it was asked for.
[[noreturn]] void throw_condition_failed(bool with_item, const std::optional<model::Item>& item);

}  // namespace stator::ops
