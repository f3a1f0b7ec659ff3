#include "catalog/table.h"

#include <algorithm>

namespace stator::catalog {

std::string_view state_name(TableState state) {
  switch (state) {
    case TableState::kCreating:
      return "CREATING";
    case TableState::kActive:
      return "ACTIVE";
    case TableState::kUpdating:
      return "UPDATING";
    case TableState::kDeleting:
      return "DELETING";
    case TableState::kGone:
      break;
  }
  return "DELETED";
}

TableState Table::state(int64_t now_ms) const {
  if (deleted_at_ms) return now_ms < *deleted_at_ms ? TableState::kDeleting : TableState::kGone;
  if (now_ms < active_at_ms) return TableState::kCreating;
  return now_ms < updating_until_ms ? TableState::kUpdating : TableState::kActive;
}

void complete_projection(model::Index& index, const model::KeySchema& table_key) {
  index.projected.clear();
  if (index.projects_all()) return;
  for (size_t i = 0; i < table_key.size(); ++i) index.projected.push_back(table_key.at(i).name);
  for (size_t i = 0; i < index.key.size(); ++i) index.projected.push_back(index.key.at(i).name);
  index.projected.insert(index.projected.end(), index.included.begin(), index.included.end());
  std::sort(index.projected.begin(), index.projected.end());
  index.projected.erase(std::unique(index.projected.begin(), index.projected.end()),
                        index.projected.end());
}

}  // namespace stator::catalog
