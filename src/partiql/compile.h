// From a parsed statement and its parameters to what it does, in the trees of expr. All that the
// service refuses without looking at the table is refused here; what depends on the table's keys is
// in key_plan.h.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "expr/ast.h"
#include "expr/path.h"
#include "expr/update.h"
#include "model/value.h"
#include "partiql/ast.h"

namespace stator::partiql {

struct Target {
  std::string table;
  std::optional<std::string> index;
};

// A column has the name of the last named element of its path, with the indexes that follow it:
// "tags[1]".
struct Column {
  std::string name;
  expr::Path path;
};

struct OrderKey {
  std::string attribute;
  bool descending = false;
};

struct Select {
  Target from;
  std::optional<std::vector<Column>> columns;  // absent: all
  std::optional<expr::Condition> where;
  std::vector<OrderKey> order;
};

struct Insert {
  std::string table;
  model::Item item;
};

struct Update {
  std::string table;
  expr::Update update;
  std::optional<expr::Condition> where;
  std::optional<Returning> returning;
};

struct Delete {
  std::string table;
  std::optional<expr::Condition> where;
  std::optional<Returning> returning;  // ALL OLD
};

// EXISTS(SELECT ...): a check among the writes of a transaction.
struct Exists {
  Select select;
};

using Plan = std::variant<Select, Insert, Update, Delete, Exists>;

// The table and index that a statement names, if it is a statement that names them well; the
// service looks at the index before it finds other faults.
std::optional<Target> target_of(const Statement& statement);

// Throws ValidationException.
Plan compile(const Statement& statement, const std::vector<model::Value>& parameters);

}  // namespace stator::partiql
