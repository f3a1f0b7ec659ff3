#include "model/key_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "common/bytes.h"

namespace stator::model {
namespace {

using namespace std::string_literals;

Value n(std::string_view text) {
  return Value::number(*Number::parse(text));
}
Value s(std::string text) {
  return Value::string(std::move(text));
}
Value b(std::string bytes) {
  return Value::binary(std::move(bytes));
}

const std::string kDigits38 = "12345678901234567890123456789012345678";

// Strings, numbers and bytes, each in ascending order.
std::vector<Value> ascending_strings() {
  return {s("\0"s),      s("\0\0"s),           s("\0\1"s), s("\1"), s("A"),  s("a"), s("a\0"s),
          s("a\0\0"s),   s("a\0b"s),           s("a\1"),   s("aa"), s("ab"), s("b"), s("z"),
          s("\xC3\xA9"), s("\xF0\x9F\x98\x80")};
}
std::vector<Value> ascending_binaries() {
  return {b("\0"s),  b("\0\0"s),   b("\0\1"s), b("\0\xFF"s), b("\1"),      b("\x7F"),
          b("\x80"), b("\x80\0"s), b("\xFF"),  b("\xFF\0"s), b("\xFF\1"s), b("\xFF\xFF")};
}
std::vector<Value> ascending_numbers() {
  return {n("-9e125"),  n("-" + kDigits38),
          n("-100"),    n("-99.5"),
          n("-99"),     n("-1.5"),
          n("-1"),      n("-0.5"),
          n("-1e-130"), n("0"),
          n("1e-130"),  n("0.09"),
          n("0.5"),     n("1"),
          n("1.5"),     n("9"),
          n("10"),      n("99"),
          n("100"),     n(kDigits38),
          n("9e125")};
}

TableSchema orders(KeyType sort_type = KeyType::kString) {
  TableSchema table;
  table.number = 7;
  table.key.partition = {{"pk", KeyType::kString}};
  table.key.sort = {{"sk", sort_type}};
  return table;
}

// The hashes are computed from the rule, by another program. They are the places of stored items:
// if this test fails, the code is wrong, not the test.
TEST(PartitionHash, IsWhatItHasAlwaysBeen) {
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes.push_back(static_cast<char>(i));
  const std::string nines = "9." + std::string(37, '9') + "e125";
  struct Case {
    Value value;
    uint64_t hash;
  };
  const std::vector<Case> cases = {
      {s("a"), 0xf6558e516275dee2U},
      {s("hello"), 0x8f051e5595141045U},
      {s("user#1"), 0x8b542929238862feU},
      {s("\xC3\xA9"), 0x1062807ac84fe65aU},
      {s("\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E"), 0x03f0c9561ce8d438U},
      {s(std::string(2048, 'x')), 0x5a7a7253e4a6d72aU},
      {b("\0"s), 0xf71f23f3e334c4e5U},
      {b("\xFF\0\1"s), 0xfdda82ea5d575967U},
      {b("a"), 0xf6558e516275dee2U},
      {b(all_bytes), 0xb4043b5fda1ecc24U},
      {n("0"), 0xce212d751674ab5dU},
      {n("1"), 0xc3a0310aed78739bU},
      {n("-1"), 0x0267df4c95559d50U},
      {n("10"), 0x3c465f5ad8c28afaU},
      {n("100"), 0x6840bd23a62fcf9aU},
      {n("-100"), 0x1326ef217d3618bfU},
      {n("0.1"), 0xe2d17168a6c4d757U},
      {n("0.01"), 0x355037b7082c4384U},
      {n("0.001"), 0x3223fe2c2fe7bd22U},
      {n("-0.001"), 0xe0a1b775cd42dbc9U},
      {n("123"), 0x574207e7a3d7699aU},
      {n("1234"), 0xdbf25c043a775a56U},
      {n("-1234.5"), 0x6e4687edf5b4cdecU},
      {n("3.14159"), 0xfbe1c264c7a9f3b1U},
      {n("42"), 0xc289e0e9e2a42627U},
      {n("99"), 0xff3ca71fa74fec9eU},
      {n("1E125"), 0x2f2857f5242da8c0U},
      {n("1E-130"), 0x727de75fed0d7a87U},
      {n("-1E-130"), 0x3ad3e0d25a9e3913U},
      {n("1700000000"), 0x3067ab4e7dea85a1U},
      {n("-1234567890123456789012345678901234567.8"), 0x335ecc43d5704156U},
      {n(kDigits38), 0xb50a4cbd60115903U},
      {n("-" + kDigits38), 0x089522115ad1ad19U},
      {n(nines), 0x459670331015711eU},
      {n("-" + nines), 0x21889b5a660e5176U},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(partition_hash({&cases[i].value}), cases[i].hash) << "case " << i;
  }
}

TEST(PartitionHash, OfSeveralAttributesCoversThemInOrder) {
  const Value tenant = s("tenant");
  const Value seven = n("7");
  EXPECT_EQ(partition_hash({&tenant, &seven}), 0xe04fc01f0f07513dU);
  EXPECT_NE(partition_hash({&seven, &tenant}), partition_hash({&tenant, &seven}));
}

TEST(PartitionHash, IsOneForEqualNumbers) {
  const Value a = n("1.50");
  const Value c = n("15e-1");
  EXPECT_EQ(partition_hash({&a}), partition_hash({&c}));
}

TEST(ItemKey, SortsBySortKeyWithinAPartition) {
  for (const auto& ascending : {ascending_strings(), ascending_binaries(), ascending_numbers()}) {
    const Value partition = s("p");
    for (size_t i = 0; i < ascending.size(); ++i) {
      for (size_t k = 0; k < ascending.size(); ++k) {
        const std::string first = item_key(7, partition, &ascending[i]);
        const std::string second = item_key(7, partition, &ascending[k]);
        EXPECT_EQ(first.compare(second) <=> 0, i <=> k)
            << type_name(ascending[i].type()) << " " << i << " against " << k;
      }
    }
  }
}

TEST(ItemKey, LiesInTheRangeOfItsPartitionAndOfNoOther) {
  // Partition values that are prefixes of each other, and sort values that look like parts of keys.
  std::vector<Value> partitions = ascending_strings();
  for (const Value& value : ascending_numbers()) partitions.push_back(value);
  partitions.push_back(s("ab\0"s));
  partitions.push_back(s(std::string(2048, 'x')));
  partitions.push_back(s(std::string(256, 'x')));
  const std::vector<Value> sorts = ascending_binaries();
  for (size_t i = 0; i < partitions.size(); ++i) {
    const std::string from = item_partition_prefix(7, partitions[i]);
    const std::string to = prefix_end(from);
    EXPECT_EQ(item_key(7, partitions[i], nullptr), from);
    for (size_t k = 0; k < partitions.size(); ++k) {
      for (const Value& sort : sorts) {
        const std::string key = item_key(7, partitions[k], &sort);
        EXPECT_EQ(from <= key && key < to, i == k) << i << " holds an item of " << k;
      }
    }
  }
}

TEST(ItemKey, BeginsWithItsTableAndHash) {
  const Value partition = s("hello");
  const Value sort = n("5");
  const std::string key = item_key(7, partition, &sort);
  EXPECT_TRUE(key.starts_with(items_prefix(7)));
  EXPECT_TRUE(key.starts_with(table_prefix(7)));
  EXPECT_EQ(hash_in_key(key, items_prefix(7).size()), partition_hash({&partition}));
  Item item;
  item.set("pk", partition);
  item.set("sk", sort);
  EXPECT_EQ(item_key(orders(KeyType::kNumber), item), key);
  TableSchema simple = orders();
  simple.key.sort.clear();
  EXPECT_EQ(item_key(simple, item), item_key(7, partition, nullptr));
}

TEST(ItemKey, SortsPartitionsByHash) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    const Value first = s(std::to_string(random()));
    const Value second = s(std::to_string(random()));
    const uint64_t first_hash = partition_hash({&first});
    const uint64_t second_hash = partition_hash({&second});
    if (first_hash == second_hash) continue;
    EXPECT_EQ(item_key(1, first, nullptr) < item_key(1, second, nullptr), first_hash < second_hash);
  }
}

TEST(Prefixes, KeepTablesSectionsAndIndexesApart) {
  const Value partition = s("p");
  const std::vector<TableNumber> tables = {0, 1, 2, 255, 256, 65536, 1ULL << 40, UINT64_MAX};
  std::vector<std::string> prefixes;
  for (const TableNumber table : tables) {
    prefixes.push_back(items_prefix(table));
    for (const IndexNumber index : {0U, 1U, 255U, 256U, UINT32_MAX}) {
      prefixes.push_back(index_prefix(table, index));
      prefixes.push_back(counter_key(table, index, 'c'));
      prefixes.push_back(counter_key(table, index, 'b'));
      prefixes.push_back(cursor_key(table, index));
    }
    prefixes.push_back(expiry_prefix(table));
    prefixes.push_back(collection_key(table, partition));
  }
  for (size_t i = 0; i < prefixes.size(); ++i) {
    for (size_t k = 0; k < prefixes.size(); ++k) {
      EXPECT_EQ(prefixes[i].starts_with(prefixes[k]), i == k) << i << " and " << k;
    }
  }
  for (const TableNumber table : tables) {
    const auto inside = std::count_if(
        prefixes.begin(), prefixes.end(),
        [&](const std::string& prefix) { return prefix.starts_with(table_prefix(table)); });
    EXPECT_EQ(static_cast<size_t>(inside), prefixes.size() / tables.size());
  }
  EXPECT_EQ(collection_key(3, partition).substr(10),
            item_partition_prefix(3, partition).substr(10));
}

Index by_attributes(std::vector<KeyAttribute> partition, std::vector<KeyAttribute> sort) {
  Index index;
  index.number = 3;
  index.global = true;
  index.key.partition = std::move(partition);
  index.key.sort = std::move(sort);
  return index;
}

TEST(IndexEntryKey, SortsBySortAttributesInTurnThenByTheTablesSortKey) {
  const TableSchema table = orders(KeyType::kNumber);
  const Index index =
      by_attributes({{"g", KeyType::kString}},
                    {{"s1", KeyType::kString}, {"s2", KeyType::kNumber}, {"s3", KeyType::kBinary}});
  const auto pick = [](const std::vector<Value>& values) {
    std::vector<Value> some;
    for (size_t i = 0; i < values.size(); i += 3) some.push_back(values[i]);
    return some;
  };
  // In ascending order of (s1, s2, s3, sk).
  std::vector<std::string> keys;
  for (const Value& s1 : ascending_strings()) {
    for (const Value& s2 : pick(ascending_numbers())) {
      for (const Value& s3 : pick(ascending_binaries())) {
        for (const char* sk : {"-3", "0", "10"}) {
          Item item;
          item.set("pk", s("p"));
          item.set("sk", n(sk));
          item.set("g", s("group"));
          item.set("s1", s1);
          item.set("s2", s2);
          item.set("s3", s3);
          keys.push_back(*index_entry_key(table, index, item));
        }
      }
    }
  }
  for (size_t i = 1; i < keys.size(); ++i) ASSERT_LT(keys[i - 1], keys[i]) << i;
}

TEST(IndexEntryKey, OfDifferentItemsDiffersEvenIfTheIndexKeyDoesNot) {
  const TableSchema table = orders();
  const Index index = by_attributes({{"g", KeyType::kString}}, {{"s", KeyType::kString}});
  std::vector<std::string> keys;
  for (const Value& partition : ascending_strings()) {
    for (const Value& sort : ascending_strings()) {
      Item item;
      item.set("pk", partition);
      item.set("sk", sort);
      item.set("g", s("group"));
      item.set("s", s("same"));
      keys.push_back(*index_entry_key(table, index, item));
    }
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
}

TEST(IndexEntryKey, LiesInTheRangeOfItsPartitionAndOfNoOther) {
  const TableSchema table = orders();
  const Index index = by_attributes({{"g1", KeyType::kString}, {"g2", KeyType::kString}},
                                    {{"s", KeyType::kBinary}});
  // Pairs whose joined bytes are equal have equal hashes; their ranges must still differ.
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"a", "bc"},  {"ab", "c"},  {"abc", "d"}, {"a", "b"},
      {"ab", "cd"}, {"a", "bcd"}, {"\0"s, "a"}, {"a", "\0"s}};
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Value first = s(pairs[i].first);
    const Value second = s(pairs[i].second);
    const std::string from = index_partition_prefix(table.number, index.number, {&first, &second});
    EXPECT_TRUE(from.starts_with(index_prefix(table.number, index.number)));
    EXPECT_EQ(hash_in_key(from, index_prefix(table.number, index.number).size()),
              partition_hash({&first, &second}));
    for (size_t k = 0; k < pairs.size(); ++k) {
      for (const Value& sort : ascending_binaries()) {
        Item item;
        item.set("pk", s("p"));
        item.set("sk", s("q"));
        item.set("g1", s(pairs[k].first));
        item.set("g2", s(pairs[k].second));
        item.set("s", sort);
        const std::string key = *index_entry_key(table, index, item);
        EXPECT_EQ(from <= key && key < prefix_end(from), i == k) << i << " holds an entry of " << k;
      }
    }
  }
}

TEST(IndexEntryKey, OfASortPrefixHoldsExactlyTheValuesThatBeginWithIt) {
  for (const auto& values : {ascending_strings(), ascending_binaries()}) {
    const auto bytes_of = [](const Value& value) {
      return value.is(Type::kString) ? value.as_string() : value.as_binary();
    };
    for (const Value& wanted : values) {
      std::string from = "k";
      append_index_sort(from, wanted, true);
      const std::string to = prefix_end(from);
      for (const Value& value : values) {
        std::string key = "k";
        append_index_sort(key, value);
        append_entry_item_key(key, s("p"), nullptr);
        EXPECT_EQ(from <= key && key < to, bytes_of(value).starts_with(bytes_of(wanted)))
            << testing::PrintToString(bytes_of(wanted)) << " and "
            << testing::PrintToString(bytes_of(value));
      }
    }
  }
}

TEST(IndexEntryKey, OfOneSortValueHoldsNoOther) {
  for (const auto& values : {ascending_strings(), ascending_binaries(), ascending_numbers()}) {
    for (size_t i = 0; i < values.size(); ++i) {
      std::string from;
      append_index_sort(from, values[i]);
      for (size_t k = 0; k < values.size(); ++k) {
        std::string key;
        append_index_sort(key, values[k]);
        append_entry_item_key(key, n("-5"), &values[0]);
        EXPECT_EQ(key.starts_with(from), i == k);
      }
    }
  }
}

TEST(IndexEntryKey, IsMissingWithoutAnIndexKeyAttributeOfItsType) {
  const TableSchema table = orders();
  const Index index = by_attributes({{"g", KeyType::kString}}, {{"s", KeyType::kNumber}});
  Item full;
  full.set("pk", s("p"));
  full.set("sk", s("q"));
  full.set("g", s("group"));
  full.set("s", n("1"));
  EXPECT_TRUE(index_entry_key(table, index, full));
  for (const char* name : {"g", "s"}) {
    Item item = full;
    item.erase(name);
    EXPECT_FALSE(index_entry_key(table, index, item)) << "without " << name;
    for (const Value& other : {Value::null(), b("x"), Value::list({}), Value::boolean(true)}) {
      item.set(name, other);
      EXPECT_FALSE(index_entry_key(table, index, item))
          << name << " of type " << type_name(other.type());
    }
  }
}

TEST(ExpiryKey, SortsByTimeBeforeAnythingElse) {
  const std::vector<int64_t> times = {0, 1, 255, 256, 1'700'000'000, 4'294'967'296, INT64_MAX};
  const Value low = s("a");
  const Value high = s("zzzz");
  std::vector<std::string> item_keys = {item_key(7, low, nullptr), item_key(7, high, &low),
                                        item_key(7, low, &high)};
  for (size_t i = 0; i < times.size(); ++i) {
    for (const std::string& first : item_keys) {
      const std::string key = expiry_key(7, times[i], first);
      EXPECT_TRUE(key.starts_with(expiry_prefix(7)));
      EXPECT_EQ(expiry_in_key(key), times[i]);
      for (size_t k = 0; k < times.size(); ++k) {
        for (const std::string& second : item_keys) {
          const std::string other = expiry_key(7, times[k], second);
          if (i != k) {
            EXPECT_EQ(key < other, i < k);
          } else {
            EXPECT_EQ(key == other, first == second);
          }
        }
      }
    }
  }
}

TEST(ExpiryKey, EndsWithTheItemsKeyInsideItsTable) {
  const Value partition = s("p");
  const Value sort = n("-5");
  const std::string item = item_key(7, partition, &sort);
  const std::string rest = item.substr(items_prefix(7).size());
  EXPECT_EQ(expiry_key(7, 1'700'000'000, item).substr(expiry_prefix(7).size() + 8), rest);
}

}  // namespace
}  // namespace stator::model
