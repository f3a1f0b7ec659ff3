#include <algorithm>
#include <optional>
#include <string_view>

#include "expr/ast.h"

namespace stator::expr {
namespace {

using model::Item;
using model::Type;
using model::Value;

bool is_ordered(Type type) {
  return type == Type::kString || type == Type::kNumber || type == Type::kBinary;
}

// Characters as the service counts them: UTF-16 code units.
size_t utf16_length(std::string_view text) {
  size_t length = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) != 0x80) length += byte >= 0xF0 ? 2 : 1;
  }
  return length;
}

std::optional<size_t> size_of(const Value& value) {
  switch (value.type()) {
    case Type::kString:
      return utf16_length(value.as_string());
    case Type::kBinary:
      return value.as_binary().size();
    case Type::kMap:
      return value.as_map().size();
    case Type::kList:
      return value.as_list().size();
    case Type::kStringSet:
      return value.as_string_set().size();
    case Type::kNumberSet:
      return value.as_number_set().size();
    case Type::kBinarySet:
      return value.as_binary_set().size();
    default:
      return std::nullopt;
  }
}

// The value of an operand, or null. `scratch` holds it if it has to be computed.
const Value* resolve(const Operand& operand, const Item& item, std::optional<Value>& scratch) {
  switch (operand.kind) {
    case Operand::Kind::kPath:
      return operand.path.find(item);
    case Operand::Kind::kValue:
      return operand.value.get();
    case Operand::Kind::kSize: {
      std::optional<Value> inner;
      const Value* argument = resolve(operand.arguments[0], item, inner);
      if (argument == nullptr) return nullptr;
      const std::optional<size_t> size = size_of(*argument);
      if (!size) return nullptr;
      scratch = Value::number(model::Number::from_int(static_cast<int64_t>(*size)));
      return &*scratch;
    }
    default:
      return nullptr;  // functions of updates; never in a condition
  }
}

// nullopt: not comparable.
std::optional<std::strong_ordering> order(const Value& a, const Value& b) {
  if (a.type() != b.type() || !is_ordered(a.type())) return std::nullopt;
  return model::compare_scalars(a, b);
}

bool satisfies(Condition::Kind kind, std::strong_ordering ordering) {
  switch (kind) {
    case Condition::Kind::kLess:
      return ordering < 0;
    case Condition::Kind::kLessEqual:
      return ordering <= 0;
    case Condition::Kind::kGreater:
      return ordering > 0;
    case Condition::Kind::kGreaterEqual:
      return ordering >= 0;
    default:
      return false;
  }
}

template <typename Member>
bool has_member(const std::vector<Member>& sorted, const Member& wanted) {
  return std::binary_search(sorted.begin(), sorted.end(), wanted);
}

bool contains(const Value& whole, const Value& part) {
  switch (whole.type()) {
    case Type::kString:
      return part.is(Type::kString) &&
             whole.as_string().find(part.as_string()) != std::string::npos;
    case Type::kBinary:
      return part.is(Type::kBinary) &&
             whole.as_binary().find(part.as_binary()) != std::string::npos;
    case Type::kStringSet:
      return part.is(Type::kString) && has_member(whole.as_string_set(), part.as_string());
    case Type::kNumberSet:
      return part.is(Type::kNumber) && has_member(whole.as_number_set(), part.as_number());
    case Type::kBinarySet:
      return part.is(Type::kBinary) && has_member(whole.as_binary_set(), part.as_binary());
    case Type::kList:
      return std::find(whole.as_list().begin(), whole.as_list().end(), part) !=
             whole.as_list().end();
    default:
      return false;
  }
}

bool begins_with(const Value& whole, const Value& prefix) {
  if (whole.type() != prefix.type()) return false;
  if (whole.is(Type::kString)) return whole.as_string().starts_with(prefix.as_string());
  if (whole.is(Type::kBinary)) return whole.as_binary().starts_with(prefix.as_binary());
  return false;
}

bool is_between(const Condition& condition, const Item& item, const Value& value) {
  std::optional<Value> scratch;
  const Value* lower = resolve(condition.operands[1], item, scratch);
  if (lower == nullptr) return false;
  const auto above = order(value, *lower);
  if (!above || *above < 0) return false;
  const Value* upper = resolve(condition.operands[2], item, scratch);
  if (upper == nullptr) return false;
  const auto below = order(value, *upper);
  return below && *below <= 0;
}

bool is_in(const Condition& condition, const Item& item, const Value& value) {
  std::optional<Value> scratch;
  for (size_t i = 1; i < condition.operands.size(); ++i) {
    const Value* choice = resolve(condition.operands[i], item, scratch);
    if (choice != nullptr && *choice == value) return true;
  }
  return false;
}

}  // namespace

bool evaluate(const Condition& condition, const Item& item) {
  using Kind = Condition::Kind;
  switch (condition.kind) {
    case Kind::kAnd:
      return std::all_of(condition.children.begin(), condition.children.end(),
                         [&](const Condition& child) { return evaluate(child, item); });
    case Kind::kOr:
      return std::any_of(condition.children.begin(), condition.children.end(),
                         [&](const Condition& child) { return evaluate(child, item); });
    case Kind::kNot:
      return !evaluate(condition.children[0], item);
    case Kind::kConstant:
      return condition.constant;
    default:
      break;
  }

  std::optional<Value> first_scratch;
  const Value* first = resolve(condition.operands[0], item, first_scratch);
  switch (condition.kind) {
    case Kind::kAttributeExists:
      return first != nullptr;
    case Kind::kAttributeNotExists:
      return first == nullptr;
    case Kind::kNotEqual:
      break;  // the only one that is true of what is missing
    default:
      if (first == nullptr) return false;
  }
  if (condition.kind == Kind::kAttributeType) return first->is(condition.type);
  if (condition.kind == Kind::kBetween) return is_between(condition, item, *first);
  if (condition.kind == Kind::kIn) return is_in(condition, item, *first);

  std::optional<Value> second_scratch;
  const Value* second = resolve(condition.operands[1], item, second_scratch);
  if (condition.kind == Kind::kNotEqual)
    return first == nullptr || second == nullptr || !(*first == *second);
  if (second == nullptr) return false;
  switch (condition.kind) {
    case Kind::kEqual:
      return *first == *second;
    case Kind::kBeginsWith:
      return begins_with(*first, *second);
    case Kind::kContains:
      return contains(*first, *second);
    case Kind::kNotContains:
      return !contains(*first, *second);
    default: {
      const auto ordering = order(*first, *second);
      return ordering && satisfies(condition.kind, *ordering);
    }
  }
}

}  // namespace stator::expr
