#include "json/writer.h"
#include "ops/operation.h"
#include "ops/table_description.h"
#include "ops/table_request.h"

namespace stator::ops {

namespace {

constexpr int64_t kBackupLife_ms = 35LL * 24 * 60 * 60 * 1000;

catalog::Backup system_backup(const Context& context, const catalog::Table& table,
                              const store::Store::Size& size) {
  catalog::Backup backup;
  backup.created_ms = context.clock.now_ms();
  // Without a random part, its time alone tells it from others of a table of that name.
  while (context.backups.find(table.name(), context.backups.make_id(backup.created_ms, true)))
    ++backup.created_ms;
  backup.id = context.backups.make_id(backup.created_ms, true);
  backup.name = table.name() + "$DeletedTableBackup";
  backup.system = true;
  backup.available = true;
  backup.expires_ms = backup.created_ms + kBackupLife_ms;
  backup.table = table;
  backup.items = size.items;
  backup.bytes = size.bytes;
  return backup;
}

}  // namespace

Task<std::string> delete_table(Request& request) {
  const Context& context = request.context;
  require_table_name(request);
  check_shape(request);
  const auto known = shown_table(request);
  const auto sizes = co_await context.store.sizes(*known->schema);

  const std::function<void(const catalog::Table&)> check = [&](const catalog::Table& table) {
    refuse_unless_active(table, context.clock.now_ms());
    if (table.deletion_protection) {
      invalid(
          "Resource cannot be deleted as it is currently protected against deletion. Disable "
          "deletion protection "
          "first.");
    }
  };
  // A table with point-in-time recovery leaves a backup of what it was.
  const catalog::Catalog::Hold hold(context.catalog, known->schema->number);
  std::optional<catalog::Backup> backup;
  const catalog::Catalog::Addition leave = [&](const catalog::Table& table, engine::Batch& batch) {
    backup.reset();
    if (!table.recovery.since_ms) return;
    backup = system_backup(context, table, sizes[0]);
    catalog::Backups::write(*backup, batch);
  };
  auto removing = context.catalog.remove(known->name(), check, leave);
  const auto removed = co_await removing;
  if (!removed) throw_table_not_found(known->name());
  if (backup) {
    context.backups.note(*backup);
    // Nobody writes any more: now it is known what there was.
    auto counting = context.store.sizes(*removed->schema);
    const auto last_sizes = co_await counting;
    backup->items = last_sizes[0].items;
    backup->bytes = last_sizes[0].bytes;
    auto keeping = context.backups.put(*backup);
    co_await keeping;
  }

  std::string out;
  json::Object answer(out);
  append_deleted_table_description(answer.key("TableDescription"), *removed, sizes,
                                   context.clock.now_ms());
  answer.close();
  co_return out;
}

}  // namespace stator::ops
