// Ends the history of tables that have no point-in-time recovery any more and erases what is older
// than their recovery period.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "common/bytes.h"
#include "model/key_codec.h"
#include "store/history.h"
#include "work/jobs.h"

namespace stator::work {

namespace {

using Change = std::function<void(catalog::Table&)>;

class HistoryKeeping final : public Job {
 public:
  explicit HistoryKeeping(Site site) : site_(site) {}
  const char* name() const override { return "keeping history"; }

  bool step() override {
    for (const auto& table : site_.catalog.list({}, SIZE_MAX)) {
      if (table->recovery.last_era == 0 || table->deleted_at_ms) continue;
      if (table->schema->history_era != 0 && !table->recovery.since_ms) end_era(*table);
      if (table->schema->history_era != 0) trim(*table);
      if (!table->recovery.dead_eras.empty()) erase_eras(*table);
    }
    return false;
  }

 private:
  // While somebody reads the table's past, every change has to be noted.
  void end_era(const catalog::Table& table) {
    const model::TableNumber number = table.schema->number;
    const Change change = [&](catalog::Table& changed) {
      const uint32_t era = changed.schema->history_era;
      if (changed.schema->number != number || changed.recovery.since_ms || era == 0 ||
          site_.catalog.is_held(number))
        return;
      auto schema = std::make_shared<model::TableSchema>(*changed.schema);
      schema->history_era = 0;
      changed.schema = std::move(schema);
      changed.recovery.dead_eras.push_back(era);
    };
    if (site_.catalog.is_held(number)) return;
    const auto updated = run_blocking(site_.catalog.update(table.name(), change));
    if (updated && !updated->recovery.dead_eras.empty()) erase_eras(*updated);
  }

  // The days that are out of reach are given up first and erased then, so that nobody is promised
  // what is not there. One more day than needed stays: a request may have looked at the clock a
  // moment ago.
  void trim(const catalog::Table& table) {
    const model::TableNumber number = table.schema->number;
    const uint32_t era = table.schema->history_era;
    const int64_t oldest_s =
        std::max<int64_t>(0, site_.clock.now_s() - table.recovery.period_days * store::kDay_s);
    const uint32_t wanted = std::max<uint32_t>(2, store::day_of(oldest_s)) - 2;
    catalog::RecoverySettings recovery = table.recovery;
    if (wanted > recovery.first_day) {
      const Change give_up = [&](catalog::Table& changed) {
        if (changed.schema->history_era != era || site_.catalog.is_held(number)) return;
        changed.recovery.first_day = std::max(changed.recovery.first_day, wanted);
      };
      if (site_.catalog.is_held(number)) return;
      const auto updated = run_blocking(site_.catalog.update(table.name(), give_up));
      if (!updated || updated->schema->number != number || updated->schema->history_era != era)
        return;
      recovery = updated->recovery;
    }
    if (recovery.erased_day >= recovery.first_day) return;
    for (uint32_t day = recovery.erased_day; day < recovery.first_day; ++day) {
      const std::string prefix = model::history_prefix(number, era, day);
      run_blocking(site_.store.erase(number, {prefix, prefix_end(prefix)}));
    }
    spdlog::info("Table {}: history before day {} (since 1970) is erased.", table.name(),
                 recovery.first_day);
    const Change erased = [&](catalog::Table& changed) {
      if (changed.schema->history_era == era) changed.recovery.erased_day = recovery.first_day;
    };
    run_blocking(site_.catalog.update(table.name(), erased));
  }

  void erase_eras(const catalog::Table& table) {
    const model::TableNumber number = table.schema->number;
    if (site_.catalog.is_held(number)) return;
    const auto dead = table.recovery.dead_eras;
    for (const uint32_t era : dead) {
      const std::string prefix = model::history_prefix(number, era);
      run_blocking(site_.store.erase(number, {prefix, prefix_end(prefix)}));
    }
    const Change forget = [&](catalog::Table& changed) {
      std::erase_if(changed.recovery.dead_eras, [&](uint32_t era) {
        return changed.schema->number == number &&
               std::find(dead.begin(), dead.end(), era) != dead.end();
      });
    };
    run_blocking(site_.catalog.update(table.name(), forget));
  }

  Site site_;
};

}  // namespace

std::unique_ptr<Job> make_history_keeping(Site site) {
  return std::make_unique<HistoryKeeping>(site);
}

}  // namespace stator::work
