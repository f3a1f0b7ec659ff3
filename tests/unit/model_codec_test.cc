#include "model/codec.h"

#include <gtest/gtest.h>

#include <random>

#include "common/bytes.h"

namespace stator::model {
namespace {

class RandomItems {
 public:
  explicit RandomItems(unsigned seed) : random_(seed) {}

  Item item() { return map(6, 4); }

  size_t below(size_t bound) { return random_() % bound; }

  std::string bytes(size_t longest) {
    std::string out(below(longest + 1), ' ');
    for (char& c : out) c = static_cast<char>(random_());
    return out;
  }

 private:
  Number number() {
    std::string text = below(2) == 0 ? "-" : "";
    for (size_t i = 0, count = 1 + below(38); i < count; ++i)
      text.push_back(static_cast<char>('0' + below(10)));
    return *Number::parse(text + "e" + std::to_string(static_cast<int>(below(210)) - 130));
  }

  std::vector<std::string> strings() {
    std::vector<std::string> members;
    for (size_t i = 0, count = 1 + below(4); i < count; ++i)
      members.push_back(std::to_string(i) + bytes(6));
    return members;
  }

  Map map(size_t most, int depth) {
    Map result;
    for (size_t i = 0, count = below(most + 1); i < count; ++i)
      result.set(bytes(8), value(depth - 1));
    return result;
  }

  Value value(int depth) {
    switch (below(depth > 0 ? 10 : 8)) {
      case 0:
        return Value::string(bytes(below(20) == 0 ? 300 : 20));
      case 1:
        return Value::number(number());
      case 2:
        return Value::binary(bytes(20));
      case 3:
        return Value::boolean(below(2) == 0);
      case 4:
        return Value::null();
      case 5:
        return Value::string_set(strings());
      case 6: {
        std::vector<Number> members;
        for (size_t i = 0, count = 1 + below(4); i < count; ++i) {
          members.push_back(number());
        }
        return Value::number_set(std::move(members));
      }
      case 7:
        return Value::binary_set(strings());
      case 8:
        return Value::map(map(4, depth));
      default: {
        List list;
        for (size_t i = 0, count = below(5); i < count; ++i) list.push_back(value(depth - 1));
        return Value::list(std::move(list));
      }
    }
  }

  std::mt19937 random_;
};

// True if the record was read, false if it was refused. Anything else fails the test.
bool reads(std::string_view record) {
  try {
    const Item item = decode_record(record);
    // What was read can be used: its size asks every value in it.
    EXPECT_LE(size_bytes(item), record.size() * 40);
    return true;
  } catch (const CorruptRecord&) {
    return false;
  }
}

Item sample() {
  Item item;
  item.set("pk", Value::string("key"));
  item.set("n", Value::number(*Number::parse("-123.456")));
  item.set("b", Value::binary(std::string("\0\xFF", 2)));
  item.set("t", Value::boolean(true));
  item.set("f", Value::boolean(false));
  item.set("z", Value::null());
  item.set("ns", Value::number_set({Number(), *Number::parse("9e125"), *Number::parse("1e-130"),
                                    *Number::parse(std::string(38, '7'))}));
  item.set("ss", Value::string_set({"", "a", "bc"}));
  item.set("bs", Value::binary_set({std::string("\0", 1)}));
  Map inner;
  inner.set("list", Value::list({Value::string("x"), Value::list({}), Value::map({}),
                                 Value::number(Number())}));
  item.set("m", Value::map(inner));
  return item;
}

TEST(Codec, GivesBackItemsOfEveryType) {
  EXPECT_EQ(decode_record(encode_record(sample(), {})), sample());
  EXPECT_EQ(decode_record(encode_record(Item(), {})), Item());
}

TEST(Codec, GivesBackRandomNestedItems) {
  RandomItems random(1);
  for (int i = 0; i < 3000; ++i) {
    const Item item = random.item();
    const RecordHeader header{.size_bytes = size_bytes(item)};
    ASSERT_EQ(decode_record(encode_record(item, header)), item) << "item " << i;
  }
}

TEST(Codec, GivesBackTheLargestItemAndTheDeepestNesting) {
  Item item;
  item.set("pk", Value::string(std::string(409598, 'x')));
  EXPECT_EQ(decode_record(encode_record(item, {.size_bytes = 409600})), item);
  Value nested = Value::string("leaf");
  for (int i = 0; i < 32; ++i) nested = Value::list({std::move(nested)});
  Item deep;
  deep.set("a", std::move(nested));
  EXPECT_EQ(decode_record(encode_record(deep, {})), deep);
}

TEST(Codec, GivesBackTheHeaderAndLeavesTheItem) {
  for (const Origin origin : {Origin::kClient, Origin::kService}) {
    for (const int64_t written_us : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
      for (const uint64_t size : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{409600}}) {
        const std::string record = encode_record(
            sample(), {.size_bytes = size, .written_us = written_us, .origin = origin});
        std::string_view rest = record;
        const RecordHeader header = read_header(rest);
        EXPECT_EQ(header.size_bytes, size);
        EXPECT_EQ(header.written_us, written_us);
        EXPECT_EQ(header.origin, origin);
        EXPECT_EQ(decode_item(rest), sample());
      }
    }
  }
}

TEST(Codec, TellsAReferenceFromAnItem) {
  for (const bool reference : {false, true}) {
    const std::string record =
        encode_record(sample(), {.size_bytes = 1000, .reference = reference});
    std::string_view rest = record;
    const RecordHeader header = read_header(rest);
    EXPECT_EQ(header.reference, reference);
    EXPECT_EQ(header.size_bytes, 1000U);
    EXPECT_EQ(rest, encode_item(sample()));
    EXPECT_EQ(decode_item(rest), sample());
  }
}

TEST(Codec, ReadsValuesOneAfterAnother) {
  std::string bytes;
  for (const Attribute& attribute : sample()) encode_value(attribute.value, bytes);
  std::string_view in = bytes;
  for (const Attribute& attribute : sample())
    EXPECT_EQ(decode_value(in), attribute.value) << attribute.name;
  EXPECT_TRUE(in.empty());
}

// Stored data outlives the program. If this test fails, the form has changed and needs a version of
// its own.
TEST(Codec, WritesTheSameBytesAsEver) {
  Item item;
  item.set("a", Value::string("x"));
  item.set("b", Value::number(*Number::parse("-1.5")));
  item.set("c", Value::boolean(true));
  item.set("d", Value::list({Value::null()}));
  const std::string expected(
      "\x01\x01"                          // version, origin
      "\x00\x00\x00\x00\x00\x00\x00\x05"  // written
      "\x80\x02"                          // size
      "\x04"
      "\x01"
      "a\x00\x01x"
      "\x01"
      "b\x01\x81\xA9\x00\x0F"
      "\x01"
      "c\x13"
      "\x01"
      "d\x06\x01\x04",
      33);
  EXPECT_EQ(encode_record(item, {.size_bytes = 256, .written_us = 5, .origin = Origin::kService}),
            expected);
  EXPECT_EQ(decode_record(expected), item);
}

TEST(DamagedRecord, CutAtAnyByteIsRefused) {
  RandomItems random(2);
  std::vector<Item> items = {sample()};
  for (int i = 0; i < 50; ++i) items.push_back(random.item());
  for (const Item& item : items) {
    const std::string record = encode_record(item, {.size_bytes = size_bytes(item)});
    for (size_t length = 0; length < record.size(); ++length) {
      // A copy of its own, so that a sanitizer sees a read past the end.
      const std::string cut(record, 0, length);
      ASSERT_FALSE(reads(cut)) << "cut at " << length << " of " << record.size();
    }
    EXPECT_FALSE(reads(record + '\0')) << "a byte too many";
  }
}

TEST(DamagedRecord, WithAnyByteReplacedIsReadOrRefused) {
  const std::string record = encode_record(sample(), {.size_bytes = size_bytes(sample())});
  size_t refused = 0;
  for (size_t at = 0; at < record.size(); ++at) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = record;
      damaged[at] = static_cast<char>(byte);
      refused += reads(damaged) ? 0 : 1;
    }
  }
  EXPECT_GT(refused, record.size());
}

TEST(DamagedRecord, WithSeveralRandomBytesIsReadOrRefused) {
  RandomItems random(3);
  for (int i = 0; i < 20000; ++i) {
    const Item item = random.item();
    std::string record = encode_record(item, {.size_bytes = size_bytes(item)});
    for (size_t k = 0, flips = 1 + random.below(4); k < flips; ++k) {
      record[random.below(record.size())] ^= static_cast<char>(1 << random.below(8));
    }
    reads(record);
  }
}

TEST(DamagedRecord, OfNoiseIsReadOrRefused) {
  RandomItems random(4);
  for (int i = 0; i < 20000; ++i) {
    const std::string noise = random.bytes(60);
    try {
      decode_item(noise);
    } catch (const CorruptRecord&) {
      continue;
    }
  }
}

TEST(DamagedRecord, IsRefusedForWhatIsWrongWithIt) {
  const std::string good = encode_record(sample(), {});
  struct Case {
    std::string name;
    std::string encoded;  // an item without its header
  };
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "\x06\x01";  // lists of one list
  std::string forever(20, '\xFF');
  const std::vector<Case> cases = {
      {"nothing", ""},
      {"more attributes than bytes", "\x7F"},
      {"a length without end", forever},
      {"a name longer than the record", std::string("\x01\x05", 2) + "ab"},
      {"an unknown type", std::string("\x01\x01") + "a\x0A"},
      {"a list longer than the record", std::string("\x01\x01") + "a\x06\x7F"},
      {"a set longer than the record", std::string("\x01\x01") + "a\x08\x7F"},
      {"nesting without end", std::string("\x01\x01") + "a" + deep + "\x04"},
      {"a number of 39 digits in a set",
       std::string("\x01\x01") + "a\x08\x02" + "\x10" + std::string("\xAA\x00", 2) +
           std::string(16, '\xFF') + "\x10" + std::string("\xAA\x00", 2) + std::string(16, '\xFE')},
  };
  for (const Case& c : cases) EXPECT_THROW(decode_item(c.encoded), CorruptRecord) << c.name;
  std::string unknown_version = good;
  unknown_version[0] = 99;
  EXPECT_THROW(decode_record(unknown_version), CorruptRecord);
}

}  // namespace
}  // namespace stator::model
