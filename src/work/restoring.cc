// Copies the items of tables that are being restored. How far it has come is in the commits of the
// copies themselves.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "engine/frozen.h"
#include "store/history.h"
#include "store/load.h"
#include "work/jobs.h"

namespace stator::work {

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr engine::ScanLimit kPage{.rows = 16'384, .bytes = 2 * 1024 * 1024};
// How long one table is worked at before other work gets its turn.
constexpr std::chrono::milliseconds kTurn{100};
constexpr std::chrono::seconds kReportEvery{10};

double seconds_since(SteadyTime begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Restoring final : public Job {
 public:
  // Backups that are being restored are in use from the first moment on.
  explicit Restoring(Site site) : site_(site) {
    for (const auto& table : site_.catalog.list({}, SIZE_MAX)) {
      if (table->restore && !table->restore->backup_arn.empty())
        site_.backups.begin_use(table->restore->backup_arn);
    }
  }
  const char* name() const override { return "restoring a table"; }

  bool step() override {
    // One table in each step, in turn: other work waits no longer for many restores than for one.
    catalog::TablePtr next;
    catalog::TablePtr first;
    for (const auto& table : site_.catalog.list({}, SIZE_MAX)) {
      if (!table->restore || table->deleted_at_ms) continue;
      const model::TableNumber number = table->schema->number;
      if (!first || number < first->schema->number) first = table;
      if (number > last_ && (!next || number < next->schema->number)) next = table;
    }
    if (!next) next = first;
    if (!next) return false;
    last_ = next->schema->number;
    try_to_advance(next);
    return true;
  }

 private:
  struct Progress {
    std::string from;
    std::unique_ptr<engine::View> copy;  // of a backup, open as long as it is read
    bool uses_source = true;
    bool copied = false;  // everything is there but the word that it is
    size_t items = 0;
    SteadyTime begin = std::chrono::steady_clock::now();
    SteadyTime reported = begin;
  };

  Progress& progress_of(const catalog::Table& table) {
    const auto found = under_way_.find(table.schema->number);
    if (found != under_way_.end()) return found->second;
    Progress progress;
    const auto cursor = read_cursor(table.schema->number);
    if (cursor) progress.from = *cursor;
    spdlog::info(
        "Restoring table {} from {} {}.", table.name(),
        table.restore->backup_arn.empty() ? table.restore->table_arn : table.restore->backup_arn,
        cursor ? "goes on" : "begins");
    return under_way_[table.schema->number] = std::move(progress);
  }

  std::optional<std::string> read_cursor(model::TableNumber table) {
    for (;;) {
      try {
        const auto view = site_.store.engine().view();
        return run_blocking(view->get(store::load_cursor_key(table)));
      } catch (const engine::ViewExpired&) {
        continue;
      }
    }
  }

  store::PastPage read_page(const catalog::RestoreSource& source, Progress& progress) {
    const store::Past past{
        .table = source.table, .era = source.era, .first_day = source.first_day, .cut = source.cut};
    engine::Engine& engine = site_.store.engine();
    if (source.frozen.empty())
      return run_blocking(store::read_past(engine, past, progress.from, kPage));
    for (;;) {
      if (!progress.copy) progress.copy = engine::frozen_copies(engine).view_frozen(source.frozen);
      try {
        return run_blocking(store::read_past(*progress.copy, past, progress.from, kPage));
      } catch (const engine::ViewExpired&) {
        progress.copy.reset();
      }
    }
  }

  // After a failure what counts is the cursor that was committed last.
  void try_to_advance(const catalog::TablePtr& table) {
    try {
      advance(table);
    } catch (...) {
      const auto found = under_way_.find(table->schema->number);
      if (found != under_way_.end() && !found->second.copied) under_way_.erase(found);
      throw;
    }
  }

  void advance(const catalog::TablePtr& table) {
    Progress& progress = progress_of(*table);
    if (progress.copied) return finish(*table, progress);
    const SteadyTime end = std::chrono::steady_clock::now() + kTurn;
    do {
      store::PastPage page = read_page(*table->restore, progress);
      const size_t items = page.items.size();
      const bool last = !page.next;
      std::string next = last ? std::string() : std::move(*page.next);
      if (last && items > 0) next = std::string(page.items.key(items - 1)) + '\0';
      if (items > 0 || !last) {
        const bool there =
            run_blocking(store::load_items(site_.store, table, std::move(page.items), next));
        if (!there) {
          let_go(*table, progress);
          under_way_.erase(table->schema->number);
          return;
        }
      }
      progress.from = std::move(next);
      progress.items += items;
      progress.copied = last;
      if (last) return finish(*table, progress);
    } while (std::chrono::steady_clock::now() < end);
    report(*table, progress);
  }

  void report(const catalog::Table& table, Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (now - progress.reported < kReportEvery) return;
    progress.reported = now;
    spdlog::info("Restoring table {}: {} items in {:.0f} s so far.", table.name(), progress.items,
                 seconds_since(progress.begin));
  }

  void let_go(const catalog::Table& table, Progress& progress) {
    progress.copy.reset();
    if (std::exchange(progress.uses_source, false) && !table.restore->backup_arn.empty())
      site_.backups.end_use(table.restore->backup_arn);
  }

  // The backup can be used again before the table is ACTIVE: whoever waits for that finds it free.
  void finish(const catalog::Table& table, Progress& progress) {
    const model::TableNumber number = table.schema->number;
    let_go(table, progress);
    const std::function<void(catalog::Table&)> done = [&](catalog::Table& changed) {
      if (changed.schema->number == number) changed.restore.reset();
    };
    run_blocking(site_.catalog.update(table.name(), done));
    spdlog::info("Table {} is restored: {} items in {:.1f} s.", table.name(), progress.items,
                 seconds_since(progress.begin));
    under_way_.erase(number);
    // Left behind by a crash it does no harm: the number is never given again.
    engine::Mutation forget;
    forget.exclusive.push_back(store::load_cursor_key(number));
    forget.body = [&](const engine::Held&, engine::Batch& batch) {
      batch.erase(store::load_cursor_key(number));
    };
    run_blocking(site_.store.engine().mutate(std::move(forget)));
  }

  Site site_;
  std::map<model::TableNumber, Progress> under_way_;
  model::TableNumber last_ = 0;  // whose turn it was
};

}  // namespace

std::unique_ptr<Job> make_restoring(Site site) {
  return std::make_unique<Restoring>(site);
}

}  // namespace stator::work
