// How a SELECT of ExecuteStatement reads: as one scan, or as a read for each range of keys that its
// WHERE clause names, one after the other, a page at a time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/read_request.h"
#include "partiql/compile.h"
#include "partiql/key_plan.h"

namespace stator::ops {

// A part of a table or index that a SELECT reads.
struct SelectRange {
  engine::Range range;
  model::Value partition;           // orders the ranges
  std::optional<model::Item> item;  // the key, if the range is one item of a table
};

// The ranges of the branches, by partition key and within it by sort key; no two have a row in
// common. Throws "Overlapping conditions with range keys are not supported in where clause".
std::vector<SelectRange> select_ranges(const partiql::ReadKeys& keys,
                                       const model::TableSchema& table, const model::Index* index);

// A SELECT against its table, ready to read. Does not point into the statement.
struct SelectPlan {
  PageRequest page;  // all but range and limit
  std::vector<SelectRange> ranges;
  std::optional<size_t> max_rows;  // of a page, whatever its Limit is
};

// Throws all that the service says before it reads.
SelectPlan plan_select(const Context& context, const partiql::Select& select, bool consistent);

// Where a page ended: in a range, after a row of it, or before the range begins.
struct SelectPosition {
  size_t range = 0;
  std::optional<model::Item> after;
};

struct SelectPage {
  std::string items;  // JSON array elements, joined by commas
  std::optional<SelectPosition> next;
  std::optional<model::Item> last_key;  // with next
  double table_units = 0;
  double index_units = 0;
};

Task<SelectPage> read_select(const Context& context, SelectPlan plan, std::optional<size_t> limit,
                             SelectPosition start);

// NextToken: a position, bound to the statement and its parameters. Nothing is kept for it here,
// and a forged one reaches no row that the statement does not.
std::string write_next_token(const SelectPosition& position, const std::string& request_digest);
// Throws "Invalid NextToken" and "NextToken does not match request".
SelectPosition read_next_token(std::string_view token, const std::string& request_digest,
                               const SelectPlan& plan);
std::string request_digest(std::string_view statement, const std::vector<model::Value>& parameters);

}  // namespace stator::ops
