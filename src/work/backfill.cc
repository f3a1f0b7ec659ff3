#include <algorithm>
#include <compare>
#include <map>

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
    std::map<PassId, std::string> reached;
    const auto advance = [&](const catalog::TablePtr& table, PassId id) {
      auto from = std::move(reached_[id]);
      if (from.empty()) from = read_cursor(id).value_or(model::items_prefix(id.table));
      if (!this->advance(table, id, from)) return;
      reached[id] = std::move(from);
      more = true;
    };
    for (const auto& table : site_.catalog.list({}, SIZE_MAX)) {
      if (table->deleted_at_ms) continue;
      const model::TableNumber number = table->schema->number;
      for (const model::Index& index : table->schema->indexes) {
        if (index.building) advance(table, {number, index.number});
      }
      if (table->ttl_indexing)
        advance(table, {number, kExpiryPass, static_cast<uint64_t>(*table->ttl_changed_ms)});
    }
    reached_ = std::move(reached);
    return more;
  }

 private:
  // A table may be gone through several times for its expiry, each time that it is enabled.
  struct PassId {
    model::TableNumber table = 0;
    model::IndexNumber pass = 0;
    uint64_t enabled_ms = 0;
    auto operator<=>(const PassId&) const = default;

    std::string cursor_key() const { return model::cursor_key(table, pass); }
    std::string cursor(const std::string& from) const {
      std::string value;
      append_big_endian(value, enabled_ms);
      return value + from;
    }
  };

  // Goes on from `from`. True if the pass has not come to its end.
  bool advance(const catalog::TablePtr& table, const PassId& id, std::string& from) {
    const std::string end = prefix_end(model::items_prefix(id.table));
    Pace pace;
    while (pace.goes_on()) {
      const engine::Rows rows = read_rows({from, end});
      if (rows.empty()) {
        finish(*table, id);
        return false;
      }
      // Everything before this round is done. After a crash the round is made again, which changes
      // nothing where it was done.
      if (!work_on(table, id.pass, rows, {id.cursor_key(), id.cursor(from)})) return false;
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

  std::optional<std::string> read_cursor(const PassId& id) {
    const std::string key = id.cursor_key();
    const std::string head = id.cursor({});
    for (;;) {
      try {
        const auto view = site_.store.engine().view();
        const auto value = run_blocking(view->get(key));
        // The cursor may be of an earlier time that expiry was enabled.
        if (!value || !value->starts_with(head) || value->size() == head.size())
          return std::nullopt;
        return value->substr(head.size());
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

  void finish(const catalog::Table& table, const PassId& id) {
    const std::function<void(catalog::Table&)> done = [&](catalog::Table& changed) {
      if (id.pass == kExpiryPass) {
        if (changed.ttl_changed_ms == table.ttl_changed_ms) changed.ttl_indexing = false;
        return;
      }
      auto schema = std::make_shared<model::TableSchema>(*changed.schema);
      for (model::Index& index : schema->indexes) {
        if (index.number == id.pass) index.building = false;
      }
      changed.schema = std::move(schema);
    };
    run_blocking(site_.catalog.update(table.name(), done));
    run_blocking(site_.store.erase(id.table, {id.cursor_key(), prefix_end(id.cursor_key())}));
  }

  Site site_;
  const int64_t ttl_delay_s_;
  std::map<PassId, std::string> reached_;  // the row that each pass goes on from
};

}  // namespace

std::unique_ptr<Job> make_backfill(Site site, int64_t ttl_delay_s) {
  return std::make_unique<Backfill>(site, ttl_delay_s);
}

}  // namespace stator::work
