// Filling a table from outside: many items at once, each over what is there.
#pragma once

#include <string>
#include <vector>

#include "catalog/table.h"
#include "common/task.h"
#include "store/store.h"

namespace stator::store {

struct ItemToPut {
  model::Item item;
  size_t size_bytes = 0;
};

// At most what an item of a size adds to a batch: itself, its index entries and counters. Callers
// keep the sum for one call below kMaxPutBytes.
size_t put_bytes(const model::TableSchema& schema, size_t item_bytes);
inline constexpr size_t kMaxPutBytes = 4 * 1024 * 1024;

// Puts the items in one commit, which also puts `companion_value` at `companion_key`. Of items with
// one key the last one stays. False if the table is gone.
Task<bool> put_all(Store& store, catalog::TablePtr table, std::vector<ItemToPut> items,
                   std::string companion_key, std::string companion_value);

}  // namespace stator::store
