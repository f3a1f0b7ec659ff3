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

namespace {
constexpr int64_t kHourMs = 60LL * 60 * 1000;
constexpr int64_t kDayMs = 24 * kHourMs;
constexpr int64_t kDecreasesAtAnyTime = 4;
constexpr int64_t kDecreasesInDay = 27;

bool lowered_today(const Capacity& capacity, int64_t now_ms) {
  return capacity.last_decrease_ms && *capacity.last_decrease_ms / kDayMs == now_ms / kDayMs;
}
}  // namespace

void provision(Capacity& capacity, int64_t read_units, int64_t write_units, int64_t now_ms) {
  auto& provisioned = capacity.provisioned;
  capacity.before = provisioned;
  capacity.changing = true;
  const bool up = read_units > provisioned.read_units || write_units > provisioned.write_units;
  const bool down = read_units < provisioned.read_units || write_units < provisioned.write_units;
  if (up) capacity.last_increase_ms = now_ms;
  if (down) {
    const bool today = lowered_today(capacity, now_ms);
    provisioned.decreases = today ? provisioned.decreases + 1 : 1;
    if (!today) capacity.before.decreases = 0;
    capacity.last_decrease_ms = now_ms;
  }
  provisioned.read_units = read_units;
  provisioned.write_units = write_units;
}

bool may_lower(const Capacity& capacity, int64_t now_ms) {
  if (!lowered_today(capacity, now_ms)) return true;
  const int64_t decreases = capacity.provisioned.decreases;
  if (decreases < kDecreasesAtAnyTime) return true;
  return decreases < kDecreasesInDay && now_ms - *capacity.last_decrease_ms >= kHourMs;
}

TableState Table::state(int64_t now_ms) const {
  if (deleted_at_ms) return now_ms < *deleted_at_ms ? TableState::kDeleting : TableState::kGone;
  if (restore || now_ms < active_at_ms) return TableState::kCreating;
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
