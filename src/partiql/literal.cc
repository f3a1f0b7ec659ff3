#include "partiql/literal.h"

#include <algorithm>
#include <optional>

#include "model/error.h"
#include "model/number.h"

namespace stator::partiql {

namespace {

using Kind = Expr::Kind;
using model::Number;
using model::Value;

constexpr std::string_view kInvalid = "One or more parameter values were invalid: ";
// Steps from an attribute's value to a value in it.
constexpr size_t kMaxSteps = 31;

// Where in an attribute's value the reading is. Kept as steps and printed only into messages, so
// that reading stays linear.
class Place {
 public:
  struct Step {
    const std::string* name;
    size_t index;
  };
  void enter(const std::string& name) { steps_.push_back({&name, 0}); }
  void enter(size_t index) { steps_.push_back({nullptr, index}); }
  void leave() { steps_.pop_back(); }
  size_t depth() const { return steps_.size(); }
  std::string to_string() const {
    std::string text = "root";
    for (const Step& step : steps_) {
      text += step.name != nullptr ? "." + *step.name : "[" + std::to_string(step.index) + "]";
    }
    return text;
  }

 private:
  std::vector<Step> steps_;
};

[[noreturn]] void unsupported(const Expr& expr, const Place& place) {
  invalid("Unsupported data type: " + node_name(expr) + " under key " + place.to_string() + " at " +
          expr.at.to_string());
}

Number number(const Expr& expr, const Place& place) {
  Number::ParseError error = Number::ParseError::kNone;
  if (const auto parsed = Number::parse(expr.text, &error)) return *parsed;
  switch (error) {
    case Number::ParseError::kUnderflow:
      invalid(
          "Number underflow. Attempting to store a number with magnitude smaller than supported "
          "range under " +
          place.to_string());
    case Number::ParseError::kTooManyDigits:
      invalid("Attempting to store more than 38 significant digits in a Number under " +
              place.to_string());
    default:
      invalid(
          "Number overflow. Attempting to store a number with magnitude larger than supported "
          "range under " +
          place.to_string());
  }
}

std::string shown(const std::vector<Expr>& members) {
  std::string text = "[";
  for (const Expr& member : members) {
    if (text.size() > 1) text += ", ";
    text += member.text;
  }
  return text + "]";
}

template <typename Member>
bool has_duplicates(std::vector<Member> members) {
  std::sort(members.begin(), members.end());
  return std::adjacent_find(members.begin(), members.end()) != members.end();
}

Value string_set(const Expr& bag) {
  std::vector<std::string> members;
  for (const Expr& member : bag.children) members.push_back(member.text);
  if (has_duplicates(members)) {
    invalid(std::string(kInvalid) + "Input collection " + shown(bag.children) +
            " contains duplicates.");
  }
  return Value::string_set(std::move(members));
}

Value number_set(const Expr& bag, Place& place) {
  std::vector<Number> members;
  for (size_t i = 0; i < bag.children.size(); ++i) {
    place.enter(i);
    members.push_back(number(bag.children[i], place));
    place.leave();
  }
  if (has_duplicates(members)) {
    invalid(std::string(kInvalid) + "Input collection " + shown(bag.children) +
            " contains duplicates! under " + place.to_string());
  }
  return Value::number_set(std::move(members));
}

Value set(const Expr& bag, Place& place) {
  if (bag.children.empty()) invalid("Empty bags are not supported");
  for (size_t i = 0; i < bag.children.size(); ++i) {
    if (!bag.children[i].is(Kind::kParameter)) continue;
    place.enter(i);
    unsupported(bag.children[i], place);
  }
  const auto all = [&](Kind kind) {
    return std::all_of(bag.children.begin(), bag.children.end(),
                       [kind](const Expr& member) { return member.is(kind); });
  };
  if (all(Kind::kString)) return string_set(bag);
  if (all(Kind::kNumber)) return number_set(bag, place);
  invalid("Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags");
}

Value read(const Expr& expr, Place& place) {
  if (place.depth() > kMaxSteps) {
    invalid("Nesting Levels have exceeded supported limits under " + place.to_string());
  }
  switch (expr.kind) {
    case Kind::kString:
      return Value::string(expr.text);
    case Kind::kNumber:
      return Value::number(number(expr, place));
    case Kind::kBoolean:
      return Value::boolean(expr.truth);
    case Kind::kNull:
      return Value::null();
    case Kind::kBag:
      return set(expr, place);
    case Kind::kList: {
      model::List list;
      list.reserve(expr.children.size());
      for (size_t i = 0; i < expr.children.size(); ++i) {
        place.enter(i);
        list.push_back(read(expr.children[i], place));
        place.leave();
      }
      return Value::list(std::move(list));
    }
    case Kind::kStruct: {
      model::Map map;
      for (size_t i = 0; i + 1 < expr.children.size(); i += 2) {
        const Expr& name = expr.children[i];
        if (!name.is(Kind::kString)) unsupported(name, place);
        place.enter(name.text);
        map.set(name.text, read(expr.children[i + 1], place));
        place.leave();
      }
      return Value::map(std::move(map));
    }
    default:
      unsupported(expr, place);
  }
}

[[noreturn]] void bad_index(const Expr& number) {
  invalid("List index is not within the allowable range; index: [" + number.text + "] at " +
          number.at.to_string());
}

uint32_t list_index(const Expr& number) {
  const auto parsed = Number::parse(number.text);
  const auto whole = parsed ? parsed->to_int64() : std::nullopt;
  if (!whole || *whole < 0 || *whole > INT32_MAX) bad_index(number);
  return static_cast<uint32_t>(*whole);
}

}  // namespace

Value literal(const Expr& expr) {
  Place place;
  return read(expr, place);
}

bool is_value(const Expr& expr) {
  switch (expr.kind) {
    case Kind::kString:
    case Kind::kNumber:
    case Kind::kBoolean:
    case Kind::kNull:
    case Kind::kList:
    case Kind::kBag:
    case Kind::kStruct:
    case Kind::kParameter:
      return true;
    default:
      return false;
  }
}

expr::ValuePtr value_of(const Expr& expr, const Parameters& parameters) {
  if (!expr.is(Kind::kParameter)) return std::make_shared<const Value>(literal(expr));
  if (expr.parameter >= parameters.size()) {
    invalid("Number of parameters in request and statement don't match.");
  }
  return std::make_shared<const Value>(parameters[expr.parameter]);
}

bool is_path(const Expr& expr) {
  return expr.is(Kind::kName) || (expr.is(Kind::kPath) && expr.children[0].is(Kind::kName));
}

expr::Path document_path(const Expr& expr) {
  if (expr.is(Kind::kName)) return expr::Path(expr.text);
  if (!is_path(expr)) invalid("Unexpected path component at " + expr.at.to_string());
  expr::Path path(expr.children[0].text);
  for (size_t i = 1; i < expr.children.size(); ++i) {
    const Expr& step = expr.children[i];
    if (step.is(Kind::kName)) {
      path.append(expr::PathElement::of_name(step.text));
      continue;
    }
    const Expr* inside = step.is(Kind::kIndex) ? &step.children[0] : nullptr;
    if (inside != nullptr && inside->is(Kind::kNumber)) {
      path.append(expr::PathElement::of_index(list_index(*inside)));
    } else if (inside != nullptr && inside->is(Kind::kString)) {
      path.append(expr::PathElement::of_name(inside->text));
    } else {
      invalid("Unexpected path component at " + step.at.to_string());
    }
  }
  return path;
}

std::string node_name(const Expr& expr) {
  switch (expr.kind) {
    case Kind::kName:
      return "Id";
    case Kind::kPath:
    case Kind::kIndex:
      return "Path";
    case Kind::kStar:
      return "PathWildcard";
    case Kind::kString:
    case Kind::kNumber:
    case Kind::kBoolean:
    case Kind::kNull:
      return "Lit";
    case Kind::kMissing:
      return "Missing";
    case Kind::kParameter:
      return "Parameter";
    case Kind::kList:
      return "List";
    case Kind::kBag:
      return "Bag";
    case Kind::kStruct:
      return "Struct";
    case Kind::kCall:
      return expr.text;
    case Kind::kNot:
      return "Not";
    case Kind::kSign:
      return expr.text == "-" ? "Neg" : "Pos";
    case Kind::kAnd:
      return "And";
    case Kind::kOr:
      return "Or";
    case Kind::kCompare:
      if (expr.text == "=") return "Eq";
      if (expr.text == "<>") return "Ne";
      if (expr.text == "<") return "Lt";
      if (expr.text == "<=") return "Lte";
      return expr.text == ">" ? "Gt" : "Gte";
    case Kind::kArithmetic:
      if (expr.text == "+") return "Plus";
      if (expr.text == "-") return "Minus";
      if (expr.text == "*") return "Times";
      if (expr.text == "/") return "Divide";
      return expr.text == "%" ? "Modulo" : "Concat";
    case Kind::kBetween:
      return "Between";
    case Kind::kIn:
      return "InCollection";
    case Kind::kLike:
      return "Like";
    case Kind::kIs:
      return "IsType";
    case Kind::kSetOperator:
      return "BagOp";
    case Kind::kStatement:
      return "Select";
  }
  return {};
}

}  // namespace stator::partiql
