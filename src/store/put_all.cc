#include "store/put_all.h"

#include <algorithm>
#include <map>

#include "model/codec.h"
#include "model/key_codec.h"
#include "store/change.h"

namespace stator::store {

namespace {
constexpr int kMaxAttempts = 64;
}  // namespace

size_t put_bytes(const model::TableSchema& schema, size_t item_bytes) {
  // Keys of entries are made of parts of the item; the old item's entries are erased by their keys.
  constexpr size_t kLargestKeys = 8 * 1024;
  const size_t entry =
      std::min(item_bytes, kMaxCopiedEntryBytes) + 2 * std::min(2 * item_bytes, kLargestKeys) + 128;
  return 2 * item_bytes + 256 + schema.indexes.size() * entry;
}

Task<bool> put_all(Store& store, catalog::TablePtr table, std::vector<ItemToPut> items,
                   std::string companion_key, std::string companion_value) {
  const model::TableSchema& schema = *table->schema;
  std::map<std::string, const ItemToPut*> last;  // by key
  for (const ItemToPut& item : items) last[model::item_key(schema, item.item)] = &item;
  for (int attempt = 0;; ++attempt) {
    bool stale = false;
    engine::Mutation mutation;
    mutation.shared.push_back(catalog::schema_guard_key(schema.number));
    for (const auto& [key, item] : last) mutation.exclusive.push_back(key);
    mutation.exclusive.push_back(companion_key);
    mutation.body = [&](const engine::Held& held, engine::Batch& batch) {
      stale = held.shared(0) != catalog::encode_schema_version(schema.version);
      if (stale) return;
      const int64_t now_us = store.clock().now_us();
      size_t i = 0;
      for (const auto& [key, item] : last) {
        const auto& record = held.exclusive(i++);
        std::optional<model::Item> old_item;
        std::optional<Image> old;
        if (record) {
          std::string_view encoded = *record;
          const model::RecordHeader header = model::read_header(encoded);
          old_item = model::decode_item(encoded);
          old = Image{&*old_item, header.size_bytes};
        }
        write_change(schema, old, Image{&item->item, item->size_bytes}, key, now_us, batch);
      }
      batch.put(companion_key, companion_value);
    };
    auto pending = store.engine().mutate(std::move(mutation));
    const engine::Outcome outcome = co_await pending;
    // No schema changes while a table is being created: another version means that it is gone.
    if (stale) co_return false;
    if (outcome.committed()) co_return true;
    if (outcome.kind == engine::Outcome::Kind::kFailed || attempt >= kMaxAttempts) {
      throw engine::EngineError(outcome.detail);
    }
  }
}

}  // namespace stator::store
