#include "partiql/condition.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "expr/parser.h"
#include "model/error.h"

namespace stator::partiql {

namespace {

using expr::Condition;
using expr::Operand;
using model::Type;
using model::Value;
using Kind = Expr::Kind;

// To compare two conditions is to write each of them twice; this bounds how far that can grow.
constexpr size_t kMaxNodes = 20000;

bool has_order(Type type) {
  return type == Type::kString || type == Type::kNumber || type == Type::kBinary;
}

Condition::Kind comparison(std::string_view op) {
  if (op == "=") return Condition::Kind::kEqual;
  if (op == "<>") return Condition::Kind::kNotEqual;
  if (op == "<") return Condition::Kind::kLess;
  if (op == "<=") return Condition::Kind::kLessEqual;
  return op == ">" ? Condition::Kind::kGreater : Condition::Kind::kGreaterEqual;
}

size_t count_nodes(const Condition& condition) {
  size_t nodes = 1 + condition.operands.size();
  for (const Condition& child : condition.children) nodes += count_nodes(child);
  return nodes;
}

std::optional<Type> type_named(std::string_view name) {
  for (const Type type :
       {Type::kString, Type::kNumber, Type::kBinary, Type::kBool, Type::kNull, Type::kMap,
        Type::kList, Type::kStringSet, Type::kNumberSet, Type::kBinarySet}) {
    if (model::type_name(type) == name) return type;
  }
  return std::nullopt;
}

class Compiler {
 public:
  explicit Compiler(const Parameters& parameters) : parameters_(parameters) {}

  Condition condition(const Expr& expr) {
    switch (expr.kind) {
      case Kind::kAnd:
        return Condition::all_of(conditions(expr.children));
      case Kind::kOr:
        return Condition::any_of(conditions(expr.children));
      case Kind::kNot:
        return Condition::negation(condition(expr.children[0]));
      case Kind::kCompare:
        return compare(expr);
      case Kind::kBetween:
        return negated_if(expr.negated, between(expr));
      case Kind::kIn:
        return negated_if(expr.negated, in(expr));
      case Kind::kIs:
        return negated_if(expr.negated, type_test(expr));
      case Kind::kCall:
        if (expr.text != "size") return call(expr);
        break;
      case Kind::kBoolean:
        return Condition::always(expr.truth);
      default:
        break;
    }
    // A value on its own is a condition if it is true.
    const Operand value = plain_operand(expr);
    if (value.kind == Operand::Kind::kValue && !value.value->is(Type::kBool)) {
      wrong_operand_type("AND", value.value->type());
    }
    return Condition::compare(Condition::Kind::kEqual, value,
                              Operand::of_value(Value::boolean(true)));
  }

 private:
  // An operand is a value, or a condition used as one.
  using Term = std::variant<Operand, Condition>;

  static Condition negated_if(bool negated, Condition condition) {
    return negated ? Condition::negation(std::move(condition)) : std::move(condition);
  }

  std::vector<Condition> conditions(const std::vector<Expr>& exprs) {
    std::vector<Condition> result;
    result.reserve(exprs.size());
    for (const Expr& expr : exprs) result.push_back(condition(expr));
    return result;
  }

  static bool is_condition(const Expr& expr) {
    switch (expr.kind) {
      case Kind::kAnd:
      case Kind::kOr:
      case Kind::kNot:
      case Kind::kCompare:
      case Kind::kBetween:
      case Kind::kIn:
      case Kind::kIs:
        return true;
      case Kind::kCall:
        return expr.text != "size";
      default:
        return false;
    }
  }

  Term term(const Expr& expr) {
    if (is_condition(expr)) return condition(expr);
    return plain_operand(expr);
  }

  Operand plain_operand(const Expr& expr) {
    if (expr.is(Kind::kMissing)) {
      invalid("Unsupported data type: Missing under key root at " + expr.at.to_string());
    }
    if (is_value(expr)) return Operand::of_value(value_of(expr, parameters_));
    if (expr.is(Kind::kName) || expr.is(Kind::kPath)) {
      return Operand::of_path(document_path(expr));
    }
    if (expr.is(Kind::kCall)) return size(expr);
    if (expr.is(Kind::kSign)) {
      invalid("Incorrect number of operands for operator or function; operator or function: " +
              expr.text + ", number of operands: 1");
    }
    if (expr.is(Kind::kArithmetic)) {
      invalid("Unsupported operator in Condition Expression. Operator: " + expr.text);
    }
    if (expr.is(Kind::kLike)) {
      invalid("Unsupported operator in Condition Expression. Operator: LIKE");
    }
    invalid("Unsupported operation: " + node_name(expr));
  }

  Operand size(const Expr& call) {
    check_arity(call, 1);
    Operand argument = plain_operand(call.children[0]);
    if (argument.kind == Operand::Kind::kValue) {
      const Type type = argument.value->type();
      if (type == Type::kNumber || type == Type::kBool || type == Type::kNull) {
        wrong_operand_type("size", type);
      }
    } else if (argument.kind == Operand::Kind::kSize) {
      wrong_operand_type("size", Type::kNumber);
    }
    return Operand::of_call(Operand::Kind::kSize, {std::move(argument)});
  }

  static void check_order(std::string_view op, const Term& term) {
    if (std::holds_alternative<Condition>(term)) wrong_operand_type(op, Type::kBool);
    const Operand& operand = std::get<Operand>(term);
    if (operand.kind != Operand::Kind::kValue) return;
    if (!has_order(operand.value->type())) wrong_operand_type(op, operand.value->type());
  }

  Condition compare(const Expr& expr) {
    Term left = term(expr.children[0]);
    Term right = term(expr.children[1]);
    const Condition::Kind kind = comparison(expr.text);
    if (kind != Condition::Kind::kEqual && kind != Condition::Kind::kNotEqual) {
      check_order(expr.text, left);
      check_order(expr.text, right);
    }
    if (std::holds_alternative<Operand>(left) && std::holds_alternative<Operand>(right)) {
      return Condition::compare(kind, std::move(std::get<Operand>(left)),
                                std::move(std::get<Operand>(right)));
    }
    return negated_if(kind == Condition::Kind::kNotEqual, equal(std::move(left), std::move(right)));
  }

  // left = right, where one of them is a condition (or neither, among the choices of IN).
  Condition equal(Term left, Term right) {
    if (!std::holds_alternative<Condition>(left)) std::swap(left, right);
    if (!std::holds_alternative<Condition>(left)) {
      return Condition::compare(Condition::Kind::kEqual, std::move(std::get<Operand>(right)),
                                std::move(std::get<Operand>(left)));
    }
    Condition condition = std::move(std::get<Condition>(left));
    if (auto* operand = std::get_if<Operand>(&right)) {
      if (operand->kind == Operand::Kind::kValue) {
        if (!operand->value->is(Type::kBool)) return Condition::always(false);
        return negated_if(!operand->value->as_bool(), std::move(condition));
      }
      const auto is = [&](bool truth) {
        return Condition::compare(Condition::Kind::kEqual, *operand,
                                  Operand::of_value(Value::boolean(truth)));
      };
      return either_both(std::move(condition), is(true), is(false));
    }
    Condition other = std::move(std::get<Condition>(right));
    spend(count_nodes(other));
    Condition opposite = Condition::negation(other);
    return either_both(std::move(condition), std::move(other), std::move(opposite));
  }

  // (condition and if_true) or (not condition and if_false)
  Condition either_both(Condition condition, Condition if_true, Condition if_false) {
    spend(count_nodes(condition));
    std::vector<Condition> first;
    first.push_back(condition);
    first.push_back(std::move(if_true));
    std::vector<Condition> second;
    second.push_back(Condition::negation(std::move(condition)));
    second.push_back(std::move(if_false));
    std::vector<Condition> both;
    both.push_back(Condition::all_of(std::move(first)));
    both.push_back(Condition::all_of(std::move(second)));
    return Condition::any_of(std::move(both));
  }

  void spend(size_t nodes) {
    spent_ += nodes;
    if (spent_ > kMaxNodes) {
      invalid("Expression size has exceeded the maximum allowed size");
    }
  }

  Condition between(const Expr& expr) {
    std::vector<Operand> operands;
    for (const Expr& child : expr.children) {
      Term operand = term(child);
      check_order("BETWEEN", operand);
      operands.push_back(std::move(std::get<Operand>(operand)));
    }
    return Condition::between(std::move(operands[0]), std::move(operands[1]),
                              std::move(operands[2]));
  }

  Condition in(const Expr& expr) {
    Term value = term(expr.children[0]);
    const Expr& collection = expr.children[1];
    if (!collection.is(Kind::kList) && !collection.is(Kind::kBag)) {
      invalid("Unsupported operation: InCollection");
    }
    const size_t count = collection.children.size();
    if (count > expr::kMaxInOperands) {
      invalid("The IN operator is provided with too many operands; number of operands: " +
              std::to_string(count));
    }
    std::vector<Term> choices;
    for (const Expr& choice : collection.children) choices.push_back(term(choice));
    const auto is_plain = [](const Term& t) { return std::holds_alternative<Operand>(t); };
    if (is_plain(value) && std::all_of(choices.begin(), choices.end(), is_plain)) {
      std::vector<Operand> operands;
      for (Term& choice : choices) operands.push_back(std::move(std::get<Operand>(choice)));
      return Condition::in(std::move(std::get<Operand>(value)), std::move(operands));
    }
    std::vector<Condition> any;
    for (Term& choice : choices) {
      if (const auto* condition = std::get_if<Condition>(&value)) spend(count_nodes(*condition));
      any.push_back(equal(value, std::move(choice)));
    }
    return any.empty() ? Condition::always(false) : Condition::any_of(std::move(any));
  }

  Condition type_test(const Expr& expr) {
    if (!is_path(expr.children[0])) {
      invalid("Operator or function requires a document path; operator or function: IS");
    }
    expr::Path path = document_path(expr.children[0]);
    const std::string& type = expr.text;
    if (type == "missing") return Condition::not_exists(std::move(path));
    if (type == "null") return Condition::has_type(std::move(path), Type::kNull);
    if (type == "boolean") return Condition::has_type(std::move(path), Type::kBool);
    if (type == "string") return Condition::has_type(std::move(path), Type::kString);
    if (type == "integer" || type == "decimal") {
      return Condition::has_type(std::move(path), Type::kNumber);
    }
    if (type == "blob") return Condition::has_type(std::move(path), Type::kBinary);
    if (type == "struct") return Condition::has_type(std::move(path), Type::kMap);
    if (type == "list") return Condition::has_type(std::move(path), Type::kList);
    if (type == "bag") {
      std::vector<Condition> any;
      for (const Type set : {Type::kStringSet, Type::kNumberSet, Type::kBinarySet}) {
        any.push_back(Condition::has_type(path, set));
      }
      return Condition::any_of(std::move(any));
    }
    if (type == "any") return Condition::exists(std::move(path));
    invalid("Unsupported operation: IsType");
  }

  Condition call(const Expr& expr) {
    const std::string& name = expr.text;
    if (name == "attribute_exists" || name == "attribute_not_exists") {
      check_arity(expr, 1);
      expr::Path path = path_argument(expr);
      return name == "attribute_exists" ? Condition::exists(std::move(path))
                                        : Condition::not_exists(std::move(path));
    }
    if (name == "attribute_type") return attribute_type(expr);
    if (name == "begins_with" || name == "contains") {
      check_arity(expr, 2);
      Operand value = plain_operand(expr.children[0]);
      Operand part = plain_operand(expr.children[1]);
      if (name == "contains") return Condition::contains(std::move(value), std::move(part));
      for (const Operand* operand : {&value, &part}) {
        if (operand->kind != Operand::Kind::kValue) continue;
        const Type type = operand->value->type();
        if (type != Type::kString && type != Type::kBinary) wrong_operand_type(name, type);
      }
      return Condition::begins_with(std::move(value), std::move(part));
    }
    invalid("Unrecognized function: " + name + " at " + expr.at.to_string());
  }

  Condition attribute_type(const Expr& expr) {
    check_arity(expr, 2);
    expr::Path path = path_argument(expr);
    const Operand type = plain_operand(expr.children[1]);
    if (type.kind != Operand::Kind::kValue) {
      invalid("Unsupported operation: " + node_name(expr.children[1]));
    }
    if (!type.value->is(Type::kString)) wrong_operand_type(expr.text, type.value->type());
    const auto known = type_named(type.value->as_string());
    if (!known) {
      invalid("Invalid attribute type name found; type: " + type.value->as_string() +
              ", valid types: {N,BS,L,B,NULL,M,S,SS,NS,BOOL}");
    }
    return Condition::has_type(std::move(path), *known);
  }

  expr::Path path_argument(const Expr& call) {
    if (!is_path(call.children[0])) {
      invalid("Operator or function requires a document path; operator or function: " + call.text);
    }
    return document_path(call.children[0]);
  }

  const Parameters& parameters_;
  size_t spent_ = 0;
};

}  // namespace

expr::Condition condition_of(const Expr& expr, const Parameters& parameters) {
  return Compiler(parameters).condition(expr);
}

void wrong_operand_type(std::string_view function, model::Type type) {
  invalid("Incorrect operand type for operator or function; operator or function: " +
          std::string(function) + ", operand type: " + std::string(model::type_name(type)));
}

void check_arity(const Expr& call, size_t arity) {
  if (call.children.size() == arity) return;
  invalid("Incorrect number of operands for operator or function; operator or function: " +
          call.text + ", number of operands: " + std::to_string(call.children.size()));
}

}  // namespace stator::partiql
