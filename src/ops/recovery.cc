#include "ops/recovery.h"

#include <algorithm>
#include <ctime>

#include "ops/table_request.h"
#include "store/history.h"

namespace stator::ops {

void throw_source_not_found(std::string_view name) {
  throw ApiError("TableNotFoundException", "Table not found: " + std::string(name));
}

catalog::TablePtr recoverable_table(const Request& request) {
  const auto name = table_name_of(request.context, *json::string_member(request.body, "TableName"));
  auto table = request.context.catalog.find(name);
  if (!table || table->state(request.context.clock.now_ms()) == catalog::TableState::kCreating)
    throw_source_not_found(name);
  return table;
}

std::optional<int64_t> time_member_ms(const json::Element& element, std::string_view name) {
  const auto found = json::member(element, name);
  if (!found) return std::nullopt;
  double seconds = 0;
  if (found->get(seconds) != simdjson::SUCCESS) {
    int64_t whole = 0;
    if (found->get(whole) != simdjson::SUCCESS) return std::nullopt;
    seconds = static_cast<double>(whole);
  }
  constexpr double kFarAway_s = 1e12;
  seconds = std::clamp(seconds, -kFarAway_s, kFarAway_s);
  return static_cast<int64_t>(seconds * 1000 + (seconds < 0 ? -0.5 : 0.5));
}

std::string utc_text(int64_t time_s) {
  const std::time_t seconds = time_s;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text, size);
}

RestorableTimes restorable_times(const catalog::Table& table, int64_t now_ms) {
  const catalog::RecoverySettings& recovery = table.recovery;
  RestorableTimes times;
  times.latest_s = now_ms / 1000;
  times.earliest_s = std::max({recovery.since_ms.value_or(now_ms) / 1000,
                               times.latest_s - recovery.period_days * store::kDay_s,
                               (recovery.first_day + 1) * store::kDay_s});
  return times;
}

}  // namespace stator::ops
