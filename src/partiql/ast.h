// What a statement's text says, before parameters and tables. Plain data; threads may share one
// read-only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "partiql/tokens.h"

namespace stator::partiql {

struct StatementNode;

// An expression of the language; most of them mean something only in some places, which the
// compiler decides.
struct Expr {
  enum class Kind : uint8_t {
    kName,     // text
    kPath,     // children: the root, then steps, each a kName, a kIndex or a kStar
    kIndex,    // child: what stands between the brackets
    kStar,     // * as a step of a path or as the argument of COUNT
    kString,   // text
    kNumber,   // text: with its sign
    kBoolean,  // truth
    kNull,
    kMissing,
    kParameter,    // parameter: which question mark, from 0
    kList,         // children
    kBag,          // children
    kStruct,       // children: name, value, name, value, ...
    kCall,         // text: the function's name in lower case; children
    kNot,          // child
    kSign,         // text: "+" or "-"; child: not a number literal
    kAnd,          // children, at least two
    kOr,           // children, at least two
    kCompare,      // text: = <> < <= > >=; two children
    kArithmetic,   // text: + - * / % ||; two children
    kBetween,      // children: value, lower, upper; negated
    kIn,           // children: value, collection; negated
    kLike,         // children: value, pattern; negated
    kIs,           // text: the type's name; child; negated
    kSetOperator,  // text: union, ...; two children
    kStatement,    // statement
  };

  Kind kind = Kind::kNull;
  std::string text;
  Position at;  // of its first token; of the operator's for operators
  uint32_t parameter = 0;
  bool truth = false;
  bool negated = false;
  uint32_t depth = 1;  // of the tree below and with this node
  std::vector<Expr> children;
  std::shared_ptr<const StatementNode> statement;

  bool is(Kind k) const { return kind == k; }
};

// What a statement reads or changes, as written: a table, or a table and its index.
struct Source {
  Expr path;  // a kName or kPath in all statements that mean something
  bool has_alias = false;
};

struct SelectColumn {
  Expr expr;
  bool has_alias = false;
};

struct OrderTerm {
  Expr expr;
  bool descending = false;
};

// A clause of the language that the service does not have.
struct UnsupportedClause {
  std::string name;
  Position at;
};

struct SelectStatement {
  bool all = false;  // SELECT *
  std::vector<SelectColumn> columns;
  std::vector<Source> from;  // more than one if tables are joined
  std::optional<Expr> where;
  std::vector<OrderTerm> order;
  std::vector<UnsupportedClause> unsupported;
};

struct Returning {
  bool all = false;  // else MODIFIED
  bool old = false;  // else NEW
  bool star = false;
  std::string to_string() const;  // "RETURNING ALL OLD *"
};

struct InsertStatement {
  Source into;
  Expr value;
  bool has_value_keyword = false;
  bool has_other_clauses = false;  // AT, ON CONFLICT
  std::vector<Returning> returning;
};

struct Change {
  enum class Kind : uint8_t { kSet, kRemove, kInsert };
  Kind kind = Kind::kSet;
  Expr path;
  Expr value;  // of kSet
};

struct UpdateStatement {
  Source target;
  std::vector<Change> changes;
  std::optional<Expr> where;
  std::vector<Returning> returning;
};

struct DeleteStatement {
  Source target;
  std::optional<Expr> where;
  std::vector<Returning> returning;
};

struct StatementNode {
  std::variant<SelectStatement, InsertStatement, UpdateStatement, DeleteStatement> form;
};

// One parsed statement. Only some expressions are statements: see compile.h.
struct Statement {
  Expr root;
  uint32_t parameters = 0;  // question marks
};

}  // namespace stator::partiql
