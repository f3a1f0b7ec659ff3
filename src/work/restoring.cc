// Copies the items of tables that are being restored. How far it has come is in the commits of the
// copies themselves.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "engine/frozen.h"
#include "store/history.h"
#include "store/load.h"
#include "work/jobs.h"

namespace stator::work {

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr engine::ScanLimit kPage{.rows = 16'384, .bytes = 2 * 1024 * 1024};
// How long one table is worked at before others get their turn.
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
    bool more = false;
    for (const auto& table : site_.catalog.list({}, SIZE_MAX)) {
      if (table->restore && !table->deleted_at_ms) more = try_to_advance(table) || more;
    }
    return more;
  }

 private:
  struct Progress {
    std::string from;
    std::unique_ptr<engine::View> copy;  // of a backup, open as long as it is read
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
  bool try_to_advance(const catalog::TablePtr& table) {
    try {
      return advance(table);
    } catch (...) {
      under_way_.erase(table->schema->number);
      throw;
    }
  }

  // True if there is more to do.
  bool advance(const catalog::TablePtr& table) {
    Progress& progress = progress_of(*table);
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
          end_use(*table);
          return false;
        }
      }
      progress.from = std::move(next);
      progress.items += items;
      if (last) {
        finish(*table, progress);
        return false;
      }
    } while (std::chrono::steady_clock::now() < end);
    report(*table, progress);
    return true;
  }

  void report(const catalog::Table& table, Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (now - progress.reported < kReportEvery) return;
    progress.reported = now;
    spdlog::info("Restoring table {}: {} items in {:.0f} s so far.", table.name(), progress.items,
                 seconds_since(progress.begin));
  }

  // Lets go of the source.
  void end_use(const catalog::Table& table) {
    under_way_.erase(table.schema->number);
    if (!table.restore->backup_arn.empty()) site_.backups.end_use(table.restore->backup_arn);
  }

  void finish(const catalog::Table& table, const Progress& progress) {
    const model::TableNumber number = table.schema->number;
    const std::function<void(catalog::Table&)> done = [&](catalog::Table& changed) {
      if (changed.schema->number == number) changed.restore.reset();
    };
    run_blocking(site_.catalog.update(table.name(), done));
    spdlog::info("Table {} is restored: {} items in {:.1f} s.", table.name(), progress.items,
                 seconds_since(progress.begin));
    end_use(table);
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
};

}  // namespace

std::unique_ptr<Job> make_restoring(Site site) {
  return std::make_unique<Restoring>(site);
}

}  // namespace stator::work
