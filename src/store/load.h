// Filling a table that no request can reach yet: one that is being restored or imported.
#pragma once

#include <optional>
#include <string>

#include "catalog/table.h"
#include "common/task.h"
#include "engine/engine.h"
#include "store/store.h"

namespace stator::store {

// Where the filling of a table has come to; kept in the commits of the filling itself.
std::string load_cursor_key(model::TableNumber table);

// Puts the items of `rows` (keys and records as in PastPage) into the empty part of the table, with
// their index entries and counters, in as many commits as the engine's limits ask for. Each one
// moves the cursor behind what it holds; the last one to `cursor`. Nothing is read: no other writer
// is there, and what is loaded is not there yet. False if the table is gone.
Task<bool> load_items(Store& store, catalog::TablePtr table, engine::Rows rows, std::string cursor);

}  // namespace stator::store
