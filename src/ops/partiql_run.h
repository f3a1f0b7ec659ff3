// What ExecuteStatement, BatchExecuteStatement and ExecuteTransaction share: statements from their
// text to something the store can do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/item_request.h"
#include "partiql/compile.h"
#include "partiql/key_plan.h"

namespace stator::ops {

// The values behind a statement's question marks. `element` has the member Parameters. They are
// checked before the statement is read, whether it uses them or not.
std::vector<model::Value> read_parameters(const json::Element& element);

// Everything about a statement that needs no table, and the refusal of indexes that PartiQL cannot
// use.
partiql::Plan prepare_statement(const Context& context, std::string_view text,
                                const std::vector<model::Value>& parameters);

bool is_read(const partiql::Plan& plan);
const std::string& table_name(const partiql::Plan& plan);

// The write of an INSERT, UPDATE, DELETE or EXISTS on its item.
store::Write statement_write(const partiql::Plan& plan, catalog::TablePtr table,
                             partiql::ItemKey item);

// A single write: its key from the WHERE clause, against the table. Throws what ExecuteStatement
// answers.
store::Write single_write(const Context& context, const partiql::Plan& plan);

// The row that RETURNING asks for, if any.
std::optional<model::Item> returned_row(const partiql::Plan& plan,
                                        const store::WriteResult& result);

// The one item that a SELECT in a batch or transaction reads. Throws "Select statements within
// <operation> must specify the primary key in the where clause." unless the WHERE clause is its key
// and nothing else.
model::Item single_read_key(const partiql::Select& select, const model::TableSchema& table,
                            std::string_view operation);

// An item as a SELECT shows it.
model::Item select_columns(const std::vector<partiql::Column>& columns, const model::Item& item);

}  // namespace stator::ops
