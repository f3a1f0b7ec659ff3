#include <algorithm>

#include "json/writer.h"
#include "ops/recovery.h"
#include "ops/table_description.h"
#include "ops/table_request.h"
#include "store/history.h"

namespace stator::ops {

namespace {

std::string describe(const catalog::Table& table, int64_t now_ms) {
  std::string out;
  json::Object answer(out);
  json::Object description(answer.key("ContinuousBackupsDescription"));
  description.string("ContinuousBackupsStatus", "ENABLED");
  json::Object recovery(description.key("PointInTimeRecoveryDescription"));
  const bool enabled = table.recovery.since_ms.has_value();
  recovery.string("PointInTimeRecoveryStatus", enabled ? "ENABLED" : "DISABLED");
  if (enabled) {
    const RestorableTimes times = restorable_times(table, now_ms);
    recovery.integer("RecoveryPeriodInDays", table.recovery.period_days);
    append_timestamp(recovery.key("EarliestRestorableDateTime"), times.earliest_s * 1000);
    append_timestamp(recovery.key("LatestRestorableDateTime"), times.latest_s * 1000);
  }
  recovery.close();
  description.close();
  answer.close();
  return out;
}

void enable(catalog::Table& table, int64_t period_days, int64_t now_ms) {
  catalog::RecoverySettings& recovery = table.recovery;
  recovery.period_days = period_days;
  if (recovery.since_ms) return;
  recovery.since_ms = now_ms;
  // History that is still kept, because somebody reads it, goes on without a gap.
  if (table.schema->history_era != 0) return;
  auto schema = std::make_shared<model::TableSchema>(*table.schema);
  schema->history_era = ++recovery.last_era;
  table.schema = std::move(schema);
  recovery.first_day = store::day_of(std::max(store::kDay_s, now_ms / 1000)) - 1;
  recovery.erased_day = recovery.first_day;
}

}  // namespace

Task<std::string> update_continuous_backups(Request& request) {
  const Context& context = request.context;
  require_table_name(request);
  check_shape(request);
  const json::Element specification =
      *json::member(request.body, "PointInTimeRecoverySpecification");
  const bool wanted =
      json::bool_member(specification, "PointInTimeRecoveryEnabled").value_or(false);
  const auto period = json::int_member(specification, "RecoveryPeriodInDays");
  if (!wanted && period) {
    invalid(
        "Invalid Request: Cannot specify RecoveryPeriodInDays when disabling point-in-time "
        "recovery.");
  }
  const auto known = recoverable_table(request);
  const std::function<void(catalog::Table&)> change = [&](catalog::Table& table) {
    if (wanted) {
      enable(table, period.value_or(catalog::RecoverySettings::kMaxPeriodDays),
             context.clock.now_ms());
    } else {
      // Background work ends the history and erases it.
      table.recovery.since_ms.reset();
    }
  };
  auto updating = context.catalog.update(known->name(), change);
  const auto updated = co_await updating;
  if (!updated) throw_source_not_found(known->name());
  co_return describe(*updated, context.clock.now_ms());
}

Task<std::string> describe_continuous_backups(Request& request) {
  require_table_name(request);
  check_shape(request);
  const auto table = recoverable_table(request);
  co_return describe(*table, request.context.clock.now_ms());
}

}  // namespace stator::ops
