#include <spdlog/spdlog.h>

#include <algorithm>

#include "common/bytes.h"
#include "model/key_codec.h"
#include "work/jobs.h"

namespace stator::work {

namespace {

constexpr size_t kTokensAtOnce = 256;

engine::Range whole(const std::string& prefix) {
  return {prefix, prefix_end(prefix)};
}

class Cleaning final : public Job {
 public:
  explicit Cleaning(Site site) : site_(site) {}
  const char* name() const override { return "erasing what was deleted"; }

  bool step() override {
    for (const model::TableNumber table : site_.catalog.garbage()) {
      if (site_.backups.keeps(table)) {
        erase_all_but_items(table);
      } else {
        run_blocking(site_.store.erase_table(table));
      }
      run_blocking(site_.catalog.garbage_erased(table));
    }
    for (const auto& backup : site_.backups.list()) {
      if (backup->expires_ms && *backup->expires_ms <= site_.clock.now_ms()) end_backup(backup);
    }
    for (const auto& table : site_.catalog.list({}, SIZE_MAX)) {
      if (!table->dead_indexes.empty()) erase_indexes(*table);
      if (table->ttl_clearing) clear_expiry(*table);
    }
    return sweep_tokens();
  }

 private:
  // The items of a table that was deleted with point-in-time recovery are its backup.
  void erase_all_but_items(model::TableNumber table) {
    const engine::Range all = whole(model::table_prefix(table));
    const engine::Range items = whole(model::items_prefix(table));
    run_blocking(site_.store.erase(table, {all.begin, items.begin}));
    run_blocking(site_.store.erase(table, {items.end, all.end}));
    run_blocking(site_.store.erase(table, whole(model::history_prefix(table))));
  }

  // While a table is restored from it, it stays.
  void end_backup(const catalog::BackupPtr& backup) {
    const bool used = !site_.backups.begin_use(backup->arn());
    if (used) return;
    run_blocking(site_.store.erase_table(backup->table.schema->number));
    site_.backups.end_use(backup->arn());
    run_blocking(site_.backups.remove(backup));
    spdlog::info("Backup {} has expired.", backup->arn());
  }

  // Idempotency tokens whose time is over. True if there are more.
  bool sweep_tokens() {
    engine::Engine& engine = site_.store.engine();
    engine::Range due{"xe", "xe"};
    append_big_endian(due.end, static_cast<uint64_t>(site_.clock.now_ms()));
    engine::Rows rows;
    try {
      const auto view = engine.view();
      rows = run_blocking(
          view->scan(due, engine::Direction::kForward, {.rows = kTokensAtOnce, .bytes = SIZE_MAX}));
    } catch (const engine::ViewExpired&) {
      return true;
    }
    if (rows.empty()) return false;
    engine::Mutation mutation;
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string token(rows.key(i).substr(due.end.size()));
      mutation.exclusive.push_back("xt" + token);
    }
    mutation.body = [&](const engine::Held& held, engine::Batch& batch) {
      for (size_t i = 0; i < rows.size(); ++i) {
        batch.erase(std::string(rows.key(i)));
        // The token may have been used again since; its record begins with a version and its own
        // expiry.
        const auto& record = held.exclusive(i);
        const std::string_view expiry = rows.key(i).substr(2, 8);
        if (record && std::string_view(*record).substr(1, 8) == expiry) {
          batch.erase("xt" + std::string(rows.key(i).substr(due.end.size())));
        }
      }
    };
    run_blocking(engine.mutate(std::move(mutation)));
    return rows.more();
  }

  void erase_indexes(const catalog::Table& table) {
    const model::TableNumber number = table.schema->number;
    const auto dead = table.dead_indexes;
    for (const model::IndexNumber index : dead) {
      run_blocking(site_.store.erase(number, whole(model::index_prefix(number, index))));
      std::string counters = model::counter_key(number, index, 'c');
      counters.pop_back();
      run_blocking(site_.store.erase(number, whole(counters)));
      run_blocking(site_.store.erase(number, whole(model::cursor_key(number, index))));
    }
    const std::function<void(catalog::Table&)> forget = [&](catalog::Table& changed) {
      std::erase_if(changed.dead_indexes, [&](auto index) {
        return std::find(dead.begin(), dead.end(), index) != dead.end();
      });
    };
    run_blocking(site_.catalog.update(table.name(), forget));
  }

  void clear_expiry(const catalog::Table& table) {
    const model::TableNumber number = table.schema->number;
    if (table.schema->ttl_attribute.empty()) {
      run_blocking(site_.store.erase(number, whole(model::expiry_prefix(number))));
    }
    const std::function<void(catalog::Table&)> forget = [&](catalog::Table& changed) {
      if (changed.schema->version == table.schema->version) changed.ttl_clearing = false;
    };
    run_blocking(site_.catalog.update(table.name(), forget));
  }

  Site site_;
};

}  // namespace

std::unique_ptr<Job> make_cleaning(Site site) {
  return std::make_unique<Cleaning>(site);
}

}  // namespace stator::work
