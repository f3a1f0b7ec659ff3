#include "expr/ast.h"

namespace stator::expr {
namespace {

Condition function_condition(Condition::Kind kind, std::vector<Operand> operands) {
  Condition condition;
  condition.kind = kind;
  condition.operands = std::move(operands);
  return condition;
}

// std::initializer_list would copy.
template <typename... Items>
auto list_of(Items... items) {
  std::vector<std::common_type_t<Items...>> list;
  list.reserve(sizeof...(items));
  (list.push_back(std::move(items)), ...);
  return list;
}

}  // namespace

Operand Operand::of_path(Path path) {
  Operand operand;
  operand.kind = Kind::kPath;
  operand.path = std::move(path);
  return operand;
}

Operand Operand::of_value(model::Value value) {
  return of_value(std::make_shared<const model::Value>(std::move(value)));
}

Operand Operand::of_value(ValuePtr value) {
  Operand operand;
  operand.kind = Kind::kValue;
  operand.value = std::move(value);
  return operand;
}

Operand Operand::of_call(Kind kind, std::vector<Operand> arguments) {
  Operand operand;
  operand.kind = kind;
  operand.arguments = std::move(arguments);
  return operand;
}

Condition Condition::all_of(std::vector<Condition> children) {
  Condition condition;
  condition.kind = Kind::kAnd;
  condition.children = std::move(children);
  return condition;
}

Condition Condition::any_of(std::vector<Condition> children) {
  Condition condition;
  condition.kind = Kind::kOr;
  condition.children = std::move(children);
  return condition;
}

Condition Condition::negation(Condition child) {
  Condition condition;
  condition.kind = Kind::kNot;
  condition.children.push_back(std::move(child));
  return condition;
}

Condition Condition::compare(Kind kind, Operand left, Operand right) {
  return function_condition(kind, list_of(std::move(left), std::move(right)));
}

Condition Condition::between(Operand value, Operand lower, Operand upper) {
  return function_condition(Kind::kBetween,
                            list_of(std::move(value), std::move(lower), std::move(upper)));
}

Condition Condition::in(Operand value, std::vector<Operand> choices) {
  choices.insert(choices.begin(), std::move(value));
  return function_condition(Kind::kIn, std::move(choices));
}

Condition Condition::exists(Path path) {
  return function_condition(Kind::kAttributeExists, list_of(Operand::of_path(std::move(path))));
}

Condition Condition::not_exists(Path path) {
  return function_condition(Kind::kAttributeNotExists, list_of(Operand::of_path(std::move(path))));
}

Condition Condition::has_type(Path path, model::Type type) {
  Condition condition =
      function_condition(Kind::kAttributeType, list_of(Operand::of_path(std::move(path))));
  condition.type = type;
  return condition;
}

Condition Condition::begins_with(Operand value, Operand prefix) {
  return function_condition(Kind::kBeginsWith, list_of(std::move(value), std::move(prefix)));
}

Condition Condition::contains(Operand value, Operand part) {
  return function_condition(Kind::kContains, list_of(std::move(value), std::move(part)));
}

Condition Condition::always(bool truth) {
  Condition condition;
  condition.constant = truth;
  return condition;
}

}  // namespace stator::expr
