#include <algorithm>

#include "common/bytes.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "work/due_times.h"
#include "work/jobs.h"
#include "work/pace.h"

namespace stator::work {

namespace {

// What is read at once, and committed in so many parts that go to the disk together.
constexpr size_t kRoundRows = 2048;
constexpr size_t kRoundBytes = 1024 * 1024;
constexpr size_t kPartRows = 512;

// The cursor of the pass that queues expiring items; no index has this number.
constexpr model::IndexNumber kExpiryPass = UINT32_MAX;

class Backfill final : public Job {
 public:
  Backfill(Site site, int64_t ttl_delay_s) : site_(site), ttl_delay_s_(ttl_delay_s) {}
  const char* name() const override { return "building an index"; }

  bool step() override {
    bool more = false;
    for (const auto& table : site_.catalog.list({}, SIZE_MAX)) {
      if (table->deleted_at_ms) continue;
      for (const model::Index& index : table->schema->indexes) {
        if (index.building) more = advance(table, index.number) || more;
      }
      if (table->ttl_indexing) more = advance(table, kExpiryPass) || more;
    }
    return more;
  }

 private:
  // True if the pass has not come to its end.
  bool advance(const catalog::TablePtr& table, model::IndexNumber pass) {
    const model::TableNumber number = table->schema->number;
    const std::string cursor_key = model::cursor_key(number, pass);
    const std::string prefix = model::items_prefix(number);
    std::string from = read_cursor(cursor_key).value_or(prefix);
    Pace pace;
    while (pace.goes_on()) {
      const engine::Rows rows = read_rows({from, prefix_end(prefix)});
      if (rows.empty()) {
        finish(*table, pass);
        return false;
      }
      // Everything before this round is done. After a crash the round is made again, which changes
      // nothing where it was done.
      if (!work_on(table, pass, rows, {cursor_key, from})) return false;
      from.assign(rows.key(rows.size() - 1));
      from.push_back('\0');
    }
    return true;
  }

  // False if the table or the index is gone.
  bool work_on(const catalog::TablePtr& table, model::IndexNumber pass, const engine::Rows& rows,
               store::Store::Cursor cursor) {
    std::vector<Task<bool>> parts;
    for (size_t begin = 0; begin < rows.size(); begin += kPartRows) {
      std::vector<model::Item> items;
      items.reserve(kPartRows);
      for (size_t i = begin; i < std::min(rows.size(), begin + kPartRows); ++i)
        items.push_back(model::decode_record(rows.value(i)));
      std::optional<store::Store::Cursor> reached;
      if (begin == 0) reached = std::move(cursor);
      parts.push_back(
          pass == kExpiryPass
              ? site_.store.queue_expiring(table, std::move(items),
                                           due_times(site_.clock, ttl_delay_s_), std::move(reached))
              : site_.store.build_entries(table, pass, std::move(items), std::move(reached)));
    }
    const std::vector<bool> there = run_blocking(when_all(std::move(parts)));
    return std::find(there.begin(), there.end(), false) == there.end();
  }

  std::optional<std::string> read_cursor(const std::string& key) {
    for (;;) {
      try {
        const auto view = site_.store.engine().view();
        return run_blocking(view->get(key));
      } catch (const engine::ViewExpired&) {
        continue;
      }
    }
  }

  engine::Rows read_rows(const engine::Range& range) {
    for (;;) {
      try {
        const auto view = site_.store.engine().view();
        return run_blocking(view->scan(range, engine::Direction::kForward,
                                       {.rows = kRoundRows, .bytes = kRoundBytes}));
      } catch (const engine::ViewExpired&) {
        continue;
      }
    }
  }

  void finish(const catalog::Table& table, model::IndexNumber pass) {
    const std::function<void(catalog::Table&)> done = [&](catalog::Table& changed) {
      if (pass == kExpiryPass) {
        changed.ttl_indexing = false;
        return;
      }
      auto schema = std::make_shared<model::TableSchema>(*changed.schema);
      for (model::Index& index : schema->indexes) {
        if (index.number == pass) index.building = false;
      }
      changed.schema = std::move(schema);
    };
    run_blocking(site_.catalog.update(table.name(), done));
    run_blocking(site_.store.erase(table.schema->number,
                                   {model::cursor_key(table.schema->number, pass),
                                    prefix_end(model::cursor_key(table.schema->number, pass))}));
  }

  Site site_;
  const int64_t ttl_delay_s_;
};

}  // namespace

std::unique_ptr<Job> make_backfill(Site site, int64_t ttl_delay_s) {
  return std::make_unique<Backfill>(site, ttl_delay_s);
}

}  // namespace stator::work
