// Key attributes hold scalars, so no path may go into one.
#pragma once

#include <vector>

#include "expr/path.h"
#include "model/schema.h"

namespace stator::expr {

// Calls visit(index, key attribute) for the keys of global indexes and then for the sort keys of
// local ones: the order in which the service checks them.
template <typename Visit>
void for_each_index_key(const model::TableSchema& table, Visit&& visit) {
  for (const bool global : {true, false}) {
    for (const model::Index& index : table.indexes) {
      if (index.global != global) continue;
      if (global) {
        for (const model::KeyAttribute& key : index.key.partition) visit(index, key);
      }
      for (const model::KeyAttribute& key : index.key.sort) visit(index, key);
    }
  }
}

// Throws "Key attributes must be scalars; ...: Key: a", or IndexKey, for the first key that a
// nested path begins with.
void check_no_paths_into_keys(const std::vector<const Path*>& paths,
                              const model::TableSchema& table);

}  // namespace stator::expr
