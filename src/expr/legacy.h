// The parameters from before expressions (Expected, AttributeUpdates, KeyConditions, QueryFilter,
// ScanFilter, AttributesToGet), checked with the service's messages and translated into the same
// trees. Nothing here needs a table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/ast.h"
#include "expr/key_condition.h"
#include "expr/projection.h"
#include "expr/update.h"
#include "model/value.h"

namespace stator::expr {

enum class ComparisonOperator : uint8_t {
  kEq,
  kNe,
  kIn,
  kLe,
  kLt,
  kGe,
  kGt,
  kBetween,
  kNotNull,
  kNull,
  kContains,
  kNotContains,
  kBeginsWith,
};

std::string_view operator_name(ComparisonOperator op);  // "EQ", "NOT_NULL", ...
std::optional<ComparisonOperator> parse_comparison_operator(std::string_view name);

enum class ConditionalOperator : uint8_t { kAnd, kOr };

// An entry of KeyConditions, QueryFilter or ScanFilter.
struct LegacyCondition {
  std::string name;
  ComparisonOperator op = ComparisonOperator::kEq;
  std::vector<model::Value> values;  // AttributeValueList; empty if absent
};

// An entry of Expected.
struct ExpectedAttribute {
  std::string name;
  std::optional<ComparisonOperator> op;
  std::optional<std::vector<model::Value>> values;  // AttributeValueList
  std::optional<model::Value> value;
  std::optional<bool> exists;
};

// An entry of AttributeUpdates.
struct AttributeUpdate {
  enum class Action : uint8_t { kPut, kAdd, kDelete };
  std::string name;
  std::optional<Action> action;  // absent: PUT
  std::optional<model::Value> value;
};

// Throws "ConditionalOperator can only be used when Filter or Expected has two or more elements" if
// it is not; `count` is zero when the parameter it belongs to is absent.
void check_conditional_operator(std::optional<ConditionalOperator> op, size_t count);

Condition expected_condition(std::vector<ExpectedAttribute> expected,
                             std::optional<ConditionalOperator> op);

// QueryFilter and ScanFilter.
Condition filter_condition(std::vector<LegacyCondition> conditions,
                           std::optional<ConditionalOperator> op);

Update attribute_updates(std::vector<AttributeUpdate> updates);

// Clauses for match_key.
std::vector<KeyClause> key_conditions(std::vector<LegacyCondition> conditions);

// Throws "Duplicate value in attribute name: a".
Projection attributes_to_get(std::vector<std::string> names);

}  // namespace stator::expr
