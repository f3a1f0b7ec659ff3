// Bound trees: what is evaluated. Paths and values are resolved. They come from an expression's
// text (bind.h), from legacy parameters (legacy.h), or are built by hand, as PartiQL does. Plain
// data; threads may share one read-only.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "expr/path.h"
#include "model/value.h"

namespace stator::expr {

// Shared because one value of a request stands in several places of several trees, and may be
// hundreds of kilobytes.
using ValuePtr = std::shared_ptr<const model::Value>;

struct Operand {
  enum class Kind : uint8_t {
    kPath,
    kValue,
    kSize,         // size(argument)
    kIfNotExists,  // if_not_exists(path, argument); updates only, as are the following
    kListAppend,
    kPlus,
    kMinus,
  };

  Kind kind = Kind::kValue;
  Path path;                       // kPath
  ValuePtr value;                  // kValue
  std::vector<Operand> arguments;  // the others, in order

  static Operand of_path(Path path);
  static Operand of_value(model::Value value);
  static Operand of_value(ValuePtr value);
  static Operand of_call(Kind kind, std::vector<Operand> arguments);
};

struct Condition {
  enum class Kind : uint8_t {
    kAnd,  // all of the children
    kOr,   // any of the children
    kNot,  // the child
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kBetween,  // operands: value, lower, upper
    kIn,       // operands: value, then the choices
    kAttributeExists,
    kAttributeNotExists,
    kAttributeType,  // operands: path; the type is `type`
    kBeginsWith,
    kContains,
    kNotContains,  // legacy NOT_CONTAINS: false if the attribute is missing or of a type that
                   // cannot contain
    kConstant,     // `constant`
  };

  Kind kind = Kind::kConstant;
  bool constant = true;
  model::Type type = model::Type::kString;
  std::vector<Condition> children;
  std::vector<Operand> operands;

  static Condition all_of(std::vector<Condition> children);
  static Condition any_of(std::vector<Condition> children);
  static Condition negation(Condition child);
  static Condition compare(Kind kind, Operand left, Operand right);
  static Condition between(Operand value, Operand lower, Operand upper);
  static Condition in(Operand value, std::vector<Operand> choices);
  static Condition exists(Path path);
  static Condition not_exists(Path path);
  static Condition has_type(Path path, model::Type type);
  static Condition begins_with(Operand value, Operand prefix);
  static Condition contains(Operand value, Operand part);
  static Condition always(bool truth);
};

// Calls visit(const Path&) for every path of the tree, in the order written.
template <typename Visit>
void for_each_path(const Operand& operand, Visit&& visit) {
  if (operand.kind == Operand::Kind::kPath) visit(operand.path);
  for (const Operand& argument : operand.arguments) for_each_path(argument, visit);
}
template <typename Visit>
void for_each_path(const Condition& condition, Visit&& visit) {
  for (const Operand& operand : condition.operands) for_each_path(operand, visit);
  for (const Condition& child : condition.children) for_each_path(child, visit);
}

// Whether `item` satisfies the condition. A comparison with something missing or of another type is
// false (<> is true). An item that does not exist is an empty one. Allocates nothing except to
// compare size().
bool evaluate(const Condition& condition, const model::Item& item);

}  // namespace stator::expr
