// Expressions: the room's front door; read this one first.
//
// A request goes through here in this order; each step throws ApiError with the service's message.
//
//   check_not_mixed(legacy, expressions)                      legacy parameters beside them
//   check_placeholders_allowed(bindings, expressions)         placeholders without expression
//   bindings.check_names(), bindings.check_values()
//   condition = bind_condition(text, kind, bindings, cache)   each expression of the request
//   update = bind_update(text, bindings, cache)
//   projection = bind_projection(text, bindings, cache)
//   bindings.check_unused()
//   clauses = key_clauses(condition)                          of a KeyConditionExpression
//
// Up to here no table is needed. With the table:
//
//   key = match_key(clauses, schema)
//   check_filter_attributes(filter, schema), check_no_paths_into_keys(..., table)
//   update.check_keys(table)
//
// And per item: evaluate(condition, item) (ast.h), project(projection, item) (projection.h),
// update.apply(old, key) (update.h). The parameters from before expressions become the same trees
// in legacy.h. Everything bound is plain immutable data that outlives the request's Bindings and
// may be shared between threads.
#pragma once

#include <string>
#include <string_view>

#include "expr/ast.h"
#include "expr/bindings.h"
#include "expr/key_condition.h"
#include "expr/legacy.h"
#include "expr/parse_cache.h"
#include "expr/path.h"
#include "expr/projection.h"
#include "expr/update.h"
#include "model/schema.h"

namespace stator::expr {

// Parse `text` (through the cache) and put names and values in place of its placeholders. All that
// the service checks without table and item is checked here.
Condition bind_condition(std::string_view text, ExpressionKind kind, Bindings& bindings,
                         ParseCache& cache);
Update bind_update(std::string_view text, Bindings& bindings, ParseCache& cache);
Projection bind_projection(std::string_view text, Bindings& bindings, ParseCache& cache);

// Throws "Filter Expression can only contain non-primary key attributes: Primary key attribute:
// pk". `parameter` begins the message: "Filter Expression" or "QueryFilter". `key` is that of the
// table or index queried.
void check_filter_attributes(const Condition& filter, const model::KeySchema& key,
                             std::string_view parameter = "Filter Expression");

// Throw "Key attributes must be scalars; list random access '[]' and map lookup '.' are not
// allowed: Key: a" (IndexKey for a key of an index) if a path goes into an attribute that is a key
// of the table or of one of its indexes.
void check_no_paths_into_keys(const Condition& condition, const model::TableSchema& table);
void check_no_paths_into_keys(const Projection& projection, const model::TableSchema& table);

}  // namespace stator::expr
