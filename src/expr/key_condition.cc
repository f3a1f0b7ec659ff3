#include "expr/key_condition.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "expr/parser.h"
#include "model/error.h"

namespace stator::expr {
namespace {

using model::Type;
using model::Value;

constexpr size_t kMaxPartitionKeyBytes = 2048;
constexpr size_t kMaxSortKeyBytes = 1024;

[[noreturn]] void fail(std::string_view problem) {
  invalid_expression(ExpressionKind::kKeyCondition, problem);
}

std::string_view operator_name(Condition::Kind kind) {
  switch (kind) {
    case Condition::Kind::kOr:
      return "OR";
    case Condition::Kind::kNot:
      return "NOT";
    case Condition::Kind::kIn:
      return "IN";
    case Condition::Kind::kNotEqual:
      return "<>";
    case Condition::Kind::kAttributeExists:
      return "attribute_exists";
    case Condition::Kind::kAttributeNotExists:
      return "attribute_not_exists";
    case Condition::Kind::kAttributeType:
      return "attribute_type";
    case Condition::Kind::kContains:
      return "contains";
    default:
      return {};
  }
}

KeyOperator key_operator(Condition::Kind kind) {
  switch (kind) {
    case Condition::Kind::kLess:
      return KeyOperator::kLess;
    case Condition::Kind::kLessEqual:
      return KeyOperator::kLessEqual;
    case Condition::Kind::kGreater:
      return KeyOperator::kGreater;
    case Condition::Kind::kGreaterEqual:
      return KeyOperator::kGreaterEqual;
    case Condition::Kind::kBetween:
      return KeyOperator::kBetween;
    case Condition::Kind::kBeginsWith:
      return KeyOperator::kBeginsWith;
    default:
      return KeyOperator::kEqual;
  }
}

KeyOperator mirrored(KeyOperator op) {
  switch (op) {
    case KeyOperator::kLess:
      return KeyOperator::kGreater;
    case KeyOperator::kLessEqual:
      return KeyOperator::kGreaterEqual;
    case KeyOperator::kGreater:
      return KeyOperator::kLess;
    case KeyOperator::kGreaterEqual:
      return KeyOperator::kLessEqual;
    default:
      return op;
  }
}

void check_first_operand(const Condition& condition) {
  if (condition.operands[0].kind == Operand::Kind::kPath) return;
  const char* op = nullptr;
  if (condition.kind == Condition::Kind::kBetween) op = "BETWEEN";
  if (condition.kind == Condition::Kind::kBeginsWith) op = "begins_with";
  if (op == nullptr) return;
  fail(std::string("Invalid condition in KeyConditionExpression: ") + op +
       " operator must have the key attribute as its first operand");
}

void collect(const Condition& condition, std::vector<KeyClause>& clauses) {
  if (condition.kind == Condition::Kind::kAnd) {
    for (const Condition& child : condition.children) collect(child, clauses);
    return;
  }
  if (const std::string_view op = operator_name(condition.kind); !op.empty()) {
    fail("Invalid operator used in KeyConditionExpression: " + std::string(op));
  }
  check_first_operand(condition);
  KeyClause clause;
  clause.op = key_operator(condition.kind);
  const Path* path = nullptr;
  for (size_t i = 0; i < condition.operands.size(); ++i) {
    const Operand& operand = condition.operands[i];
    if (operand.kind == Operand::Kind::kValue) {
      clause.values.push_back(operand.value);
      continue;
    }
    if (operand.kind != Operand::Kind::kPath)
      fail("KeyConditionExpressions cannot contain nested operations");
    if (path != nullptr) {
      fail(
          "Invalid condition in KeyConditionExpression: Multiple attribute names used in one "
          "condition");
    }
    if (operand.path.is_nested())
      fail("KeyConditionExpressions cannot have conditions on nested attributes");
    path = &operand.path;
    if (i > 0) clause.op = mirrored(clause.op);
  }
  if (path == nullptr)
    fail("Invalid condition in KeyConditionExpression: No key attribute specified");
  clause.name = path->attribute();
  const bool again = std::any_of(clauses.begin(), clauses.end(),
                                 [&](const KeyClause& other) { return other.name == clause.name; });
  if (again) fail("KeyConditionExpressions must only contain one condition per key");
  clauses.push_back(std::move(clause));
}

const KeyClause* find(const std::vector<KeyClause>& clauses, std::string_view name) {
  const auto found = std::find_if(clauses.begin(), clauses.end(),
                                  [&](const KeyClause& clause) { return clause.name == name; });
  return found == clauses.end() ? nullptr : &*found;
}

size_t key_bytes(const Value& value) {
  if (value.is(Type::kString)) return value.as_string().size();
  if (value.is(Type::kBinary)) return value.as_binary().size();
  return 0;
}

void check_value(const model::KeyAttribute& key, const Value& value, bool is_partition) {
  if (!value.is(Type::kNumber) && key_bytes(value) == 0) {
    invalid(std::string("One or more parameter values are not valid. The AttributeValue for a key "
                        "attribute cannot "
                        "contain an empty ") +
            (value.is(Type::kString) ? "string" : "binary") + " value. Key: " + key.name);
  }
  if (is_partition && key_bytes(value) > kMaxPartitionKeyBytes) {
    invalid(
        "One or more parameter values were invalid: Size of hashkey has exceeded the maximum size "
        "limit of" +
        std::to_string(kMaxPartitionKeyBytes) + " bytes");
  }
  if (!is_partition && key_bytes(value) > kMaxSortKeyBytes) {
    invalid(
        "One or more parameter values were invalid: Aggregated size of all range keys has exceeded "
        "the size limit "
        "of " +
        std::to_string(kMaxSortKeyBytes) + " bytes");
  }
}

void check_clause(const KeyClause& clause, const model::KeyAttribute& key, bool is_partition) {
  if (clause.op == KeyOperator::kNotIndexable) {
    invalid("Attempted conditional constraint is not an indexable operation");
  }
  for (const ValuePtr& value : clause.values) {
    if (!value->is(model::value_type(key.type))) {
      invalid(
          "One or more parameter values were invalid: Condition parameter type does not match "
          "schema type");
    }
  }
  if (is_partition && clause.op != KeyOperator::kEqual)
    invalid("Query key condition not supported");
  for (const ValuePtr& value : clause.values) check_value(key, *value, is_partition);
}

// A condition on a sort attribute needs equality on all before it.
[[noreturn]] void fail_gap(const std::vector<std::string_view>& before, std::string_view name) {
  std::string message = "RANGE key attributes ";
  for (size_t i = 0; i < before.size(); ++i) {
    if (i > 0) message += ", ";
    message += before[i];
  }
  message +=
      " must have equality conditions specified in the query because a condition is present on key "
      "attribute ";
  message += name;
  invalid(std::move(message));
}

// Every clause must be one of the key's; names the attribute that the service would have expected
// instead.
void check_all_known(const std::vector<KeyClause>& clauses, const model::KeySchema& key) {
  for (const KeyClause& clause : clauses) {
    if (key.position(clause.name)) continue;
    for (const model::KeyAttribute& attribute : key.sort) {
      if (find(clauses, attribute.name) == nullptr) {
        invalid("Query condition missed key schema element: " + attribute.name);
      }
    }
    invalid("Query key condition not supported");
  }
}

}  // namespace

std::vector<KeyClause> key_clauses(const Condition& condition) {
  std::vector<KeyClause> clauses;
  collect(condition, clauses);
  return clauses;
}

KeyCondition match_key(const std::vector<KeyClause>& clauses, const model::KeySchema& key) {
  if (clauses.size() > key.size()) {
    invalid("The number of query conditions (" + std::to_string(clauses.size()) +
            ") exceeds the number of key attributes defined in the schema (" +
            std::to_string(key.size()) + ")");
  }
  KeyCondition out;
  for (const model::KeyAttribute& attribute : key.partition) {
    const KeyClause* clause = find(clauses, attribute.name);
    if (clause == nullptr) invalid("Query condition missed key schema element: " + attribute.name);
    check_clause(*clause, attribute, true);
    out.partition.push_back(*clause->values[0]);
  }
  check_all_known(clauses, key);
  std::vector<std::string_view> not_equal;  // sort attributes so far without an equality
  for (const model::KeyAttribute& attribute : key.sort) {
    const KeyClause* clause = find(clauses, attribute.name);
    if (clause == nullptr) {
      not_equal.push_back(attribute.name);
      continue;
    }
    check_clause(*clause, attribute, false);
    if (!not_equal.empty()) fail_gap(not_equal, attribute.name);
    if (clause->op == KeyOperator::kEqual) {
      out.sort_equal.push_back(*clause->values[0]);
      continue;
    }
    not_equal.push_back(attribute.name);
    SortRange range;
    range.op = clause->op;
    for (const ValuePtr& value : clause->values) range.values.push_back(*value);
    out.range = std::move(range);
  }
  return out;
}

bool KeyCondition::matches_sort(const std::vector<const Value*>& sort_values) const {
  for (size_t i = 0; i < sort_equal.size(); ++i) {
    if (!(*sort_values[i] == sort_equal[i])) return false;
  }
  if (!range) return true;
  const Value& value = *sort_values[sort_equal.size()];
  const Value& bound = range->values[0];
  switch (range->op) {
    case KeyOperator::kLess:
      return model::compare_scalars(value, bound) < 0;
    case KeyOperator::kLessEqual:
      return model::compare_scalars(value, bound) <= 0;
    case KeyOperator::kGreater:
      return model::compare_scalars(value, bound) > 0;
    case KeyOperator::kGreaterEqual:
      return model::compare_scalars(value, bound) >= 0;
    case KeyOperator::kBetween:
      return model::compare_scalars(value, bound) >= 0 &&
             model::compare_scalars(value, range->values[1]) <= 0;
    case KeyOperator::kBeginsWith:
      return value.is(Type::kString) ? value.as_string().starts_with(bound.as_string())
                                     : value.as_binary().starts_with(bound.as_binary());
    default:
      return value == bound;
  }
}

}  // namespace stator::expr
