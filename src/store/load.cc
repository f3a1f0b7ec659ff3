#include "store/load.h"

#include <algorithm>

#include "model/codec.h"
#include "model/key_codec.h"
#include "store/change.h"

namespace stator::store {

namespace {

constexpr int kMaxAttempts = 64;
constexpr model::IndexNumber kLoadPass = UINT32_MAX - 1;  // no index has this number
constexpr size_t kCommitBytes = 4 * 1024 * 1024;
constexpr size_t kLargestEntryBytes = 2 * kMaxCopiedEntryBytes + 4096;

// At most what an item adds to a batch: itself, its entries with their keys, and counters.
size_t batch_bytes(const model::TableSchema& schema, size_t key_bytes, size_t record_bytes) {
  const size_t entry = 2 * std::min(record_bytes, kLargestEntryBytes) + key_bytes + 96;
  return record_bytes + key_bytes + 96 + schema.indexes.size() * entry;
}

}  // namespace

std::string load_cursor_key(model::TableNumber table) {
  return model::cursor_key(table, kLoadPass);
}

Task<bool> load_items(Store& store, catalog::TablePtr table, engine::Rows rows,
                      std::string cursor) {
  const model::TableSchema& schema = *table->schema;
  const bool decode = needs_old_item(schema);
  const std::string prefix = model::items_prefix(schema.number);
  const std::string cursor_key = load_cursor_key(schema.number);
  size_t begin = 0;
  do {
    size_t end = begin;
    for (size_t bytes = 0; end < rows.size(); ++end) {
      bytes += batch_bytes(schema, rows.key(end).size(), rows.value(end).size());
      if (end > begin && bytes > kCommitBytes) break;
    }
    const std::string reached = end == rows.size() ? cursor : std::string(rows.key(end - 1)) + '\0';
    for (int attempt = 0;; ++attempt) {
      bool stale = false;
      engine::Mutation mutation;
      mutation.shared.push_back(catalog::schema_guard_key(schema.number));
      mutation.exclusive.push_back(cursor_key);
      mutation.body = [&](const engine::Held& held, engine::Batch& batch) {
        stale = held.shared(0) != catalog::encode_schema_version(schema.version);
        if (stale) return;
        const int64_t now_us = store.clock().now_us();
        for (size_t i = begin; i < end; ++i) {
          std::string_view encoded = rows.value(i);
          const model::RecordHeader header = model::read_header(encoded);
          std::optional<model::Item> item;
          if (decode) item = model::decode_item(encoded);
          const Image image{item ? &*item : nullptr, header.size_bytes, encoded, rows.value(i)};
          write_change(schema, std::nullopt, image, prefix + std::string(rows.key(i)), now_us,
                       batch);
        }
        batch.put(cursor_key, reached);
      };
      auto pending = store.engine().mutate(std::move(mutation));
      const engine::Outcome outcome = co_await pending;
      if (stale) co_return false;
      if (outcome.committed()) break;
      if (outcome.kind == engine::Outcome::Kind::kFailed || attempt >= kMaxAttempts)
        throw engine::EngineError(outcome.detail);
    }
    begin = end;
  } while (begin < rows.size());
  co_return true;
}

}  // namespace stator::store
