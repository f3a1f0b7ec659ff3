#include "model/key_codec.h"

#include "common/bytes.h"
#include "common/md5.h"

namespace stator::model {

namespace {

// The base-100 form of a number that the service hashes: an exponent byte, then digit pairs aligned
// to the decimal point, each plus one; pairs of a negative number are subtracted from 101 and ended
// by 102.
void append_hash_number(std::string& out, const Number& number) {
  if (number.is_zero()) {
    out.push_back(static_cast<char>(0x80));
    return;
  }
  // Work on the decimal text: digits without zeros at either end, and the position of the point.
  std::string digits;
  const std::string text = number.to_string();
  int point = 0;
  bool seen_point = false;
  bool seen_digit = false;
  int leading = 0;
  for (const char c : text) {
    if (c == '-') continue;
    if (c == '.') {
      seen_point = true;
      continue;
    }
    if (!seen_digit && c == '0') {
      if (seen_point) ++leading;
      continue;
    }
    seen_digit = true;
    digits.push_back(c);
    if (!seen_point) ++point;
  }
  int exponent = point > 0 ? point : -leading;
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  const bool odd = (exponent % 2) != 0;
  if (odd) digits.insert(digits.begin(), '0');
  const int pair_exponent = (exponent + (odd ? 1 : 0)) / 2 - 64;
  const bool negative = number.is_negative();
  out.push_back(static_cast<char>(negative ? ~pair_exponent : pair_exponent));
  const size_t pairs = (digits.size() + 1) / 2;
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int pair = (digits[i] - '0') * 10 + (i + 1 < digits.size() ? digits[i + 1] - '0' : 0);
    out.push_back(static_cast<char>(negative ? 101 - pair : pair + 1));
  }
  if (negative && pairs < 20) out.push_back(102);
}

void append_hashed(std::string& out, const Value& value) {
  switch (value.type()) {
    case Type::kString:
      out.append(value.as_string());
      return;
    case Type::kBinary:
      out.append(value.as_binary());
      return;
    case Type::kNumber:
      append_hash_number(out, value.as_number());
      return;
    default:
      return;
  }
}

// A partition value: its place in the order does not matter, so it is stored with its length.
void append_exact(std::string& key, const Value& value) {
  switch (value.type()) {
    case Type::kString:
      append_big_endian(key, static_cast<uint16_t>(value.as_string().size()));
      key.append(value.as_string());
      return;
    case Type::kBinary:
      append_big_endian(key, static_cast<uint16_t>(value.as_binary().size()));
      key.append(value.as_binary());
      return;
    case Type::kNumber:
      value.as_number().encode_ordered(key);
      return;
    default:
      return;
  }
}

std::string numbered(TableNumber table, char section) {
  std::string key;
  key.reserve(96);
  key.push_back('t');
  append_big_endian(key, table);
  key.push_back(section);
  return key;
}

}  // namespace

uint64_t partition_hash(const std::vector<const Value*>& partition) {
  std::string bytes;
  for (const Value* value : partition) append_hashed(bytes, *value);
  const auto digest = md5({"Outliers", bytes});
  uint64_t head = 0;
  for (size_t i = 0; i < 8; ++i) head = (head << 8) | digest[i];
  return head;
}

Item key_of(const KeySchema& key, const Item& item) {
  Item attributes;
  for (size_t i = 0; i < key.size(); ++i) {
    const std::string& name = key.at(i).name;
    if (const Value* value = item.find(name)) attributes.set(name, *value);
  }
  return attributes;
}

std::string table_prefix(TableNumber table) {
  std::string key;
  key.push_back('t');
  append_big_endian(key, table);
  return key;
}

std::string items_prefix(TableNumber table) {
  return numbered(table, 'd');
}

std::string index_prefix(TableNumber table, IndexNumber index) {
  std::string key = numbered(table, 'i');
  append_big_endian(key, index);
  return key;
}

std::string counter_key(TableNumber table, IndexNumber index, char what) {
  std::string key = numbered(table, 'n');
  append_big_endian(key, index);
  key.push_back(what);
  return key;
}

std::string expiry_prefix(TableNumber table) {
  return numbered(table, 'e');
}

std::string expiry_key(TableNumber table, int64_t expiry_s, std::string_view item_key) {
  std::string key = expiry_prefix(table);
  append_big_endian(key, static_cast<uint64_t>(expiry_s));
  key.append(item_key.substr(kItemsPrefixBytes));
  return key;
}

int64_t expiry_in_key(std::string_view key) {
  read_bytes(key, expiry_prefix(0).size());
  return static_cast<int64_t>(read_big_endian<uint64_t>(key));
}

std::string cursor_key(TableNumber table, IndexNumber pass) {
  std::string key = numbered(table, 'j');
  append_big_endian(key, pass);
  return key;
}

std::string collection_key(TableNumber table, const Value& partition) {
  std::string key = numbered(table, 's');
  append_big_endian(key, partition_hash({&partition}));
  append_exact(key, partition);
  return key;
}

namespace {
constexpr size_t kHistoryDayAt = 1 + 8 + 4;
constexpr size_t kHistoryItemAt = kHistoryDayAt + 4;
constexpr size_t kAppendedBytes = 8 + 4;  // version and ordinal
}  // namespace

std::string history_prefix(TableNumber table) {
  std::string key;
  key.reserve(128);
  key.push_back('h');
  append_big_endian(key, table);
  return key;
}

std::string history_prefix(TableNumber table, uint32_t era) {
  std::string key = history_prefix(table);
  append_big_endian(key, era);
  return key;
}

std::string history_prefix(TableNumber table, uint32_t era, uint32_t day) {
  std::string key = history_prefix(table, era);
  append_big_endian(key, day);
  return key;
}

void append_history_item(std::string& key, std::string_view item_rest) {
  for (const char c : item_rest) {
    key.push_back(c);
    if (c == '\0') key.push_back(static_cast<char>(0xFF));
  }
  key.push_back('\0');
  key.push_back('\1');
}

HistoryKey read_history_key(std::string_view key) {
  HistoryKey read;
  size_t at = kHistoryItemAt;
  for (;; ++at) {
    if (at + 2 + kAppendedBytes > key.size()) throw CorruptRecord("row of history without an end");
    read.item_rest.push_back(key[at]);
    if (key[at] != '\0') continue;
    ++at;
    if (key[at] == '\1') break;
  }
  read.item_rest.pop_back();
  read.item_end = at + 1;
  key.remove_prefix(read.item_end);
  read.version = read_big_endian<uint64_t>(key);
  return read;
}

uint32_t day_in_history_key(std::string_view key) {
  if (key.size() < kHistoryItemAt) throw CorruptRecord("row of history without a day");
  key.remove_prefix(kHistoryDayAt);
  return read_big_endian<uint32_t>(key);
}

std::string item_partition_prefix(TableNumber table, const Value& partition) {
  std::string key = numbered(table, 'd');
  append_big_endian(key, partition_hash({&partition}));
  append_exact(key, partition);
  return key;
}

void append_item_sort(std::string& key, const Value& value) {
  switch (value.type()) {
    case Type::kString:
      key.append(value.as_string());
      return;
    case Type::kBinary:
      key.append(value.as_binary());
      return;
    case Type::kNumber:
      value.as_number().encode_ordered(key);
      return;
    default:
      return;
  }
}

std::string item_key(TableNumber table, const Value& partition, const Value* sort) {
  std::string key = item_partition_prefix(table, partition);
  if (sort != nullptr) append_item_sort(key, *sort);
  return key;
}

std::string item_key(const TableSchema& table, const Item& item) {
  const Value* sort = table.key.sort.empty() ? nullptr : item.find(table.key.sort[0].name);
  return item_key(table.number, *item.find(table.key.partition[0].name), sort);
}

std::string index_partition_prefix(TableNumber table, IndexNumber index,
                                   const std::vector<const Value*>& partition) {
  std::string key = index_prefix(table, index);
  append_big_endian(key, partition_hash(partition));
  for (const Value* value : partition) append_exact(key, *value);
  return key;
}

void append_index_sort(std::string& key, const Value& value, bool open) {
  if (value.type() == Type::kNumber) {
    value.as_number().encode_ordered(key);
    return;
  }
  // A zero byte becomes 00 FF and the end is 00 01, so that a string sorts before every longer one.
  const std::string& bytes = value.type() == Type::kString ? value.as_string() : value.as_binary();
  for (const char c : bytes) {
    key.push_back(c);
    if (c == '\0') key.push_back(static_cast<char>(0xFF));
  }
  if (!open) {
    key.push_back('\0');
    key.push_back('\1');
  }
}

void append_entry_item_key(std::string& key, const Value& partition, const Value* sort) {
  append_exact(key, partition);
  if (sort != nullptr) append_item_sort(key, *sort);
}

std::optional<std::string> index_entry_key(const TableSchema& table, const Index& index,
                                           const Item& item) {
  std::vector<const Value*> partition;
  partition.reserve(index.key.partition.size());
  for (const KeyAttribute& attribute : index.key.partition) {
    const Value* value = item.find(attribute.name);
    if (value == nullptr || value->type() != value_type(attribute.type)) return std::nullopt;
    partition.push_back(value);
  }
  for (const KeyAttribute& attribute : index.key.sort) {
    const Value* value = item.find(attribute.name);
    if (value == nullptr || value->type() != value_type(attribute.type)) return std::nullopt;
  }
  std::string key = index_partition_prefix(table.number, index.number, partition);
  for (const KeyAttribute& attribute : index.key.sort)
    append_index_sort(key, *item.find(attribute.name));
  const Value* sort = table.key.sort.empty() ? nullptr : item.find(table.key.sort[0].name);
  append_entry_item_key(key, *item.find(table.key.partition[0].name), sort);
  return key;
}

uint64_t hash_in_key(std::string_view key, size_t prefix_size) {
  read_bytes(key, prefix_size);
  return read_big_endian<uint64_t>(key);
}

}  // namespace stator::model
