// Keys of items and index entries as bytes. Big-endian and order-preserving where order matters.
// See docs/architecture.md for the whole key space.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/schema.h"
#include "model/value.h"

namespace stator::model {

// 64 bits of the partition key, in the order in which the service scans: the head of MD5("Outliers"
// + key bytes), with numbers in base-100 form (observed by others; see docs/decisions). It can
// never change under stored data.
uint64_t partition_hash(const std::vector<const Value*>& partition);

// The key attributes of an item, as far as it has them.
Item key_of(const KeySchema& key, const Item& item);

// Prefixes: all items of a table; all entries of an index; everything of a table.
std::string table_prefix(TableNumber table);
std::string items_prefix(TableNumber table);
inline constexpr size_t kItemsPrefixBytes = 1 + sizeof(TableNumber) + 1;
std::string index_prefix(TableNumber table, IndexNumber index);
std::string counter_key(TableNumber table, IndexNumber index,
                        char what);  // what: 'c' items, 'b' bytes
// The queue of items that expire, in the order of their times; what follows the time is the rest of
// the item's key.
std::string expiry_prefix(TableNumber table);
std::string expiry_key(TableNumber table, int64_t expiry_s, std::string_view item_key);
int64_t expiry_in_key(std::string_view key);
// How far a background pass over the items of a table has come.
std::string cursor_key(TableNumber table, IndexNumber pass);
std::string collection_key(TableNumber table, const Value& partition);

// History: what items were before they changed, by day (since 1970, UTC) of the change. The rows of
// one item are in the order of its changes: the version and ordinal of the engine's append follow.
std::string history_prefix(TableNumber table);  // of all eras
std::string history_prefix(TableNumber table, uint32_t era);
std::string history_prefix(TableNumber table, uint32_t era, uint32_t day);
// Appends an item to the prefix of a day: what follows the table's prefix in its key, in the same
// order and self-delimiting.
void append_history_item(std::string& key, std::string_view item_rest);
// What is in a row's key.
struct HistoryKey {
  std::string item_rest;
  uint64_t version = 0;
  size_t item_end = 0;  // where the version begins
};
HistoryKey read_history_key(std::string_view key);
uint32_t day_in_history_key(std::string_view key);

// Prefix of all items with this partition key.
std::string item_partition_prefix(TableNumber table, const Value& partition);
// Key of one item. `sort` is null for a table without a sort key.
std::string item_key(TableNumber table, const Value& partition, const Value* sort);
std::string item_key(const TableSchema& table, const Item& item);

// Prefix of all entries of an index with these partition values.
std::string index_partition_prefix(TableNumber table, IndexNumber index,
                                   const std::vector<const Value*>& partition);
// Appends a sort value of an index key: ordered and self-delimiting. With `open`, without its end,
// so that the result is a prefix of every longer string or binary.
void append_index_sort(std::string& key, const Value& value, bool open = false);
// Appends the table's own key of an entry.
void append_entry_item_key(std::string& key, const Value& partition, const Value* sort);

// The key of the entry that `item` has in `index`, or nothing if it has none: an index key
// attribute is missing or has another type than the index declares.
std::optional<std::string> index_entry_key(const TableSchema& table, const Index& index,
                                           const Item& item);

// Appends a sort value in the form it has at the end of an item's key (raw bytes or an ordered
// number).
void append_item_sort(std::string& key, const Value& value);

// The hash part of an item's or index entry's key, given the length of its prefix.
uint64_t hash_in_key(std::string_view key, size_t prefix_size);

}  // namespace stator::model
