// What Query and Scan share: which attributes an answer has, where a page begins, and the page
// itself. PartiQL's SELECT reads through the same.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ops/item_request.h"

namespace stator::ops {

// What to read and what to show of it. Everything has been checked.
struct PageRequest {
  catalog::TablePtr table;
  const model::Index* index = nullptr;
  store::ReadPlan plan;
  std::optional<expr::Condition> filter;
  std::optional<expr::Projection> projection;
  // Writes an item into the answer in a form of its own, in place of the projection. PartiQL names
  // columns itself.
  std::function<void(std::string& out, const model::Item& item)> show;
  bool count_only = false;
  bool consistent = false;
};

struct Page {
  std::string items;  // JSON array elements, joined by commas
  size_t count = 0;
  size_t scanned = 0;
  size_t size_bytes = 0;                // of the rows read
  std::optional<model::Item> last_key;  // LastEvaluatedKey
  double table_units = 0;
  double index_units = 0;
};

Task<Page> read_page(const Context& context, PageRequest request);

// The members of the answer of a Query or Scan.
std::string page_answer(const Request& request, const PageRequest& page_request, const Page& page);

// The index of that name. Throws what the service says.
const model::Index* find_index(const model::TableSchema& table,
                               const std::optional<std::string_view>& name);

// Select, AttributesToGet and ProjectionExpression against each other and the index: sets
// projection, count_only and whether items are fetched from the table. check_select needs no table,
// apply_select does.
void check_select(const json::Element& body);
void apply_select(const json::Element& body, PageRequest& request);

// ExclusiveStartKey as read, with the service's wording for bad values in it.
std::optional<model::Item> read_start_key(const json::Element& body, expr::Wording wording);
// Throws unless the key has exactly the attributes of table and index key, of their types. A Scan
// has words of its own.
void check_start_key(const PageRequest& request, const model::Item& key, bool scan = false);
// The engine key of the row that a start key names.
std::string start_row(const PageRequest& request, const model::Item& key);
// Cuts the part of the plan's range up to and including `row` (in the direction of the read).
void begin_after(store::ReadPlan& plan, const std::string& row);

// The range of rows that a key condition selects.
engine::Range key_range(const model::TableSchema& table, const model::Index* index,
                        const expr::KeyCondition& key);

}  // namespace stator::ops
