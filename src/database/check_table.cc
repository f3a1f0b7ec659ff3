#include "database/check_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/codec.h"
#include "model/key_codec.h"
#include "store/change.h"

namespace stator::check {

namespace {

// As long as items are still being loaded or an expiry queue is being made, some are missing.
bool is_counted(const model::Index& index) {
  return !index.building;
}

constexpr std::string_view kPartsOfTables = "deijns";

}  // namespace

void TableCheck::run() {
  ++findings_.report.tables;
  name_ = "table " + table_.name();
  const bool read_all = findings_.guarded(name_, [&] {
    store_.for_each(model::items_prefix(schema_.number),
                    [&](std::string_view key, std::string_view record) {
                      findings_.guarded(name_ + ", an item", [&] { check_item(key, record); });
                    });
    if (!collection_.empty()) end_collection();
  });
  if (!read_all) {
    findings_.problem(name_ + ": its indexes and counters were not compared with its items");
    return;
  }
  check_counter(0, implied_[0], name_);
  for (const model::Index& index : schema_.indexes)
    findings_.guarded(name_ + ", index " + index.name, [&] { check_entries(index); });
  findings_.guarded(name_ + ", its queue of expiring items", [&] { check_expiry_queue(); });
  findings_.guarded(name_ + ", its item collections", [&] { check_collections(); });
  findings_.guarded(name_, [&] { look_for_strangers(); });
}

void TableCheck::check_item(std::string_view key, std::string_view record) {
  ++findings_.report.items;
  std::string_view encoded = record;
  const model::RecordHeader header = model::read_header(encoded);
  const model::Item item = model::decode_item(encoded);
  for (size_t i = 0; i < schema_.key.size(); ++i) {
    const model::KeyAttribute& attribute = schema_.key.at(i);
    const model::Value* value = item.find(attribute.name);
    if (value == nullptr || value->type() != model::value_type(attribute.type)) {
      findings_.problem(fmt::format("{}: an item without its key {}", name_, attribute.name));
      return;
    }
  }
  const std::string shown = name_ + ", item " + describe_key(schema_.key, item);
  if (model::item_key(schema_, item) != key)
    findings_.problem(shown + ": it is kept under another item's key");
  const size_t size_bytes = model::size_bytes(item);
  if (size_bytes != header.size_bytes)
    findings_.problem(fmt::format("{}: it has {} bytes, and says that it has {}", shown, size_bytes,
                                  header.size_bytes));
  Counted& items = implied_[0];
  ++items.count;
  items.bytes += static_cast<int64_t>(header.size_bytes);

  auto collection_bytes = static_cast<int64_t>(header.size_bytes);
  for (const model::Index& index : schema_.indexes) {
    if (!is_counted(index)) continue;
    const auto entry_key = model::index_entry_key(schema_, index, item);
    if (!entry_key) continue;
    const size_t entry_bytes = model::size_bytes(store::project_entry(index, item));
    Counted& entries = implied_[index.number];
    ++entries.count;
    entries.bytes += static_cast<int64_t>(entry_bytes);
    if (!index.global) collection_bytes += static_cast<int64_t>(entry_bytes);
    findings_.guarded(shown, [&] { check_entry_of(index, *entry_key, item, shown); });
  }

  if (const auto expiry = store::expiry_of(schema_, item); expiry && !table_.ttl_indexing) {
    ++expiring_;
    if (!store_.get(model::expiry_key(schema_.number, *expiry, key)))
      findings_.problem(shown + ": it expires, and is not in the queue of expiring items");
  }

  // Items of one partition key lie together.
  if (!schema_.has_local_index()) return;
  std::string collection =
      model::collection_key(schema_.number, *item.find(schema_.key.partition[0].name));
  if (collection != collection_) {
    if (!collection_.empty()) end_collection();
    collection_ = std::move(collection);
    collection_bytes_ = 0;
  }
  collection_bytes_ += collection_bytes;
}

void TableCheck::check_entry_of(const model::Index& index, const std::string& entry_key,
                                const model::Item& item, const std::string& shown) {
  const auto record = store_.get(entry_key);
  if (!record) {
    findings_.problem(fmt::format("{}: index {} has no entry of it", shown, index.name));
    return;
  }
  std::string_view encoded = *record;
  const model::RecordHeader header = model::read_header(encoded);
  const model::Item entry = model::decode_item(encoded);
  const model::Item projected = store::project_entry(index, item);
  const auto is_of_item = [&](const model::Attribute& attribute) {
    const model::Value* value = projected.find(attribute.name);
    return value != nullptr && *value == attribute.value;
  };
  // An entry that is not worth copying holds only keys.
  const bool same =
      header.reference ? std::all_of(entry.begin(), entry.end(), is_of_item) : entry == projected;
  if (!same)
    findings_.problem(fmt::format("{}: its entry in index {} says otherwise", shown, index.name));
  // Of a reference this is not read by anybody.
  if (same && header.size_bytes != model::size_bytes(projected))
    findings_.problem(
        fmt::format("{}: its entry in index {} has another size than it says", shown, index.name));
}

void TableCheck::check_entries(const model::Index& index) {
  const std::string prefix = model::index_prefix(schema_.number, index.number);
  const std::string what = name_ + ", index " + index.name;
  Counted found;
  const auto read = [&](bool look_items_up) {
    found = {};
    store_.for_each(prefix, [&](std::string_view key, std::string_view record) {
      findings_.guarded(what + ", an entry",
                        [&] { check_entry(index, key, record, found, look_items_up); });
    });
  };
  // Every item has its entry: if there are as many entries, each has its item.
  read(!is_counted(index));
  findings_.report.index_entries += static_cast<uint64_t>(found.count);
  const Counted& implied = implied_[index.number];
  if (is_counted(index) && found.count != implied.count) {
    findings_.problem(fmt::format("{}: it has {} entries, and its table implies {}", what,
                                  found.count, implied.count));
    read(true);
  }
  check_counter(index.number, is_counted(index) ? implied : found, what);
}

void TableCheck::check_entry(const model::Index& index, std::string_view key,
                             std::string_view record, Counted& found, bool look_item_up) {
  const model::RecordHeader header = model::read_header(record);
  ++found.count;
  found.bytes += static_cast<int64_t>(header.size_bytes);
  if (!look_item_up) return;
  const model::Item entry = model::decode_item(record);
  const std::string what =
      fmt::format("{}, index {}, entry of {}", name_, index.name, describe_key(schema_.key, entry));
  for (size_t i = 0; i < schema_.key.size(); ++i) {
    if (entry.find(schema_.key.at(i).name) == nullptr)
      throw CorruptRecord("an entry without the key of its item");
  }
  const auto item = store_.get(model::item_key(schema_, entry));
  if (!item) {
    findings_.problem(what + ": there is no such item");
    return;
  }
  const auto entry_key = model::index_entry_key(schema_, index, model::decode_record(*item));
  if (!entry_key || *entry_key != key)
    findings_.problem(what + ": its item has another entry, or none");
}

void TableCheck::check_expiry_queue() {
  int64_t found = 0;
  const std::string prefix = model::expiry_prefix(schema_.number);
  store_.for_each(prefix, [&](std::string_view, std::string_view) { ++found; });
  if (schema_.ttl_attribute.empty()) {
    if (found != 0 && !table_.ttl_clearing)
      findings_.problem(
          fmt::format("{}: {} items wait for their expiry, and none expires", name_, found));
    return;
  }
  // Each item that expires is there. If expiry was disabled and enabled again at once, places from
  // before stay until their time comes.
  if (!table_.ttl_indexing && found > expiring_) {
    findings_.report.remarks.push_back(
        fmt::format("{}: {} places in the queue of expiring items are of items that do not expire "
                    "then; they are dropped when their time comes",
                    name_, found - expiring_));
  }
}

void TableCheck::check_counter(model::IndexNumber index, const Counted& real,
                               const std::string& what) {
  findings_.guarded(what, [&] {
    const int64_t count = counter_value(store_.get(model::counter_key(schema_.number, index, 'c')));
    const int64_t bytes = counter_value(store_.get(model::counter_key(schema_.number, index, 'b')));
    const std::string_view of = index == 0 ? "items" : "entries";
    if (count != real.count)
      findings_.problem(
          fmt::format("{}: it counts {} {}, and has {}", what, count, of, real.count));
    if (bytes != real.bytes)
      findings_.problem(fmt::format("{}: it counts {} bytes, and has {}", what, bytes, real.bytes));
  });
}

void TableCheck::end_collection() {
  if (collection_bytes_ != 0) ++collections_;
  const int64_t counted = counter_value(store_.get(collection_));
  if (counted != collection_bytes_)
    findings_.problem(fmt::format("{}: an item collection counts {} bytes, and has {}", name_,
                                  counted, collection_bytes_));
  collection_.clear();
}

// Those without items count nothing.
void TableCheck::check_collections() {
  if (!schema_.has_local_index()) return;
  uint64_t found = 0;
  const std::string prefix = model::table_prefix(schema_.number) + "s";
  store_.for_each(prefix, [&](std::string_view, std::string_view value) {
    if (counter_value(std::string(value)) != 0) ++found;
  });
  if (found != collections_)
    findings_.problem(
        fmt::format("{}: it counts {} item collections, and has {}", name_, found, collections_));
}

// Rows that belong to nothing of the table.
void TableCheck::look_for_strangers() {
  const std::string prefix = model::table_prefix(schema_.number);
  for (std::string from = prefix;;) {
    const auto key = store_.first_key(from);
    if (!key || !key->starts_with(prefix)) break;
    const char part = key->size() > prefix.size() ? (*key)[prefix.size()] : '\0';
    if (kPartsOfTables.find(part) == std::string_view::npos) {
      findings_.problem(fmt::format("{}: rows of an unknown kind", name_));
    }
    from = prefix_end(prefix + part);
  }
  const std::string indexes = prefix + "i";
  for (std::string from = indexes;;) {
    const auto key = store_.first_key(from);
    if (!key || !key->starts_with(indexes)) break;
    std::string_view rest = std::string_view(*key).substr(indexes.size());
    const auto number = read_big_endian<model::IndexNumber>(rest);
    const bool known =
        std::any_of(schema_.indexes.begin(), schema_.indexes.end(),
                    [&](const model::Index& index) { return index.number == number; }) ||
        std::count(table_.dead_indexes.begin(), table_.dead_indexes.end(), number) > 0;
    if (!known)
      findings_.problem(
          fmt::format("{}: entries of index number {}, which it does not have", name_, number));
    from = prefix_end(model::index_prefix(schema_.number, number));
  }
}

}  // namespace stator::check
