#include "store/store.h"

#include <algorithm>
#include <iterator>

#include "capacity/units.h"
#include "common/bytes.h"
#include "model/key_codec.h"
#include "store/change.h"
#include "store/put_all.h"

namespace stator::store {

namespace {

constexpr int kMaxAttempts = 64;  // of a change that meets conflicts or a schema change
// Of a change whose entries in a new index were predicted wrongly: each time somebody else has
// changed the item, so the many writers of one item are all served in turn.
constexpr int kMaxPredictions = 4096;
constexpr int kMaxViews = 64;  // of a read whose view expires
constexpr size_t kFirstChunkRows = 64;
constexpr size_t kChunkRows = 512;
constexpr size_t kChunkBytes = 256 * 1024;
// What the deletions of expired items may write in one commit before the rest is left for another.
constexpr size_t kExpiryBytes = 2 * 1024 * 1024;

[[noreturn]] void throw_table_gone() {
  throw ApiError("ResourceNotFoundException", "Requested resource not found");
}

[[noreturn]] void throw_engine_failed(const std::string& detail) {
  throw engine::EngineError(detail);
}

int64_t counter_value(const std::optional<std::string>& stored) {
  if (!stored || stored->size() != 8) return 0;
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = (value << 8) | static_cast<unsigned char>((*stored)[i]);
  return static_cast<int64_t>(value);
}

bool is_current(const engine::Held& held, size_t guard, const model::TableSchema& schema) {
  const auto& version = held.shared(guard);
  return version && *version == catalog::encode_schema_version(schema.version);
}

// What the body of a change makes of one write. Runs under the item's latch, perhaps several times.
void run_write(const Write& write, const std::string& key, const std::optional<std::string>& record,
               int64_t now_us, engine::Batch& batch, WriteResult& result,
               const ChangeRules& rules) {
  const model::TableSchema& schema = *write.table->schema;
  std::optional<Image> old;
  std::optional<model::Item> old_item;
  if (record) {
    std::string_view encoded = *record;
    const model::RecordHeader header = model::read_header(encoded);
    const bool decode = write.condition || write.want_old || write.kind == Write::Kind::kUpdate ||
                        needs_old_item(schema);
    if (decode) old_item = model::decode_item(encoded);
    old = Image{old_item ? &*old_item : nullptr, header.size_bytes, encoded, *record};
  }
  result.size_bytes = old ? old->size_bytes : 0;
  result.units.table = capacity::write_units(result.size_bytes);
  result.units.indexes.assign(schema.indexes.size(), 0);
  if (write.presence == Write::Presence::kMustExist && !old) {
    result.kind = WriteResult::Kind::kMissing;
    return;
  }
  if (write.presence == Write::Presence::kMustNotExist && old) {
    result.kind = WriteResult::Kind::kDuplicate;
    result.old_item = std::move(old_item);
    return;
  }
  static const model::Item kNoItem;
  if (write.condition && !expr::evaluate(*write.condition, old_item ? *old_item : kNoItem)) {
    result.kind = WriteResult::Kind::kConditionFailed;
    result.old_item = std::move(old_item);
    return;
  }
  switch (write.kind) {
    case Write::Kind::kCheck:
      return;
    case Write::Kind::kPut: {
      const Image fresh{&write.item, write.item_size_bytes};
      result.units = write_change(schema, old, fresh, key, now_us, batch, rules);
      result.size_bytes = fresh.size_bytes;
      break;
    }
    case Write::Kind::kDelete:
      result.units = write_change(schema, old, std::nullopt, key, now_us, batch, rules);
      break;
    case Write::Kind::kUpdate: {
      std::optional<model::Item> updated =
          write.update.apply(old_item ? &*old_item : nullptr, write.item);
      if (!updated) break;
      write.update.check_updated_index_keys(*updated, schema);
      const size_t size = model::size_bytes(*updated);
      if (size > kMaxItemBytes)
        invalid("Item size to update has exceeded the maximum allowed size");
      const Image fresh{&*updated, size};
      result.units = write_change(schema, old, fresh, key, now_us, batch, rules);
      result.size_bytes = size;
      if (write.want_new) result.new_item = std::move(updated);
      break;
    }
  }
  if (write.want_old) result.old_item = std::move(old_item);
}

// Whether the old image of an item has its entry in an index that is being built has to be seen,
// and so held, before the item itself is: the entries are predicted from a view, and a wrong
// prediction is made again.
class BuildingEntries {
 public:
  // Adds the entries of `record` to the keys to hold.
  void predict(const model::TableSchema& schema, const std::optional<std::string>& record,
               std::vector<std::string>& exclusive) {
    schema_ = &schema;
    predicted_ = entries_of(record);
    held_at_.assign(schema.indexes.size(), 0);
    for (size_t i = 0; i < predicted_.size(); ++i) {
      if (!predicted_[i]) continue;
      held_at_[i] = exclusive.size();
      exclusive.push_back(*predicted_[i]);
    }
  }
  // False if `record` has other entries than predicted.
  bool look(const engine::Held& held, const std::optional<std::string>& record) {
    if (entries_of(record) != predicted_) return false;
    missing_.assign(predicted_.size(), false);
    for (size_t i = 0; i < predicted_.size(); ++i) {
      missing_[i] = predicted_[i] && !held.exclusive(held_at_[i]).has_value();
    }
    return true;
  }
  const std::vector<bool>* missing() const { return schema_ != nullptr ? &missing_ : nullptr; }

 private:
  std::vector<std::optional<std::string>> entries_of(
      const std::optional<std::string>& record) const {
    std::vector<std::optional<std::string>> entries(schema_->indexes.size());
    if (!record) return entries;
    const model::Item item = model::decode_record(*record);
    for (size_t i = 0; i < entries.size(); ++i) {
      const model::Index& index = schema_->indexes[i];
      if (index.building) entries[i] = model::index_entry_key(*schema_, index, item);
    }
    return entries;
  }

  const model::TableSchema* schema_ = nullptr;
  std::vector<std::optional<std::string>> predicted_;
  std::vector<size_t> held_at_;
  std::vector<bool> missing_;
};

// Many large items in many indexes must still fit into one batch: the more entries, the smaller the
// copies.
size_t copied_bytes_for(std::span<const Write> writes) {
  constexpr size_t kBudgetBytes = 2 * 1024 * 1024;
  size_t entries = 1;
  for (const Write& write : writes) entries += write.table->schema->indexes.size();
  return std::min(kMaxCopiedEntryBytes, kBudgetBytes / entries);
}

// A collection (all items of one partition key in table and local indexes) holds at most 10 GB.
void check_collection(const Write& write, const WriteResult& result) {
  if (write.kind != Write::Kind::kPut && write.kind != Write::Kind::kUpdate) return;
  if (result.collection_bytes < kMaxCollectionBytes) return;
  throw ApiError("ItemCollectionSizeLimitExceededException", "Collection size exceeded.");
}

const model::Value& partition_value(const Write& write) {
  return *write.item.find(write.table->schema->key.partition[0].name);
}

// Looks the table up again after its schema changed under a write. False if it is gone.
Task<bool> try_refresh(catalog::Catalog& catalog, catalog::TablePtr& table, int64_t now_ms) {
  auto found = catalog.find(table->name());
  if (found && found->schema->version == table->schema->version) {
    // The change is committed, but the catalog has not been told of it yet.
    auto reloading = catalog.reload(table->name());
    found = co_await reloading;
  }
  if (!found || found->schema->number != table->schema->number) co_return false;
  const auto state = found->state(now_ms);
  if (state == catalog::TableState::kDeleting || state == catalog::TableState::kGone)
    co_return false;
  table = found;
  co_return true;
}

// After a try of background work that changed nothing: looks the table up again if its schema
// changed. False if the table is gone. Throws if another try is not worth it.
Task<bool> prepare_again(const engine::Outcome& outcome, bool stale, int attempt,
                         catalog::Catalog& catalog, catalog::TablePtr& table, int64_t now_ms) {
  if (outcome.kind == engine::Outcome::Kind::kFailed || attempt >= kMaxAttempts)
    throw_engine_failed(outcome.detail);
  if (!stale) co_return true;
  auto refreshing = try_refresh(catalog, table, now_ms);
  co_return co_await refreshing;
}

Task<void> refresh(catalog::Catalog& catalog, catalog::TablePtr& table, int64_t now_ms) {
  auto refreshing = try_refresh(catalog, table, now_ms);
  const bool there = co_await refreshing;
  if (!there) throw_table_gone();
}

// What deletes an item whose time has come.
Write expiring(const catalog::TablePtr& table, model::Item key) {
  Write deletion;
  deletion.kind = Write::Kind::kDelete;
  deletion.table = table;
  deletion.item = std::move(key);
  deletion.origin = model::Origin::kService;
  return deletion;
}

// Throws if the attributes that `index` has as keys cannot be keys.
void check_index_key(const model::TableSchema& table, const model::Index& index,
                     const model::Item& item) {
  for (size_t i = 0; i < index.key.size(); ++i) {
    const model::KeyAttribute& attribute = index.key.at(i);
    if (table.key.position(attribute.name)) continue;
    const model::Value* value = item.find(attribute.name);
    if (value == nullptr) continue;
    if (value->type() != model::value_type(attribute.type)) {
      invalid("One or more parameter values were invalid: Type mismatch for Index Key " +
              attribute.name + " Expected: " + std::string(model::key_type_name(attribute.type)) +
              " Actual: " + std::string(model::type_name(value->type())) +
              " IndexName: " + index.name);
    }
    const bool empty_string = value->is(model::Type::kString) && value->as_string().empty();
    const bool empty_binary = value->is(model::Type::kBinary) && value->as_binary().empty();
    if (empty_string || empty_binary) {
      invalid(
          "One or more parameter values are not valid. A value specified for a secondary index key "
          "is not "
          "supported. The AttributeValue for a key attribute cannot contain an empty " +
          std::string(empty_string ? "string" : "binary") + " value. IndexName: " + index.name +
          ", IndexKey: " + attribute.name);
    }
  }
}

}  // namespace

Store::Store(engine::Engine& engine, catalog::Catalog& catalog, const Clock& clock)
    : engine_(engine), catalog_(catalog), clock_(clock) {}

void Store::count_access(const Write& write) {
  if (write.table->insights.empty()) return;
  insights_.accessed(*write.table, nullptr, write.item);
  if (write.kind != Write::Kind::kPut) return;  // of the others only the key is known here
  for (const model::Index& index : write.table->schema->indexes) {
    if (index.global) insights_.accessed(*write.table, &index, write.item);
  }
}

Task<std::optional<std::string>> Store::get(catalog::TablePtr table, model::Item key) {
  const std::string engine_key = model::item_key(*table->schema, key);
  insights_.accessed(*table, nullptr, key);
  for (int attempt = 0;; ++attempt) {
    const auto view = engine_.view();
    try {
      co_return co_await view->get(engine_key);
    } catch (const engine::ViewExpired&) {
      if (attempt >= kMaxViews) throw;
    }
  }
}

Task<std::vector<std::optional<std::string>>> Store::get_many(std::vector<Key> keys) {
  std::vector<std::string> engine_keys;
  engine_keys.reserve(keys.size());
  for (const Key& key : keys) {
    engine_keys.push_back(model::item_key(*key.table->schema, key.key));
    insights_.accessed(*key.table, nullptr, key.key);
  }
  for (int attempt = 0;; ++attempt) {
    const auto view = engine_.view();
    try {
      co_return co_await view->get_many(engine_keys);
    } catch (const engine::ViewExpired&) {
      if (attempt >= kMaxViews) throw;
    }
  }
}

Task<PageEnd> Store::read(ReadPlan plan, std::function<void(const Found&)> visit) {
  PageEnd end;
  engine::Range range = plan.range;
  auto view = engine_.view();
  int views = 0;
  size_t chunk_rows = kFirstChunkRows;
  while (range.begin < range.end) {
    engine::ScanLimit limit;
    limit.rows = plan.limit ? std::min(chunk_rows, *plan.limit - end.scanned) : chunk_rows;
    limit.bytes = kChunkBytes;
    chunk_rows = kChunkRows;
    engine::Rows rows;
    bool expired = false;
    try {
      rows = co_await view->scan(range, plan.direction, limit);
    } catch (const engine::ViewExpired&) {
      if (++views > kMaxViews) throw;
      expired = true;
    }
    if (expired) {
      view = engine_.view();
      continue;
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      std::string_view encoded = rows.value(i);
      const model::RecordHeader header = model::read_header(encoded);
      if (!plan.table->insights.empty())
        insights_.accessed(*plan.table, plan.index, model::decode_item(encoded));
      std::optional<std::string> fetched;
      std::string projected;
      if (plan.fetch_items || header.reference) {
        const std::string item_key =
            model::item_key(*plan.table->schema, model::decode_item(encoded));
        for (bool done = false; !done;) {
          try {
            fetched = co_await view->get(item_key);
            done = true;
          } catch (const engine::ViewExpired&) {
            if (++views > kMaxViews) throw;
          }
          if (!done) view = engine_.view();
        }
        if (!fetched) continue;  // deleted between two views of one page
        encoded = *fetched;
        const model::RecordHeader item_header = model::read_header(encoded);
        if (plan.fetch_items) {
          end.fetch_units += capacity::read_units(item_header.size_bytes, true);
        } else if (!plan.index->projects_all()) {
          projected = model::encode_item(project_entry(*plan.index, model::decode_item(encoded)));
          encoded = projected;
        }
      }
      visit({encoded, header.size_bytes});
      end.scanned += 1;
      end.size_bytes += header.size_bytes;
      const bool full =
          end.size_bytes >= kMaxPageBytes || (plan.limit && end.scanned >= *plan.limit);
      if (full) {
        end.last_key = rows.key(i);
        end.last_record = rows.value(i);
        end.more = true;
        co_return end;
      }
    }
    if (rows.empty() || !rows.more()) break;
    const std::string_view last = rows.key(rows.size() - 1);
    if (plan.direction == engine::Direction::kForward) {
      range.begin.assign(last);
      range.begin.push_back('\0');
    } else {
      range.end.assign(last);
    }
  }
  co_return end;
}

Task<WriteResult> Store::write(Write write) {
  int predictions = 0;
  for (int attempt = 0;; ++attempt) {
    const model::TableSchema& schema = *write.table->schema;
    const std::string key = model::item_key(schema, write.item);
    const bool counts_collection = schema.has_local_index();
    const int64_t now_us = clock_.now_us();
    WriteResult result;
    bool stale = false;
    engine::Mutation mutation;
    mutation.kind = engine::ChangeKind::kSingle;
    mutation.shared.push_back(catalog::schema_guard_key(schema.number));
    if (counts_collection)
      mutation.shared.push_back(model::collection_key(schema.number, partition_value(write)));
    mutation.exclusive.push_back(key);
    BuildingEntries building;
    if (schema.is_building()) {
      auto reading = get(write.table, write.item);
      const auto record = co_await reading;
      building.predict(schema, record, mutation.exclusive);
    }
    bool again = false;
    mutation.body = [&](const engine::Held& held, engine::Batch& batch) {
      result = WriteResult();
      stale = !is_current(held, 0, schema);
      again = !stale && schema.is_building() && !building.look(held, held.exclusive(0));
      if (stale || again) return;
      if (counts_collection) {
        result.collection_bytes = counter_value(held.shared(1));
        check_collection(write, result);
      }
      const int64_t collection_bytes = result.collection_bytes;
      run_write(write, key, held.exclusive(0), now_us, batch, result,
                {.missing = building.missing(), .origin = write.origin});
      result.collection_bytes = collection_bytes;
    };
    auto pending = engine_.mutate(std::move(mutation));
    const engine::Outcome outcome = co_await pending;
    if (outcome.committed() && !stale && !again) {
      count_access(write);
      co_return result;
    }
    if (outcome.kind == engine::Outcome::Kind::kFailed) throw_engine_failed(outcome.detail);
    if (outcome.committed() && again && ++predictions < kMaxPredictions) {
      --attempt;
      continue;
    }
    if (attempt >= kMaxAttempts || outcome.kind == engine::Outcome::Kind::kTimedOut) {
      // Single writes hold an item for microseconds; who holds it for seconds is a transaction.
      const bool timed_out = outcome.kind == engine::Outcome::Kind::kTimedOut;
      if (timed_out || outcome.holder == engine::ChangeKind::kTransaction) {
        throw ApiError("TransactionConflictException", "Transaction is ongoing for the item");
      }
      throw_engine_failed("the item stayed busy with other writes");
    }
    if (stale) {
      auto refreshing = refresh(catalog_, write.table, clock_.now_ms());
      co_await refreshing;
    }
  }
}

Task<TransactionResult> Store::transact(std::vector<Write> writes,
                                        std::optional<Companion> companion) {
  auto pending = write_together(writes, engine::ChangeKind::kTransaction, std::move(companion));
  co_return co_await pending;
}

Task<TransactionResult> Store::write_together(std::span<Write> writes, engine::ChangeKind kind,
                                              std::optional<Companion> companion) {
  int predictions = 0;
  for (int attempt = 0;; ++attempt) {
    TransactionResult outcome_of;
    engine::Mutation mutation;
    mutation.kind = kind;
    // Guards are shared by the writes of one table; collection sizes follow, one for each write
    // that has one.
    std::vector<size_t> guard_of(writes.size());
    std::vector<size_t> collection_of(writes.size(), SIZE_MAX);
    const auto share = [&](std::string key) {
      const auto at = std::find(mutation.shared.begin(), mutation.shared.end(), key);
      if (at != mutation.shared.end()) return static_cast<size_t>(at - mutation.shared.begin());
      mutation.shared.push_back(std::move(key));
      return mutation.shared.size() - 1;
    };
    for (size_t i = 0; i < writes.size(); ++i) {
      const model::TableSchema& schema = *writes[i].table->schema;
      guard_of[i] = share(catalog::schema_guard_key(schema.number));
      if (schema.has_local_index()) {
        collection_of[i] = share(model::collection_key(schema.number, partition_value(writes[i])));
      }
      mutation.exclusive.push_back(model::item_key(schema, writes[i].item));
    }
    const std::vector<std::string> keys = mutation.exclusive;
    if (companion) mutation.exclusive.push_back(companion->key);
    std::vector<BuildingEntries> building(writes.size());
    for (size_t i = 0; i < writes.size(); ++i) {
      if (!writes[i].table->schema->is_building()) continue;
      auto reading = get(writes[i].table, writes[i].item);
      const auto record = co_await reading;
      building[i].predict(*writes[i].table->schema, record, mutation.exclusive);
    }
    bool again = false;
    const int64_t now_us = clock_.now_us();
    const size_t max_copied_bytes = copied_bytes_for(writes);
    bool stale = false;
    mutation.body = [&](const engine::Held& held, engine::Batch& batch) {
      outcome_of = TransactionResult();
      outcome_of.results.resize(writes.size());
      stale = false;
      for (size_t i = 0; i < writes.size(); ++i)
        stale = stale || !is_current(held, guard_of[i], *writes[i].table->schema);
      again = false;
      for (size_t i = 0; !stale && i < writes.size(); ++i) {
        again = again ||
                (building[i].missing() != nullptr && !building[i].look(held, held.exclusive(i)));
      }
      if (stale || again) return;
      if (companion && !companion->inspect(held.exclusive(keys.size()))) {
        outcome_of.kind = TransactionResult::Kind::kRefused;
        return;
      }
      bool cancelled = false;
      for (size_t i = 0; i < writes.size(); ++i) {
        WriteResult& result = outcome_of.results[i];
        try {
          if (collection_of[i] != SIZE_MAX) {
            result.collection_bytes = counter_value(held.shared(collection_of[i]));
            check_collection(writes[i], result);
          }
          const int64_t collection_bytes = result.collection_bytes;
          run_write(writes[i], keys[i], held.exclusive(i), now_us, batch, result,
                    {.missing = building[i].missing(),
                     .max_copied_bytes = max_copied_bytes,
                     .origin = writes[i].origin});
          result.collection_bytes = collection_bytes;
        } catch (const ApiError& error) {
          result.error = error;
        }
        cancelled = cancelled || !result.done();
      }
      if (cancelled) {
        outcome_of.kind = TransactionResult::Kind::kCancelled;
        batch.clear();
        return;
      }
      if (companion) companion->finish(outcome_of.results, batch);
    };
    auto pending = engine_.mutate(std::move(mutation));
    const engine::Outcome outcome = co_await pending;
    if (outcome.committed() && !stale && !again) {
      for (const Write& write : writes) count_access(write);
      co_return outcome_of;
    }
    if (outcome.kind == engine::Outcome::Kind::kFailed) throw_engine_failed(outcome.detail);
    if (outcome.committed() && again && ++predictions < kMaxPredictions) {
      --attempt;
      continue;
    }
    if (attempt >= kMaxAttempts || outcome.kind == engine::Outcome::Kind::kTimedOut) {
      outcome_of.kind = TransactionResult::Kind::kConflict;
      co_return outcome_of;
    }
    if (stale) {
      for (Write& write : writes) {
        auto refreshing = refresh(catalog_, write.table, clock_.now_ms());
        co_await refreshing;
      }
    }
  }
}

Task<std::vector<WriteResult>> Store::write_each(std::span<Write> writes) {
  std::vector<WriteResult> results;
  results.reserve(writes.size());
  for (size_t begin = 0; begin < writes.size();) {
    size_t end = begin;
    for (size_t bytes = 0; end < writes.size(); ++end) {
      bytes += put_bytes(*writes[end].table->schema, writes[end].item_size_bytes);
      if (end > begin && bytes > kMaxPutBytes) break;
    }
    if (end - begin > 1) {
      auto pending = write_together(writes.subspan(begin, end - begin), engine::ChangeKind::kSingle,
                                    std::nullopt);
      TransactionResult done = co_await pending;
      if (done.kind == TransactionResult::Kind::kCommitted) {
        std::move(done.results.begin(), done.results.end(), std::back_inserter(results));
        begin = end;
        continue;
      }
    }
    // Alone, or one of them cannot be: whichever it is says so itself.
    for (; begin < end; ++begin) {
      auto pending = write(writes[begin]);
      results.push_back(co_await pending);
    }
  }
  co_return results;
}

Task<uint64_t> Store::stream_horizon() {
  const int64_t now_s = clock_.now_s();
  {
    const std::lock_guard lock(horizon_mutex_);
    if (horizon_s_ == now_s) co_return horizon_;
  }
  auto finding = engine_.version_at(now_s - catalog::kStreamRetentionMs / 1000);
  const uint64_t horizon = co_await finding;
  const std::lock_guard lock(horizon_mutex_);
  horizon_s_ = now_s;
  horizon_ = horizon;
  co_return horizon;
}

Task<std::vector<Store::Size>> Store::sizes(const model::TableSchema& table) {
  std::vector<std::string> keys;
  const auto add = [&](model::IndexNumber index) {
    keys.push_back(model::counter_key(table.number, index, 'c'));
    keys.push_back(model::counter_key(table.number, index, 'b'));
  };
  add(0);
  for (const model::Index& index : table.indexes) add(index.number);
  for (int attempt = 0;; ++attempt) {
    const auto view = engine_.view();
    try {
      const auto values = co_await view->get_many(keys);
      std::vector<Size> sizes;
      for (size_t i = 0; i < values.size(); i += 2)
        sizes.push_back({counter_value(values[i]), counter_value(values[i + 1])});
      co_return sizes;
    } catch (const engine::ViewExpired&) {
      if (attempt >= kMaxViews) throw;
    }
  }
}

Task<void> Store::erase_table(model::TableNumber table) {
  const std::string prefix = model::table_prefix(table);
  auto erasing = erase(table, engine::Range{prefix, prefix_end(prefix)});
  co_await erasing;
  const std::string history = model::history_prefix(table);
  auto erasing_history = erase(table, engine::Range{history, prefix_end(history)});
  co_await erasing_history;
}

Task<bool> Store::build_entries(catalog::TablePtr table, model::IndexNumber number,
                                std::vector<model::Item> items, std::string cursor_key,
                                std::string cursor) {
  for (int attempt = 0;; ++attempt) {
    const model::TableSchema& schema = *table->schema;
    const auto index = std::find_if(schema.indexes.begin(), schema.indexes.end(),
                                    [&](const model::Index& one) { return one.number == number; });
    if (index == schema.indexes.end()) co_return false;
    const int64_t now_us = clock_.now_us();
    std::vector<std::string> entries;
    engine::Mutation mutation;
    mutation.shared.push_back(catalog::schema_guard_key(schema.number));
    for (const model::Item& item : items) {
      auto entry = model::index_entry_key(schema, *index, item);
      if (!entry) continue;
      mutation.exclusive.push_back(model::item_key(schema, item));
      mutation.exclusive.push_back(*entry);
      entries.push_back(std::move(*entry));
    }
    mutation.exclusive.push_back(cursor_key);
    bool stale = false;
    mutation.body = [&](const engine::Held& held, engine::Batch& batch) {
      stale = !is_current(held, 0, schema);
      if (stale) return;
      for (size_t i = 0; i < entries.size(); ++i) {
        const auto& record = held.exclusive(2 * i);
        // Gone, there already, or changed since by a writer, who then wrote the entry himself.
        if (!record || held.exclusive(2 * i + 1)) continue;
        std::string_view encoded = *record;
        const model::RecordHeader header = model::read_header(encoded);
        const model::Item item = model::decode_item(encoded);
        if (model::index_entry_key(schema, *index, item) != entries[i]) continue;
        write_new_entry(schema, *index, Image{&item, header.size_bytes}, now_us, batch);
      }
      batch.put(cursor_key, cursor);
    };
    auto pending = engine_.mutate(std::move(mutation));
    const engine::Outcome outcome = co_await pending;
    if (outcome.committed() && !stale) co_return true;
    auto preparing = prepare_again(outcome, stale, attempt, catalog_, table, clock_.now_ms());
    const bool there = co_await preparing;
    if (!there) co_return false;
  }
}

Task<bool> Store::queue_expiring(catalog::TablePtr table, std::vector<model::Item> items,
                                 DueTimes due_times, std::string cursor_key, std::string cursor) {
  for (int attempt = 0;; ++attempt) {
    const model::TableSchema& schema = *table->schema;
    if (schema.ttl_attribute.empty()) co_return false;
    const int64_t now_us = clock_.now_us();
    engine::Mutation mutation;
    mutation.shared.push_back(catalog::schema_guard_key(schema.number));
    for (const model::Item& item : items) {
      if (expiry_of(schema, item)) mutation.exclusive.push_back(model::item_key(schema, item));
    }
    const std::vector<std::string> keys = mutation.exclusive;
    mutation.exclusive.push_back(cursor_key);
    bool stale = false;
    mutation.body = [&](const engine::Held& held, engine::Batch& batch) {
      stale = !is_current(held, 0, schema);
      if (stale) return;
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto& record = held.exclusive(i);
        if (!record) continue;
        model::Item item = model::decode_record(*record);
        const auto expiry_s = expiry_of(schema, item);
        if (!expiry_s) continue;
        // What is not deleted here is queued, and leaves by way of the queue.
        const bool deletes = due_times.has(*expiry_s) && !schema.is_building();
        if (!deletes || batch.bytes() >= kExpiryBytes) {
          write_expiry(schema, item, keys[i], batch);
          continue;
        }
        WriteResult result;
        run_write(expiring(table, std::move(item)), keys[i], record, now_us, batch, result,
                  {.origin = model::Origin::kService});
      }
      batch.put(cursor_key, cursor);
    };
    auto pending = engine_.mutate(std::move(mutation));
    const engine::Outcome outcome = co_await pending;
    if (outcome.committed() && !stale) co_return true;
    auto preparing = prepare_again(outcome, stale, attempt, catalog_, table, clock_.now_ms());
    const bool there = co_await preparing;
    if (!there) co_return false;
  }
}

Task<size_t> Store::expire(catalog::TablePtr table, std::vector<Due> due) {
  const std::string attribute = table->schema->ttl_attribute;
  for (int attempt = 0;; ++attempt) {
    const model::TableSchema& schema = *table->schema;
    // The queue of another attribute is erased as a whole.
    if (attribute.empty() || schema.ttl_attribute != attribute) co_return due.size();
    const int64_t now_us = clock_.now_us();
    engine::Mutation mutation;
    mutation.shared.push_back(catalog::schema_guard_key(schema.number));
    for (const Due& one : due) mutation.exclusive.push_back(model::item_key(schema, one.key));
    const std::vector<std::string> keys = mutation.exclusive;
    std::vector<BuildingEntries> building(due.size());
    for (size_t i = 0; schema.is_building() && i < due.size(); ++i) {
      auto reading = get(table, due[i].key);
      const auto record = co_await reading;
      building[i].predict(schema, record, mutation.exclusive);
    }
    size_t done = 0;
    bool stale = false;
    mutation.body = [&](const engine::Held& held, engine::Batch& batch) {
      done = 0;
      stale = !is_current(held, 0, schema);
      if (stale) return;
      for (; done < due.size() && batch.bytes() < kExpiryBytes; ++done) {
        const auto& record = held.exclusive(done);
        const bool expires =
            record && expiry_of(schema, model::decode_record(*record)) == due[done].expiry_s;
        if (!expires) {
          batch.erase(due[done].queue_row);
          continue;
        }
        // A wrong prediction is made again when its row is read again.
        BuildingEntries& entries = building[done];
        if (schema.is_building() && !entries.look(held, record)) continue;
        WriteResult result;
        run_write(expiring(table, due[done].key), keys[done], record, now_us, batch, result,
                  {.missing = entries.missing(), .origin = model::Origin::kService});
      }
    };
    auto pending = engine_.mutate(std::move(mutation));
    const engine::Outcome outcome = co_await pending;
    if (outcome.committed() && !stale) co_return done;
    auto preparing = prepare_again(outcome, stale, attempt, catalog_, table, clock_.now_ms());
    const bool there = co_await preparing;
    if (!there) co_return due.size();
  }
}

Task<void> Store::erase(model::TableNumber table, engine::Range range) {
  for (int attempt = 0;; ++attempt) {
    engine::Mutation mutation;
    mutation.exclusive.push_back(catalog::schema_guard_key(table));
    mutation.body = [&](const engine::Held&, engine::Batch& batch) { batch.erase_range(range); };
    auto pending = engine_.mutate(std::move(mutation));
    const engine::Outcome outcome = co_await pending;
    if (outcome.committed()) break;
    if (outcome.kind == engine::Outcome::Kind::kFailed || attempt >= kMaxAttempts)
      throw_engine_failed(outcome.detail);
  }
  engine_.reclaim(range);
}

void check_index_keys(const model::TableSchema& table, const model::Item& item) {
  // Global indexes are looked at first (observed; the schema has the local ones first).
  for (const bool global : {true, false}) {
    for (const model::Index& index : table.indexes) {
      if (index.global == global) check_index_key(table, index, item);
    }
  }
}

}  // namespace stator::store
