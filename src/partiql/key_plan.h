// What a WHERE clause says about keys: which reads a SELECT becomes, and which item a write means.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "expr/ast.h"
#include "expr/key_condition.h"
#include "model/schema.h"
#include "model/value.h"
#include "partiql/compile.h"

namespace stator::partiql {

inline constexpr size_t kMaxBranches = 50;

// One read that a SELECT is made of: items with this partition key, in the range that all sort
// clauses leave.
struct Branch {
  expr::KeyClause partition;
  std::vector<expr::KeyClause> sort;
  // The other conditions on these items, in order.
  std::vector<const expr::Condition*> filters;
  // One of them is NOT or <> on the sort key.
  bool negates_sort = false;
  // It asks for two partition keys at once and finds nothing.
  bool contradictory = false;
};

// How a SELECT reads a table or index with that key. Points into the statement's condition.
struct ReadKeys {
  // Without branches everything is read.
  bool scan = true;
  std::vector<Branch> branches;  // in the order of their partition keys
  // An IN on a key made several branches.
  bool from_in = false;
};

// Distributes the condition over its keys. Throws for too many branches and for key conditions of a
// wrong type. The key has one partition attribute and at most one sort attribute.
ReadKeys plan_read(const std::optional<expr::Condition>& where, const model::KeySchema& key);

// Throws if an ORDER BY cannot be satisfied by reading keys in order.
struct ReadOrder {
  bool partitions_descending = false;
  bool sort_descending = false;
};
ReadOrder plan_order(const std::vector<OrderKey>& order, const ReadKeys& keys,
                     const model::KeySchema& key);

// The one item whose whole key a condition gives by equality (or by IN with one value, if
// `allow_in`), and what else it demands. Of two values for one attribute the first counts, and
// `second_value_of` names the attribute.
struct ItemKey {
  model::Item key;  // complete if all attributes were given
  bool complete = false;
  std::optional<expr::Condition> rest;
  std::string second_value_of;
};
ItemKey find_item_key(const std::optional<expr::Condition>& where, const model::KeySchema& key,
                      bool allow_in);

// The key and further condition of a single write. Throws unless there is exactly one item.
ItemKey plan_write(const std::optional<expr::Condition>& where, const model::KeySchema& key);

}  // namespace stator::partiql
