#include "expr/bind.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "expr/expr.h"
#include "expr/path_conflicts.h"
#include "model/error.h"

namespace stator::expr {
namespace {

using model::Type;
using model::Value;

// The sets of types that attribute_type's messages print, in the orders in which the service prints
// them.
constexpr std::string_view kTypeNamesCurrent = "{S,SS,N,NS,B,BS,BOOL,NULL,L,M}";
constexpr std::string_view kTypeNamesOlder = "{B,NULL,SS,BOOL,L,BS,N,NS,S,M}";
constexpr std::string_view kAnyTypeCurrent =
    "{S,SS,N,NS,B,BS,BOOL,NULL,L,M,HD,DOUBLE,FLOAT,HDS,FS,DOUBLESET,DICT,DECIMAL,INT,DECIMALSET,"
    "INTSET}";
constexpr std::string_view kAnyTypeOlder = "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}";

std::optional<Type> find_type(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(Type::kBinarySet); ++i) {
    const auto type = static_cast<Type>(i);
    if (model::type_name(type) == name) return type;
  }
  return std::nullopt;
}

// As the messages about ADD and DELETE name types.
std::string_view long_type_name(Type type, Wording wording) {
  switch (type) {
    case Type::kString:
      return "STRING";
    case Type::kNumber:
      return "NUMBER";
    case Type::kBinary:
      return "BINARY";
    case Type::kBool:
      return wording == Wording::kCurrent ? "BOOL" : "BOOLEAN";
    case Type::kNull:
      return "NULL";
    case Type::kMap:
      return "MAP";
    case Type::kList:
      return "LIST";
    case Type::kStringSet:
      return "STRING_SET";
    case Type::kNumberSet:
      return "NUMBER_SET";
    case Type::kBinarySet:
      return "BINARY_SET";
  }
  return {};
}

bool is_ordered(Type type) {
  return type == Type::kString || type == Type::kNumber || type == Type::kBinary;
}

bool has_size(Type type) {
  return type != Type::kNumber && type != Type::kBool && type != Type::kNull;
}

std::string base64(std::string_view bytes) {
  static constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

// A bound of BETWEEN, as its messages print it.
std::string bound_text(const Value& value) {
  std::string out = "AttributeValue: {";
  out += model::type_name(value.type());
  out += ':';
  if (value.is(Type::kString)) out += value.as_string();
  if (value.is(Type::kNumber)) out += value.as_number().to_string();
  if (value.is(Type::kBinary)) out += base64(value.as_binary());
  out += '}';
  return out;
}

std::string_view comparison_name(Condition::Kind kind) {
  switch (kind) {
    case Condition::Kind::kEqual:
      return "=";
    case Condition::Kind::kNotEqual:
      return "<>";
    case Condition::Kind::kLess:
      return "<";
    case Condition::Kind::kLessEqual:
      return "<=";
    case Condition::Kind::kGreater:
      return ">";
    default:
      return ">=";
  }
}

// The type of an operand as far as it is known without an item.
std::optional<Type> known_type(const Operand& operand) {
  if (operand.kind == Operand::Kind::kValue) return operand.value->type();
  if (operand.kind == Operand::Kind::kSize) return Type::kNumber;
  return std::nullopt;
}

class Binder {
 public:
  Binder(ExpressionKind kind, Bindings& bindings) : kind_(kind), bindings_(bindings) {}

  Path path(const ParsedPath& parsed) {
    std::vector<PathElement> elements;
    elements.reserve(parsed.size());
    for (const ParsedElement& element : parsed) {
      switch (element.kind) {
        case ParsedElement::Kind::kName:
          elements.push_back(PathElement::of_name(element.text));
          break;
        case ParsedElement::Kind::kPlaceholder:
          elements.push_back(PathElement::of_name(name(element.text)));
          break;
        case ParsedElement::Kind::kIndex:
          elements.push_back(PathElement::of_index(element.index));
          break;
      }
    }
    if (elements.size() > kMaxPathElements) {
      fail("The document path has too many nesting levels; nesting levels: " +
           std::to_string(elements.size()));
    }
    return Path(std::move(elements));
  }

  // Looks all names up, and only them.
  void check_names(const ParsedPath& parsed) {
    for (const ParsedElement& element : parsed) {
      if (element.kind == ParsedElement::Kind::kPlaceholder) name(element.text);
    }
  }
  void check_names(const ParsedOperand& operand) {
    check_names(operand.path);
    for (const ParsedOperand& argument : operand.arguments) check_names(argument);
  }

  Condition condition(const ParsedNode& node) {
    switch (node.kind) {
      case ParsedNode::Kind::kAnd:
        return Condition::all_of(conditions(node.children));
      case ParsedNode::Kind::kOr:
        return Condition::any_of(conditions(node.children));
      case ParsedNode::Kind::kNot:
        return Condition::negation(condition(node.children[0]));
      case ParsedNode::Kind::kCompare:
        return comparison(node);
      case ParsedNode::Kind::kBetween:
        return between(node);
      case ParsedNode::Kind::kIn:
        return in(node);
      case ParsedNode::Kind::kCall:
        return function_condition(node.operands[0]);
    }
    return {};
  }

  Operand operand(const ParsedOperand& parsed) {
    switch (parsed.kind) {
      case ParsedOperand::Kind::kPath:
        return Operand::of_path(path(parsed.path));
      case ParsedOperand::Kind::kValue:
        return Operand::of_value(value(parsed.text));
      case ParsedOperand::Kind::kPlus:
        return sum(Operand::Kind::kPlus, "+", parsed);
      case ParsedOperand::Kind::kMinus:
        return sum(Operand::Kind::kMinus, "-", parsed);
      case ParsedOperand::Kind::kCall:
        return call(parsed);
    }
    return {};
  }

  // The operand of ADD and DELETE.
  void check_action_operand(UpdateAction::Kind kind, Type type) const {
    if (type >= Type::kStringSet) return;
    const bool adds = kind == UpdateAction::Kind::kAdd;
    if (adds && type == Type::kNumber) return;
    const std::string action = adds ? "ADD" : "DELETE";
    // The current wording names the set of ADD for both.
    const std::string set = bindings_.wording() == Wording::kCurrent ? "ADD" : action;
    fail("Incorrect operand type for operator or function; operator: " + action +
         ", operand type: " + std::string(long_type_name(type, bindings_.wording())) +
         ", typeSet: ALLOWED_FOR_" + set + "_OPERAND");
  }

 private:
  [[noreturn]] void fail(std::string_view problem) const { invalid_expression(kind_, problem); }

  const std::string& name(const std::string& placeholder) {
    const std::string* attribute = bindings_.use_name(placeholder);
    if (attribute == nullptr) {
      fail(
          "An expression attribute name used in the document path is not defined; attribute "
          "name: " +
          placeholder);
    }
    return *attribute;
  }

  ValuePtr value(const std::string& placeholder) {
    ValuePtr found = bindings_.use_value(placeholder);
    if (found == nullptr) {
      fail("An expression attribute value used in expression is not defined; attribute value: " +
           placeholder);
    }
    return found;
  }

  std::vector<Operand> operands(const std::vector<ParsedOperand>& parsed) {
    std::vector<Operand> out;
    out.reserve(parsed.size());
    for (const ParsedOperand& one : parsed) out.push_back(operand(one));
    return out;
  }

  std::vector<Condition> conditions(const std::vector<ParsedNode>& nodes) {
    std::vector<Condition> out;
    out.reserve(nodes.size());
    for (const ParsedNode& node : nodes) out.push_back(condition(node));
    return out;
  }

  void check_type(std::string_view op, const Operand& operand, bool (*allowed)(Type)) const {
    const std::optional<Type> type = known_type(operand);
    if (!type || allowed(*type)) return;
    fail_type(op, model::type_name(*type));
  }
  [[noreturn]] void fail_type(std::string_view op, std::string_view type) const {
    fail("Incorrect operand type for operator or function; operator or function: " +
         std::string(op) + ", operand type: " + std::string(type));
  }

  // An attribute must not be compared with itself.
  void check_distinct(std::string_view op, const std::vector<Operand>& operands) const {
    if (operands[0].kind != Operand::Kind::kPath) return;
    for (size_t i = 1; i < operands.size(); ++i) {
      if (operands[i].kind != Operand::Kind::kPath || !(operands[i].path == operands[0].path))
        continue;
      fail(
          "The first operand must be distinct from the remaining operands for this operator or "
          "function; operator: " +
          std::string(op) + ", first operand: " + operands[0].path.to_string());
    }
  }

  void check_arity(const ParsedOperand& call) const {
    if (call.arguments.size() == function_arity(call.function)) return;
    fail("Incorrect number of operands for operator or function; operator or function: " +
         call.text + ", number of operands: " + std::to_string(call.arguments.size()));
  }

  void check_is_path(const ParsedOperand& call, const Operand& operand) const {
    if (operand.kind == Operand::Kind::kPath) return;
    fail("Operator or function requires a document path; operator or function: " + call.text);
  }

  static Condition with_operands(Condition::Kind kind, std::vector<Operand> operands) {
    Condition condition;
    condition.kind = kind;
    condition.operands = std::move(operands);
    return condition;
  }

  Condition comparison(const ParsedNode& node) {
    std::vector<Operand> bound = operands(node.operands);
    const std::string_view op = comparison_name(node.comparison);
    check_distinct(op, bound);
    if (node.comparison != Condition::Kind::kEqual &&
        node.comparison != Condition::Kind::kNotEqual) {
      for (const Operand& one : bound) check_type(op, one, is_ordered);
    }
    return with_operands(node.comparison, std::move(bound));
  }

  Condition between(const ParsedNode& node) {
    std::vector<Operand> bound = operands(node.operands);
    check_distinct("BETWEEN", bound);
    for (const Operand& one : bound) check_type("BETWEEN", one, is_ordered);
    if (bound[1].kind == Operand::Kind::kValue && bound[2].kind == Operand::Kind::kValue) {
      check_bounds(*bound[1].value, *bound[2].value);
    }
    return with_operands(Condition::Kind::kBetween, std::move(bound));
  }

  void check_bounds(const Value& lower, const Value& upper) const {
    const auto bounds = [&] {
      return "; lower bound operand: " + bound_text(lower) +
             ", upper bound operand: " + bound_text(upper);
    };
    if (lower.type() != upper.type()) {
      fail("The BETWEEN operator requires same data type for lower and upper bounds" + bounds());
    }
    if (model::compare_scalars(lower, upper) > 0) {
      fail("The BETWEEN operator requires upper bound to be greater than or equal to lower bound" +
           bounds());
    }
  }

  Condition in(const ParsedNode& node) {
    std::vector<Operand> bound = operands(node.operands);
    const size_t choices = bound.size() - 1;
    if (choices > kMaxInOperands) {
      fail("The IN operator is provided with too many operands; number of operands: " +
           std::to_string(choices));
    }
    check_distinct("IN", bound);
    return with_operands(Condition::Kind::kIn, std::move(bound));
  }

  Condition function_condition(const ParsedOperand& parsed) {
    std::vector<Operand> arguments = operands(parsed.arguments);
    check_arity(parsed);
    check_distinct(parsed.text, arguments);
    switch (parsed.function) {
      case Function::kAttributeExists:
        check_is_path(parsed, arguments[0]);
        return with_operands(Condition::Kind::kAttributeExists, std::move(arguments));
      case Function::kAttributeNotExists:
        check_is_path(parsed, arguments[0]);
        return with_operands(Condition::Kind::kAttributeNotExists, std::move(arguments));
      case Function::kAttributeType:
        return attribute_type(std::move(arguments));
      case Function::kBeginsWith:
        for (const Operand& one : arguments) {
          check_type("begins_with", one,
                     [](Type type) { return type == Type::kString || type == Type::kBinary; });
        }
        return with_operands(Condition::Kind::kBeginsWith, std::move(arguments));
      default:
        return with_operands(Condition::Kind::kContains, std::move(arguments));
    }
  }

  Condition attribute_type(std::vector<Operand> arguments) const {
    const bool current = bindings_.wording() == Wording::kCurrent;
    const std::optional<Type> given = known_type(arguments[1]);
    if (!given) fail_type("attribute_type", current ? kAnyTypeCurrent : kAnyTypeOlder);
    if (*given != Type::kString) fail_type("attribute_type", model::type_name(*given));
    const std::string& name = arguments[1].value->as_string();
    const std::optional<Type> wanted = find_type(name);
    if (!wanted) {
      fail("Invalid attribute type name found; type: " + name +
           ", valid types: " + std::string(current ? kTypeNamesCurrent : kTypeNamesOlder));
    }
    arguments.pop_back();
    Condition condition = with_operands(Condition::Kind::kAttributeType, std::move(arguments));
    condition.type = *wanted;
    return condition;
  }

  Operand sum(Operand::Kind kind, std::string_view op, const ParsedOperand& parsed) {
    std::vector<Operand> arguments = operands(parsed.arguments);
    for (const Operand& one : arguments) {
      check_type(op, one, [](Type type) { return type == Type::kNumber; });
    }
    return Operand::of_call(kind, std::move(arguments));
  }

  Operand call(const ParsedOperand& parsed) {
    std::vector<Operand> arguments = operands(parsed.arguments);
    check_arity(parsed);
    switch (parsed.function) {
      case Function::kSize:
        check_type("size", arguments[0], has_size);
        return Operand::of_call(Operand::Kind::kSize, std::move(arguments));
      case Function::kIfNotExists:
        check_is_path(parsed, arguments[0]);
        check_distinct(parsed.text, arguments);
        return Operand::of_call(Operand::Kind::kIfNotExists, std::move(arguments));
      default:
        for (const Operand& one : arguments) {
          check_type("list_append", one, [](Type type) { return type == Type::kList; });
        }
        return Operand::of_call(Operand::Kind::kListAppend, std::move(arguments));
    }
  }

  ExpressionKind kind_;
  Bindings& bindings_;
};

}  // namespace

Condition bind(const ParsedCondition& parsed, ExpressionKind kind, Bindings& bindings) {
  return Binder(kind, bindings).condition(parsed.root);
}

Projection bind(const ParsedProjection& parsed, Bindings& bindings) {
  Binder binder(ExpressionKind::kProjection, bindings);
  std::vector<Path> paths;
  paths.reserve(parsed.paths.size());
  for (const ParsedPath& path : parsed.paths) paths.push_back(binder.path(path));
  std::vector<const Path*> pointers;
  pointers.reserve(paths.size());
  for (const Path& path : paths) pointers.push_back(&path);
  check_path_conflicts(pointers, ExpressionKind::kProjection);
  return Projection(std::move(paths));
}

// The service looks at what is changed first (undefined names, overlaps), and then at the actions
// from the last to the first: their names, then their values and types.
Update bind(const ParsedUpdate& parsed, Bindings& bindings) {
  Binder binder(ExpressionKind::kUpdate, bindings);
  std::vector<UpdateAction> actions(parsed.actions.size());
  std::vector<const Path*> targets;
  targets.reserve(actions.size());
  for (size_t i = 0; i < actions.size(); ++i) {
    actions[i].kind = parsed.actions[i].kind;
    actions[i].path = binder.path(parsed.actions[i].path);
    targets.push_back(&actions[i].path);
  }
  check_path_conflicts(targets, ExpressionKind::kUpdate);
  for (size_t i = actions.size(); i-- > 0;) binder.check_names(parsed.actions[i].operand);
  for (size_t i = actions.size(); i-- > 0;) {
    UpdateAction& action = actions[i];
    if (action.kind == UpdateAction::Kind::kRemove) continue;
    action.operand = binder.operand(parsed.actions[i].operand);
    if (action.kind != UpdateAction::Kind::kSet) {
      binder.check_action_operand(action.kind, action.operand.value->type());
    }
  }
  return Update(std::move(actions));
}

Condition bind_condition(std::string_view text, ExpressionKind kind, Bindings& bindings,
                         ParseCache& cache) {
  return bind(*cache.condition(text, kind), kind, bindings);
}

Update bind_update(std::string_view text, Bindings& bindings, ParseCache& cache) {
  return bind(*cache.update(text), bindings);
}

Projection bind_projection(std::string_view text, Bindings& bindings, ParseCache& cache) {
  return bind(*cache.projection(text), bindings);
}

}  // namespace stator::expr
