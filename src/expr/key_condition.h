// Which items of a table or index a Query asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "expr/ast.h"
#include "model/schema.h"
#include "model/value.h"

namespace stator::expr {

enum class KeyOperator : uint8_t {
  kEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kBetween,
  kBeginsWith,
  kNotIndexable,  // a legacy operator that no key can satisfy; only in a KeyClause, refused by
                  // match_key
};

// One clause, as written, before it has met a schema.
struct KeyClause {
  std::string name;
  KeyOperator op = KeyOperator::kEqual;
  std::vector<ValuePtr> values;  // two with kBetween, else one
};

// A range of the last sort attribute that is named. Never kEqual.
struct SortRange {
  KeyOperator op = KeyOperator::kLess;
  std::vector<model::Value> values;
};

// All partition attributes by value, sort attributes from the left by value, then at most one
// range.
struct KeyCondition {
  std::vector<model::Value> partition;
  std::vector<model::Value> sort_equal;
  std::optional<SortRange> range;

  // Whether the sort attributes of an entry, in the schema's order, satisfy the condition.
  bool matches_sort(const std::vector<const model::Value*>& sort_values) const;
};

// The clauses of a bound KeyConditionExpression, in the order written. Throws for all that needs no
// table.
std::vector<KeyClause> key_clauses(const Condition& condition);

// Throws ApiError if the clauses do not fit the key: a missing partition attribute, a wrong type,
// an empty value.
KeyCondition match_key(const std::vector<KeyClause>& clauses, const model::KeySchema& key);

}  // namespace stator::expr
