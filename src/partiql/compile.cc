#include "partiql/compile.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "expr/path_conflicts.h"
#include "model/error.h"
#include "partiql/condition.h"
#include "partiql/literal.h"

namespace stator::partiql {

namespace {

using expr::Operand;
using expr::UpdateAction;
using model::Type;
using Kind = Expr::Kind;

// --- where a statement looks

// The names of a source, of which there should be one or two. Nothing if it is not made of names.
std::optional<std::vector<const Expr*>> names_of(const Expr& path) {
  if (path.is(Kind::kName)) return std::vector<const Expr*>{&path};
  if (!path.is(Kind::kPath)) return std::nullopt;
  std::vector<const Expr*> names;
  for (const Expr& step : path.children) {
    if (!step.is(Kind::kName)) return std::nullopt;
    names.push_back(&step);
  }
  return names;
}

Target read_target(const Source& source) {
  if (source.has_alias) invalid("Aliasing is not supported");
  const auto names = names_of(source.path);
  if (!names) invalid("Unexpected path component at " + source.path.at.to_string());
  if (names->size() > 2) invalid("A path may contain at most 2 components in the FROM clause");
  for (const Expr* name : *names) {
    if (name->text.empty()) invalid("Path component cannot be an empty string");
  }
  Target target;
  target.table = names->front()->text;
  if (names->size() == 2) target.index = names->back()->text;
  return target;
}

std::string written_table(const Source& source) {
  Target target = read_target(source);
  if (target.index) invalid("This operation is not supported on an index");
  return std::move(target.table);
}

// --- SELECT

std::string column_name(const expr::Path& path) {
  const auto& elements = path.elements();
  size_t last = elements.size() - 1;
  while (elements[last].is_index) --last;
  std::string name = elements[last].name;
  for (size_t i = last + 1; i < elements.size(); ++i) {
    name += "[" + std::to_string(elements[i].index) + "]";
  }
  return name;
}

std::vector<Column> read_columns(const SelectStatement& select) {
  std::vector<Column> columns;
  for (const SelectColumn& column : select.columns) {
    if (!is_path(column.expr)) {
      invalid("Unexpected path component at " + column.expr.at.to_string());
    }
    if (column.has_alias) invalid("Aliasing is not supported");
    expr::Path path = document_path(column.expr);
    std::string name = column_name(path);
    columns.push_back({std::move(name), std::move(path)});
  }
  std::unordered_set<std::string_view> seen;
  for (const Column& column : columns) {
    if (seen.insert(column.name).second) continue;
    invalid("Duplicate identifiers in select clause: " + column.name);
  }
  return columns;
}

Select compile_select(const SelectStatement& statement, const Parameters& parameters) {
  Select select;
  if (statement.from.size() > 1) {
    invalid("Only select from a single table or index is supported.");
  }
  select.from = read_target(statement.from.front());
  if (!statement.unsupported.empty()) {
    const UnsupportedClause& clause = statement.unsupported.front();
    invalid("Unsupported clause: " + clause.name + " at " + clause.at.to_string());
  }
  if (!statement.all) select.columns = read_columns(statement);
  if (statement.where) select.where = condition_of(*statement.where, parameters);
  for (const OrderTerm& term : statement.order) {
    if (!term.expr.is(Kind::kName)) {
      invalid("Unexpected path component at " + term.expr.at.to_string());
    }
    select.order.push_back({term.expr.text, term.descending});
  }
  if (!select.order.empty() && !select.where) {
    invalid("Must have WHERE clause in the statement when using ORDER BY clause.");
  }
  return select;
}

// --- INSERT

Insert compile_insert(const InsertStatement& statement, const Parameters& parameters) {
  const auto names = names_of(statement.into.path);
  if (!names || names->size() > 1) {
    invalid("FROM clause may only contain a single table name in data manipulation statements at " +
            statement.into.path.at.to_string());
  }
  Insert insert;
  insert.table = read_target(statement.into).table;
  if (!statement.returning.empty()) {
    invalid("Invalid returning clause: " + statement.returning.front().to_string() +
            ". RETURNING is not allowed in INSERT statements.");
  }
  if (!statement.has_value_keyword || statement.has_other_clauses) {
    invalid("Unsupported operation: Insert");
  }
  if (!statement.value.is(Kind::kStruct)) {
    invalid("Unsupported data type: " + node_name(statement.value) + " under key root at " +
            statement.value.at.to_string());
  }
  const auto& members = statement.value.children;
  for (size_t i = 0; i + 1 < members.size(); i += 2) {
    const Expr& name = members[i];
    if (!name.is(Kind::kString)) {
      invalid("Unsupported data type: " + node_name(name) + " under key root at " +
              name.at.to_string());
    }
    if (name.text.empty()) invalid("Empty attribute name");
    insert.item.set(name.text, *value_of(members[i + 1], parameters));
  }
  return insert;
}

// --- UPDATE

class UpdateCompiler {
 public:
  explicit UpdateCompiler(const Parameters& parameters) : parameters_(parameters) {}

  UpdateAction action(const Change& change) {
    switch (change.kind) {
      case Change::Kind::kRemove:
        return UpdateAction::remove(document_path(change.path));
      case Change::Kind::kInsert:
        invalid("Unsupported operation: Insert");
      case Change::Kind::kSet:
        break;
    }
    expr::Path path = document_path(change.path);
    const Expr& value = change.value;
    if (value.is(Kind::kCall) && (value.text == "set_add" || value.text == "set_delete")) {
      return set_function(std::move(path), value);
    }
    return UpdateAction::set(std::move(path), operand(value));
  }

 private:
  // a = set_add(a, <<...>>) is ADD a, with set_delete DELETE.
  UpdateAction set_function(expr::Path path, const Expr& call) {
    const bool adds = call.text == "set_add";
    const std::string name = adds ? "SET_ADD" : "SET_DELETE";
    if (call.children.size() != 2) {
      invalid(name + " must have exactly two arguments at " + call.at.to_string());
    }
    const Expr& first = call.children[0];
    const Expr& second = call.children[1];
    if (!is_path(first) || document_path(first) != path) {
      invalid("The first argument to " + name + " must equal the assignment value at " +
              call.at.to_string());
    }
    const expr::ValuePtr members = is_value(second) ? value_of(second, parameters_) : nullptr;
    if (members == nullptr || !members->is_set()) {
      invalid("The second argument to " + name + " must be a value with type SET at " +
              first.at.to_string());
    }
    return adds ? UpdateAction::add(std::move(path), members)
                : UpdateAction::erase(std::move(path), members);
  }

  Operand operand(const Expr& expr) {
    if (is_value(expr)) return Operand::of_value(value_of(expr, parameters_));
    switch (expr.kind) {
      case Kind::kName:
      case Kind::kPath:
        return Operand::of_path(document_path(expr));
      case Kind::kArithmetic:
        return arithmetic(expr);
      case Kind::kSign:
        invalid("Incorrect number of operands for operator or function; operator or function: " +
                expr.text + ", number of operands: 1");
      case Kind::kCall:
        return call(expr);
      default:
        invalid("Unsupported operation: " + node_name(expr));
    }
  }

  Operand arithmetic(const Expr& expr) {
    if (expr.text != "+" && expr.text != "-") {
      invalid("Unsupported operator in Update Expression. Operator: " + expr.text);
    }
    std::vector<Operand> arguments;
    for (const Expr& child : expr.children) {
      arguments.push_back(operand(child));
      check_literal(arguments.back(), expr.text, Type::kNumber);
      if (arguments.back().kind == Operand::Kind::kListAppend) {
        wrong_operand_type(expr.text, Type::kList);
      }
    }
    return Operand::of_call(expr.text == "+" ? Operand::Kind::kPlus : Operand::Kind::kMinus,
                            std::move(arguments));
  }

  Operand call(const Expr& expr) {
    if (expr.text != "list_append") {
      invalid("Unrecognized function: " + expr.text + " at " + expr.at.to_string());
    }
    check_arity(expr, 2);
    std::vector<Operand> arguments;
    for (const Expr& child : expr.children) {
      arguments.push_back(operand(child));
      check_literal(arguments.back(), expr.text, Type::kList);
      if (arguments.back().kind == Operand::Kind::kPlus ||
          arguments.back().kind == Operand::Kind::kMinus) {
        wrong_operand_type(expr.text, Type::kNumber);
      }
    }
    return Operand::of_call(Operand::Kind::kListAppend, std::move(arguments));
  }

  static void check_literal(const Operand& operand, std::string_view function, Type type) {
    if (operand.kind != Operand::Kind::kValue || operand.value->is(type)) return;
    wrong_operand_type(function, operand.value->type());
  }

  const Parameters& parameters_;
};

void check_paths(const std::vector<UpdateAction>& actions) {
  std::vector<const expr::Path*> paths;
  for (const UpdateAction& action : actions) paths.push_back(&action.path);
  try {
    expr::check_path_conflicts(paths, expr::ExpressionKind::kUpdate);
  } catch (const ApiError& error) {
    // Statements have no parameter to name.
    constexpr std::string_view kParameter = "Invalid UpdateExpression: ";
    std::string message = error.message();
    if (message.starts_with(kParameter)) message.erase(0, kParameter.size());
    throw ApiError(error.type(), std::move(message));
  }
}

std::optional<Returning> read_returning(const std::vector<Returning>& returning) {
  if (returning.empty()) return std::nullopt;
  if (returning.size() > 1 || !returning.front().star) {
    invalid("Invalid returning clause: " + returning.front().to_string() + ".");
  }
  return returning.front();
}

Update compile_update(const UpdateStatement& statement, const Parameters& parameters) {
  Update update;
  update.table = written_table(statement.target);
  update.returning = read_returning(statement.returning);
  std::vector<UpdateAction> actions;
  UpdateCompiler compiler(parameters);
  for (const Change& change : statement.changes) actions.push_back(compiler.action(change));
  check_paths(actions);
  update.update = expr::Update(std::move(actions));
  if (statement.where) update.where = condition_of(*statement.where, parameters);
  return update;
}

// --- DELETE

Delete compile_delete(const DeleteStatement& statement, const Parameters& parameters) {
  Delete erase;
  erase.table = written_table(statement.target);
  erase.returning = read_returning(statement.returning);
  if (erase.returning && !(erase.returning->all && erase.returning->old)) {
    invalid("Invalid returning clause: " + erase.returning->to_string() +
            ". Only RETURNING ALL OLD * is allowed in DELETE statements.");
  }
  if (statement.where) erase.where = condition_of(*statement.where, parameters);
  return erase;
}

// The SELECT inside EXISTS( ), if that is what the statement is.
const SelectStatement* exists_select(const Expr& root) {
  if (!root.is(Kind::kCall) || root.text != "exists" || root.children.size() != 1) return nullptr;
  const Expr& argument = root.children[0];
  if (!argument.is(Kind::kStatement)) return nullptr;
  return std::get_if<SelectStatement>(&argument.statement->form);
}

const Source& source_of(const StatementNode& node) {
  if (const auto* select = std::get_if<SelectStatement>(&node.form)) return select->from.front();
  if (const auto* insert = std::get_if<InsertStatement>(&node.form)) return insert->into;
  if (const auto* update = std::get_if<UpdateStatement>(&node.form)) return update->target;
  return std::get<DeleteStatement>(node.form).target;
}

}  // namespace

std::optional<Target> target_of(const Statement& statement) {
  const Source* source = nullptr;
  if (const SelectStatement* select = exists_select(statement.root)) {
    source = &select->from.front();
  } else if (statement.root.is(Kind::kStatement)) {
    source = &source_of(*statement.root.statement);
  } else {
    return std::nullopt;
  }
  const auto names = names_of(source->path);
  if (!names || names->size() > 2) return std::nullopt;
  Target target;
  target.table = names->front()->text;
  if (names->size() == 2) target.index = names->back()->text;
  return target;
}

Plan compile(const Statement& statement, const std::vector<model::Value>& parameters) {
  if (statement.parameters > parameters.size()) {
    invalid("Number of parameters in request and statement don't match.");
  }
  if (const SelectStatement* select = exists_select(statement.root)) {
    return Exists{compile_select(*select, parameters)};
  }
  if (!statement.root.is(Kind::kStatement)) {
    invalid("Unsupported operation: " + node_name(statement.root));
  }
  const StatementNode& node = *statement.root.statement;
  if (const auto* select = std::get_if<SelectStatement>(&node.form)) {
    return compile_select(*select, parameters);
  }
  if (const auto* insert = std::get_if<InsertStatement>(&node.form)) {
    return compile_insert(*insert, parameters);
  }
  if (const auto* update = std::get_if<UpdateStatement>(&node.form)) {
    return compile_update(*update, parameters);
  }
  return compile_delete(std::get<DeleteStatement>(node.form), parameters);
}

}  // namespace stator::partiql
