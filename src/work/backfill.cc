#include <algorithm>

#include "common/bytes.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "work/due_times.h"
#include "work/jobs.h"
#include "work/pace.h"

namespace stator::work {

namespace {

// What is read and committed at once.
constexpr size_t kRoundRows = 1024;
constexpr size_t kRoundBytes = 1024 * 1024;

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
        if (index.building) more = advance(table, {index.number}) || more;
      }
      if (table->ttl_indexing) {
        const auto enabled_ms = static_cast<uint64_t>(*table->ttl_changed_ms);
        more = advance(table, {kExpiryPass, enabled_ms}) || more;
      }
    }
    return more;
  }

 private:
  // A table is gone through once for each new index, and for its expiry each time that is enabled.
  struct Pass {
    model::IndexNumber number = 0;
    uint64_t enabled_ms = 0;

    std::string cursor(const std::string& from) const {
      std::string value;
      append_big_endian(value, enabled_ms);
      return value + from;
    }
  };

  // True if the pass has not come to its end.
  bool advance(const catalog::TablePtr& table, const Pass& pass) {
    const std::string prefix = model::items_prefix(table->schema->number);
    const std::string cursor_key = model::cursor_key(table->schema->number, pass.number);
    std::string from = read_cursor(cursor_key, pass).value_or(prefix);
    Pace pace(site_.activity);
    while (pace.goes_on()) {
      const engine::Rows rows = read_rows({from, prefix_end(prefix)});
      if (rows.empty()) {
        finish(*table, pass);
        return false;
      }
      std::vector<model::Item> items;
      items.reserve(rows.size());
      for (size_t i = 0; i < rows.size(); ++i) items.push_back(model::decode_record(rows.value(i)));
      from.assign(rows.key(rows.size() - 1));
      from.push_back('\0');
      const bool there =
          pass.number == kExpiryPass
              ? run_blocking(site_.store.queue_expiring(table, std::move(items),
                                                        due_times(site_.clock, ttl_delay_s_),
                                                        cursor_key, pass.cursor(from)))
              : run_blocking(site_.store.build_entries(table, pass.number, std::move(items),
                                                       cursor_key, pass.cursor(from)));
      if (!there) return false;
    }
    return true;
  }

  std::optional<std::string> read_cursor(const std::string& key, const Pass& pass) {
    const std::string head = pass.cursor({});
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

  void finish(const catalog::Table& table, const Pass& pass) {
    const std::function<void(catalog::Table&)> done = [&](catalog::Table& changed) {
      if (pass.number == kExpiryPass) {
        if (changed.ttl_changed_ms == table.ttl_changed_ms) changed.ttl_indexing = false;
        return;
      }
      auto schema = std::make_shared<model::TableSchema>(*changed.schema);
      for (model::Index& index : schema->indexes) {
        if (index.number == pass.number) index.building = false;
      }
      changed.schema = std::move(schema);
    };
    run_blocking(site_.catalog.update(table.name(), done));
    const std::string cursor_key = model::cursor_key(table.schema->number, pass.number);
    run_blocking(site_.store.erase(table.schema->number, {cursor_key, prefix_end(cursor_key)}));
  }

  Site site_;
  const int64_t ttl_delay_s_;
};

}  // namespace

std::unique_ptr<Job> make_backfill(Site site, int64_t ttl_delay_s) {
  return std::make_unique<Backfill>(site, ttl_delay_s);
}

}  // namespace stator::work
