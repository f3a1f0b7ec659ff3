#include "expr/legacy.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "model/error.h"

namespace stator::expr {
namespace {

using model::Type;
using model::Value;

constexpr std::string_view kInvalid = "One or more parameter values were invalid: ";

[[noreturn]] void fail(const std::string& problem) {
  invalid(std::string(kInvalid) + problem);
}

// The facts about one operator: how many values it takes, and of which types.
enum class Accepts : uint8_t { kAny, kScalars, kContainable, kPrefixes };
struct OperatorFact {
  std::string_view name;
  size_t min_values;
  size_t max_values;
  Accepts accepts;
};
constexpr size_t kMany = static_cast<size_t>(-1);
constexpr std::array<OperatorFact, 13> kOperators = {{
    {"EQ", 1, 1, Accepts::kAny},
    {"NE", 1, 1, Accepts::kAny},
    {"IN", 1, kMany, Accepts::kScalars},
    {"LE", 1, 1, Accepts::kScalars},
    {"LT", 1, 1, Accepts::kScalars},
    {"GE", 1, 1, Accepts::kScalars},
    {"GT", 1, 1, Accepts::kScalars},
    {"BETWEEN", 2, 2, Accepts::kScalars},
    {"NOT_NULL", 0, 0, Accepts::kAny},
    {"NULL", 0, 0, Accepts::kAny},
    {"CONTAINS", 1, 1, Accepts::kContainable},
    {"NOT_CONTAINS", 1, 1, Accepts::kContainable},
    {"BEGINS_WITH", 1, 1, Accepts::kPrefixes},
}};

const OperatorFact& fact(ComparisonOperator op) {
  return kOperators[static_cast<size_t>(op)];
}

bool accepts(Accepts accepted, Type type) {
  switch (accepted) {
    case Accepts::kAny:
      return true;
    case Accepts::kScalars:
      return type == Type::kString || type == Type::kNumber || type == Type::kBinary;
    case Accepts::kContainable:
      return type < Type::kMap;
    case Accepts::kPrefixes:
      return type == Type::kString || type == Type::kBinary;
  }
  return false;
}

void check_arguments(ComparisonOperator op, const std::vector<Value>& values) {
  const OperatorFact& known = fact(op);
  if (values.size() < known.min_values || values.size() > known.max_values) {
    fail("Invalid number of argument(s) for the " + std::string(known.name) +
         " ComparisonOperator");
  }
  for (const Value& value : values) {
    if (value.type() != values[0].type())
      fail("AttributeValues inside AttributeValueList must be of same type");
  }
  for (const Value& value : values) {
    if (!accepts(known.accepts, value.type())) {
      fail("ComparisonOperator " + std::string(known.name) + " is not valid for " +
           std::string(model::type_name(value.type())) + " AttributeValue type");
    }
  }
  if (op == ComparisonOperator::kBetween && model::compare_scalars(values[0], values[1]) > 0) {
    invalid(
        "The BETWEEN condition was provided a range where the lower bound is greater than the "
        "upper bound");
  }
}

Condition condition_of(std::string name, ComparisonOperator op, std::vector<Value> values) {
  Path path(std::move(name));
  if (op == ComparisonOperator::kNull) return Condition::not_exists(std::move(path));
  if (op == ComparisonOperator::kNotNull) return Condition::exists(std::move(path));
  Operand attribute = Operand::of_path(std::move(path));
  std::vector<Operand> operands;
  operands.reserve(values.size());
  for (Value& value : values) operands.push_back(Operand::of_value(std::move(value)));
  const auto compare = [&](Condition::Kind kind) {
    return Condition::compare(kind, std::move(attribute), std::move(operands[0]));
  };
  switch (op) {
    case ComparisonOperator::kEq:
      return compare(Condition::Kind::kEqual);
    case ComparisonOperator::kNe:
      return compare(Condition::Kind::kNotEqual);
    case ComparisonOperator::kIn:
      return Condition::in(std::move(attribute), std::move(operands));
    case ComparisonOperator::kLe:
      return compare(Condition::Kind::kLessEqual);
    case ComparisonOperator::kLt:
      return compare(Condition::Kind::kLess);
    case ComparisonOperator::kGe:
      return compare(Condition::Kind::kGreaterEqual);
    case ComparisonOperator::kGt:
      return compare(Condition::Kind::kGreater);
    case ComparisonOperator::kBetween:
      return Condition::between(std::move(attribute), std::move(operands[0]),
                                std::move(operands[1]));
    case ComparisonOperator::kContains:
      return compare(Condition::Kind::kContains);
    case ComparisonOperator::kNotContains:
      return compare(Condition::Kind::kNotContains);
    default:
      return compare(Condition::Kind::kBeginsWith);
  }
}

Condition combine(std::vector<Condition> conditions, std::optional<ConditionalOperator> op) {
  if (conditions.size() == 1) return std::move(conditions[0]);
  if (conditions.empty()) return Condition::always(true);
  return op == ConditionalOperator::kOr ? Condition::any_of(std::move(conditions))
                                        : Condition::all_of(std::move(conditions));
}

void check_expected(const ExpectedAttribute& expected) {
  const std::string for_attribute = " for Attribute: " + expected.name;
  if (expected.values && expected.value) {
    fail("Value and AttributeValueList cannot be used together" + for_attribute);
  }
  if (expected.op) {
    if (expected.exists)
      fail("Exists and ComparisonOperator cannot be used together" + for_attribute);
    const bool takes_values = fact(*expected.op).max_values > 0;
    if (takes_values && !expected.values && !expected.value) {
      fail("Value or AttributeValueList must be used with ComparisonOperator: " +
           std::string(operator_name(*expected.op)) + for_attribute);
    }
    if (expected.value) {
      check_arguments(*expected.op, {*expected.value});
    } else {
      check_arguments(*expected.op, expected.values.value_or(std::vector<Value>()));
    }
    return;
  }
  if (expected.values)
    fail("AttributeValueList can only be used with a ComparisonOperator" + for_attribute);
  if (expected.exists.value_or(true)) {
    if (!expected.value) {
      fail(std::string("Value must be provided when Exists is ") +
           (expected.exists ? "true" : "null") + for_attribute);
    }
  } else if (expected.value) {
    fail("Value cannot be used when Exists is false" + for_attribute);
  }
}

Condition condition_of(ExpectedAttribute expected) {
  if (expected.op) {
    std::vector<Value> values = std::move(expected.values).value_or(std::vector<Value>());
    if (expected.value) values.push_back(std::move(*expected.value));
    return condition_of(std::move(expected.name), *expected.op, std::move(values));
  }
  if (!expected.value) return Condition::not_exists(Path(std::move(expected.name)));
  std::vector<Value> values;
  values.push_back(std::move(*expected.value));
  return condition_of(std::move(expected.name), ComparisonOperator::kEq, std::move(values));
}

void check_update(const AttributeUpdate& update) {
  const auto action = update.action.value_or(AttributeUpdate::Action::kPut);
  if (!update.value) {
    if (action != AttributeUpdate::Action::kDelete) {
      fail("Only DELETE action is allowed when no attribute value is specified");
    }
    return;
  }
  const Type type = update.value->type();
  if (action == AttributeUpdate::Action::kDelete && type < Type::kStringSet) {
    fail("DELETE action with value is not supported for the type " +
         std::string(model::type_name(type)));
  }
  const bool addable = type >= Type::kStringSet || type == Type::kNumber || type == Type::kList;
  if (action == AttributeUpdate::Action::kAdd && !addable) {
    fail("ADD action is not supported for the type " + std::string(model::type_name(type)));
  }
}

KeyOperator key_operator(ComparisonOperator op) {
  switch (op) {
    case ComparisonOperator::kEq:
      return KeyOperator::kEqual;
    case ComparisonOperator::kLe:
      return KeyOperator::kLessEqual;
    case ComparisonOperator::kLt:
      return KeyOperator::kLess;
    case ComparisonOperator::kGe:
      return KeyOperator::kGreaterEqual;
    case ComparisonOperator::kGt:
      return KeyOperator::kGreater;
    case ComparisonOperator::kBetween:
      return KeyOperator::kBetween;
    case ComparisonOperator::kBeginsWith:
      return KeyOperator::kBeginsWith;
    default:
      return KeyOperator::kNotIndexable;
  }
}

}  // namespace

std::string_view operator_name(ComparisonOperator op) {
  return fact(op).name;
}

std::optional<ComparisonOperator> parse_comparison_operator(std::string_view name) {
  for (size_t i = 0; i < kOperators.size(); ++i) {
    if (kOperators[i].name == name) return static_cast<ComparisonOperator>(i);
  }
  return std::nullopt;
}

void check_conditional_operator(std::optional<ConditionalOperator> op, size_t count) {
  if (!op) return;
  if (count == 0) invalid("ConditionalOperator cannot be used without Filter or Expected");
  if (count == 1) {
    invalid(
        "ConditionalOperator can only be used when Filter or Expected has two or more elements");
  }
}

Condition expected_condition(std::vector<ExpectedAttribute> expected,
                             std::optional<ConditionalOperator> op) {
  for (const ExpectedAttribute& one : expected) check_expected(one);
  std::vector<Condition> conditions;
  conditions.reserve(expected.size());
  for (ExpectedAttribute& one : expected) conditions.push_back(condition_of(std::move(one)));
  return combine(std::move(conditions), op);
}

Condition filter_condition(std::vector<LegacyCondition> conditions,
                           std::optional<ConditionalOperator> op) {
  for (const LegacyCondition& one : conditions) check_arguments(one.op, one.values);
  std::vector<Condition> out;
  out.reserve(conditions.size());
  for (LegacyCondition& one : conditions) {
    out.push_back(condition_of(std::move(one.name), one.op, std::move(one.values)));
  }
  return combine(std::move(out), op);
}

Update attribute_updates(std::vector<AttributeUpdate> updates) {
  for (const AttributeUpdate& one : updates) check_update(one);
  std::vector<UpdateAction> actions;
  actions.reserve(updates.size());
  for (AttributeUpdate& one : updates) {
    Path path(std::move(one.name));
    if (!one.value) {
      actions.push_back(UpdateAction::remove(std::move(path)));
      continue;
    }
    auto value = std::make_shared<const Value>(std::move(*one.value));
    switch (one.action.value_or(AttributeUpdate::Action::kPut)) {
      case AttributeUpdate::Action::kPut:
        actions.push_back(UpdateAction::set(std::move(path), Operand::of_value(std::move(value))));
        break;
      case AttributeUpdate::Action::kAdd:
        actions.push_back(UpdateAction::add(std::move(path), std::move(value)));
        break;
      case AttributeUpdate::Action::kDelete:
        actions.push_back(UpdateAction::erase(std::move(path), std::move(value)));
        break;
    }
  }
  return Update(std::move(actions), Update::Origin::kLegacy);
}

std::vector<KeyClause> key_conditions(std::vector<LegacyCondition> conditions) {
  for (const LegacyCondition& one : conditions) check_arguments(one.op, one.values);
  if (conditions.empty()) invalid("Conditions can be of length 1 or 2 only");
  std::vector<KeyClause> clauses;
  clauses.reserve(conditions.size());
  for (LegacyCondition& one : conditions) {
    KeyClause clause;
    clause.name = std::move(one.name);
    clause.op = key_operator(one.op);
    for (Value& value : one.values)
      clause.values.push_back(std::make_shared<const Value>(std::move(value)));
    clauses.push_back(std::move(clause));
  }
  return clauses;
}

Projection attributes_to_get(std::vector<std::string> names) {
  std::vector<Path> paths;
  std::set<std::string_view> seen;
  paths.reserve(names.size());
  for (const std::string& name : names) {
    if (!seen.insert(name).second) fail("Duplicate value in attribute name: " + name);
  }
  for (std::string& name : names) paths.emplace_back(std::move(name));
  return Projection(std::move(paths));
}

}  // namespace stator::expr
