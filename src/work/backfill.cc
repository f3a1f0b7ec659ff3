#include <algorithm>

#include "common/bytes.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "work/jobs.h"

namespace stator::work {

namespace {

constexpr size_t kChunkRows = 128;
constexpr size_t kChunkBytes = 1024 * 1024;
constexpr int kChunksAtOnce = 64;

// The cursor of the pass that queues expiring items; no index has this number.
constexpr model::IndexNumber kExpiryPass = UINT32_MAX;

class Backfill final : public Job {
 public:
  explicit Backfill(Site site) : site_(site) {}
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
    for (int chunk = 0; chunk < kChunksAtOnce; ++chunk) {
      engine::Rows rows = read_rows({from, prefix_end(prefix)});
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
          pass == kExpiryPass
              ? run_blocking(site_.store.queue_expiring(table, std::move(items), cursor_key, from))
              : run_blocking(
                    site_.store.build_entries(table, pass, std::move(items), cursor_key, from));
      if (!there) return false;
    }
    return true;
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
                                       {.rows = kChunkRows, .bytes = kChunkBytes}));
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
};

}  // namespace

std::unique_ptr<Job> make_backfill(Site site) {
  return std::make_unique<Backfill>(site);
}

}  // namespace stator::work
