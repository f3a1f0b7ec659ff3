#include "store/change.h"

#include <algorithm>

#include "capacity/units.h"
#include "model/key_codec.h"
#include "store/history.h"
#include "store/stream_record.h"

namespace stator::store {

namespace {

struct Counts {
  int64_t items = 0;
  int64_t bytes = 0;
};

void add_counts(model::TableNumber table, model::IndexNumber index, const Counts& counts,
                engine::Batch& batch) {
  if (counts.items != 0) batch.add(model::counter_key(table, index, 'c'), counts.items);
  if (counts.bytes != 0) batch.add(model::counter_key(table, index, 'b'), counts.bytes);
}

std::string encode(const model::Item& item, size_t size_bytes, int64_t now_us) {
  return model::encode_record(
      item, {.size_bytes = size_bytes, .written_us = now_us, .origin = model::Origin::kClient});
}

// The key attributes of an item, encoded, so that the queue's reader knows which item it is about.
std::string key_record(const model::TableSchema& table, const model::Item& item) {
  std::string out;
  model::encode_value(model::Value::map(model::key_of(table.key, item)), out);
  return out;
}

// What an index holds of an image; `projected` keeps it where that is not the whole item.
Image entry_of(const model::Index& index, const Image& image, model::Item& projected) {
  if (index.projects_all()) return image;
  projected = project_entry(index, *image.item);
  return {&projected, model::size_bytes(projected)};
}

// The stored form of an index entry.
std::string encode_entry(const model::TableSchema& table, const model::Index& index,
                         const Image& entry, int64_t now_us, size_t max_copied_bytes) {
  if (entry.size_bytes <= max_copied_bytes) {
    return entry.record.empty() ? encode(*entry.item, entry.size_bytes, now_us)
                                : std::string(entry.record);
  }
  model::Item keys;
  for (const model::KeySchema* schema : {&table.key, &index.key}) {
    for (size_t i = 0; i < schema->size(); ++i)
      keys.set(schema->at(i).name, *entry.item->find(schema->at(i).name));
  }
  return model::encode_record(keys, {.size_bytes = entry.size_bytes,
                                     .written_us = now_us,
                                     .origin = model::Origin::kClient,
                                     .reference = true});
}

// Writes the change of one index. Returns its units.
double write_index_change(const model::TableSchema& table, const model::Index& index,
                          const std::optional<Image>& old, const std::optional<Image>& fresh,
                          int64_t now_us, engine::Batch& batch, int64_t& collection_bytes,
                          bool old_is_missing, size_t max_copied_bytes) {
  const auto old_key =
      old && !old_is_missing ? model::index_entry_key(table, index, *old->item) : std::nullopt;
  const auto new_key = fresh ? model::index_entry_key(table, index, *fresh->item) : std::nullopt;
  if (!old_key && !new_key) return 0;
  Counts counts;
  double units = 0;
  model::Item old_projected;
  model::Item new_projected;
  const Image old_entry = old_key ? entry_of(index, *old, old_projected) : Image{};
  const Image new_entry = new_key ? entry_of(index, *fresh, new_projected) : Image{};
  if (old_key && new_key && *old_key == *new_key) {
    if (*old_entry.item == *new_entry.item) return 0;
    batch.put(*new_key, encode_entry(table, index, new_entry, now_us, max_copied_bytes));
    counts.bytes =
        static_cast<int64_t>(new_entry.size_bytes) - static_cast<int64_t>(old_entry.size_bytes);
    units = capacity::write_units(std::max(old_entry.size_bytes, new_entry.size_bytes));
  } else {
    if (old_key) {
      batch.erase(*old_key);
      counts.items -= 1;
      counts.bytes -= static_cast<int64_t>(old_entry.size_bytes);
      units += capacity::write_units(old_entry.size_bytes);
    }
    if (new_key) {
      batch.put(*new_key, encode_entry(table, index, new_entry, now_us, max_copied_bytes));
      counts.items += 1;
      counts.bytes += static_cast<int64_t>(new_entry.size_bytes);
      units += capacity::write_units(new_entry.size_bytes);
    }
  }
  if (!index.global) collection_bytes += counts.bytes;
  add_counts(table.number, index.number, counts, batch);
  return units;
}

// Keeps the queue of expiring items as the images say.
void write_expiry_change(const model::TableSchema& table, const std::optional<Image>& old,
                         const std::optional<Image>& fresh, const std::string& item_key,
                         engine::Batch& batch) {
  const auto before = old ? expiry_of(table, *old->item) : std::nullopt;
  const auto after = fresh ? expiry_of(table, *fresh->item) : std::nullopt;
  if (before == after) return;
  if (before) batch.erase(model::expiry_key(table.number, *before, item_key));
  if (after)
    batch.put(model::expiry_key(table.number, *after, item_key), key_record(table, *fresh->item));
}

}  // namespace

bool needs_old_item(const model::TableSchema& table) {
  return !table.indexes.empty() || !table.ttl_attribute.empty() || !table.captures.empty();
}

std::optional<int64_t> expiry_of(const model::TableSchema& table, const model::Item& item) {
  if (table.ttl_attribute.empty()) return std::nullopt;
  const model::Value* value = item.find(table.ttl_attribute);
  if (value == nullptr || !value->is(model::Type::kNumber)) return std::nullopt;
  const auto seconds = value->as_number().to_int64();
  if (!seconds || *seconds < 0) return std::nullopt;
  return seconds;
}

void write_expiry(const model::TableSchema& table, const model::Item& item,
                  const std::string& item_key, engine::Batch& batch) {
  const auto expiry = expiry_of(table, item);
  if (expiry)
    batch.put(model::expiry_key(table.number, *expiry, item_key), key_record(table, item));
}

void write_new_entry(const model::TableSchema& table, const model::Index& index, const Image& image,
                     int64_t now_us, engine::Batch& batch) {
  int64_t collection_bytes = 0;
  write_index_change(table, index, std::nullopt, image, now_us, batch, collection_bytes, false,
                     kMaxCopiedEntryBytes);
}

model::Item project_entry(const model::Index& index, const model::Item& item) {
  if (index.projects_all()) return item;
  model::Item entry;
  entry.reserve(index.projected.size());
  for (const std::string& name : index.projected) {
    if (const model::Value* value = item.find(name)) entry.append_sorted(name, *value);
  }
  return entry;
}

WriteUnits write_change(const model::TableSchema& table, const std::optional<Image>& old,
                        const std::optional<Image>& fresh, const std::string& item_key,
                        int64_t now_us, engine::Batch& batch, const ChangeRules& rules) {
  WriteUnits units;
  const size_t old_size = old ? old->size_bytes : 0;
  const size_t new_size = fresh ? fresh->size_bytes : 0;
  units.table = capacity::write_units(std::max(old_size, new_size));
  units.indexes.assign(table.indexes.size(), 0);
  if (!old && !fresh) return units;

  std::optional<std::string> record;
  if (fresh)
    record =
        fresh->record.empty() ? encode(*fresh->item, new_size, now_us) : std::string(fresh->record);
  if (table.history_era != 0)
    write_history(table, old ? std::optional(old->record) : std::nullopt, record, item_key, now_us,
                  batch);
  if (record) {
    if (!table.captures.empty()) {
      std::string_view encoded = *record;
      model::read_header(encoded);
      write_stream_records(table, old, Image{fresh->item, new_size, encoded}, item_key, now_us,
                           rules.origin, batch);
    }
    batch.put(item_key, std::move(*record));
  } else {
    if (!table.captures.empty())
      write_stream_records(table, old, std::nullopt, item_key, now_us, rules.origin, batch);
    batch.erase(item_key);
  }
  Counts counts;
  counts.items = (fresh ? 1 : 0) - (old ? 1 : 0);
  counts.bytes = static_cast<int64_t>(new_size) - static_cast<int64_t>(old_size);
  add_counts(table.number, 0, counts, batch);

  int64_t collection_bytes = counts.bytes;
  for (size_t i = 0; i < table.indexes.size(); ++i) {
    const bool old_is_missing = rules.missing != nullptr && (*rules.missing)[i];
    units.indexes[i] = write_index_change(table, table.indexes[i], old, fresh, now_us, batch,
                                          collection_bytes, old_is_missing, rules.max_copied_bytes);
  }
  if (!table.ttl_attribute.empty()) write_expiry_change(table, old, fresh, item_key, batch);
  if (table.has_local_index() && collection_bytes != 0) {
    const model::Item& item = fresh ? *fresh->item : *old->item;
    batch.add(model::collection_key(table.number, *item.find(table.key.partition[0].name)),
              collection_bytes);
  }
  return units;
}

}  // namespace stator::store
