// Reading what is imported: compression, lines, comma-separated values, items; whole, torn and
// damaged.
#include "transfer/source.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>

#include "common/ids.h"
#include "net/gzip.h"
#include "transfer/item_reader.h"

namespace stator::transfer {
namespace {

std::string gzip(std::string_view bytes) {
  std::string out;
  net::deflate_into(bytes, net::Coding::kGzip, out);
  return out;
}

std::string zstd(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out.append(text);
  return out;
}

// Text in pieces of any size.
class Pieces final : public ByteSource {
 public:
  Pieces(std::string text, size_t size) : text_(std::move(text)), size_(size) {}
  bool read(std::string& out) override {
    if (at_ == text_.size()) return false;
    const size_t size = std::min(size_, text_.size() - at_);
    out.append(text_, at_, size);
    at_ += size;
    return true;
  }
  std::string name() const override { return "bucket/object"; }

 private:
  const std::string text_;
  const size_t size_;
  size_t at_ = 0;
};

std::string inflate_in_pieces(Compression compression, const std::string& bytes, size_t size) {
  const auto inflater = make_inflater(compression);
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += size) {
    inflater->feed(std::string_view(bytes).substr(i, size), out);
  }
  inflater->finish();
  return out;
}

TEST(Inflater, GivesBackWhatWasCompressedInPiecesOfAnySize) {
  const std::string text = repeated("some text that repeats; ", 20'000);
  for (const size_t size : {size_t{1}, size_t{7}, size_t{1000}, size_t{1'000'000}}) {
    EXPECT_EQ(inflate_in_pieces(Compression::kGzip, gzip(text), size), text);
    EXPECT_EQ(inflate_in_pieces(Compression::kZstd, zstd(text), size), text);
    EXPECT_EQ(inflate_in_pieces(Compression::kNone, text, size), text);
  }
}

TEST(Inflater, SeveralMembersAreOneText) {
  for (const size_t size : {size_t{1}, size_t{3}, size_t{10'000}}) {
    EXPECT_EQ(inflate_in_pieces(Compression::kGzip, gzip("one ") + gzip("") + gzip("two"), size),
              "one two");
    EXPECT_EQ(inflate_in_pieces(Compression::kZstd, zstd("one ") + zstd("") + zstd("two"), size),
              "one two");
  }
}

TEST(Inflater, NothingAtAllIsAnEmptyText) {
  for (const auto compression : {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    EXPECT_EQ(inflate_in_pieces(compression, "", 10), "");
  }
}

TEST(Inflater, TornAndDamagedDataIsNoticed) {
  const std::string text = repeated("some text that repeats; ", 1'000);
  for (const auto compression : {Compression::kGzip, Compression::kZstd}) {
    const std::string whole = compression == Compression::kGzip ? gzip(text) : zstd(text);
    for (const size_t size : {size_t{1}, whole.size() / 2, whole.size() - 1}) {
      EXPECT_THROW(inflate_in_pieces(compression, whole.substr(0, size), 100), std::runtime_error);
    }
    EXPECT_THROW(inflate_in_pieces(compression, "plain text", 100), std::runtime_error);
    EXPECT_THROW(inflate_in_pieces(compression, whole + "rest", 100), std::runtime_error);
  }
  std::string wrong_sum = gzip(text);
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  EXPECT_THROW(inflate_in_pieces(Compression::kGzip, wrong_sum, 100), std::runtime_error);
}

std::vector<std::string> lines_of(const std::string& text, size_t size) {
  Pieces source(text, size);
  LineReader reader(source);
  std::vector<std::string> lines;
  while (const auto line = reader.next()) lines.emplace_back(*line);
  EXPECT_EQ(reader.consumed_bytes(), text.size());
  return lines;
}

TEST(LineReader, LinesOfAnyLength) {
  const std::string longer(100'000, 'x');
  const std::vector<std::string> lines = {"a", "", "b\r", longer, "last"};
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  for (const size_t size : {size_t{1}, size_t{3}, size_t{50'000}, size_t{1'000'000}}) {
    EXPECT_EQ(lines_of(text, size), lines);
    EXPECT_EQ(lines_of(text.substr(0, text.size() - 1), size), lines);  // the last one needs no end
  }
  EXPECT_TRUE(lines_of("", 10).empty());
}

TEST(LineReader, ALineWithoutEndIsNotHeldWhole) {
  Pieces source(std::string(kMaxRecordBytes + 2'000'000, 'x'), 1'000'000);
  LineReader reader(source);
  EXPECT_THROW(reader.next(), DamagedObject);
}

using Records = std::vector<std::vector<std::string>>;

Records records_of(const std::string& text, char delimiter = ',') {
  Records all;
  for (const size_t size : {size_t{1}, size_t{2}, size_t{1000}}) {
    Pieces source(text, size);
    CsvReader reader(source, delimiter);
    Records records;
    std::vector<std::string> fields;
    while (reader.next(fields)) records.push_back(fields);
    EXPECT_EQ(reader.consumed_bytes(), text.size());
    if (!all.empty()) {
      EXPECT_EQ(records, all);
    }
    all = records;
  }
  return all;
}

TEST(CsvReader, RecordsAsTheStandardHasThem) {
  EXPECT_EQ(records_of("a,b\nc,d\n"), (Records{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(records_of("a,b\r\nc,d"), (Records{{"a", "b"}, {"c", "d"}}));
  EXPECT_EQ(records_of("a,,\n,b,\n"), (Records{{"a", "", ""}, {"", "b", ""}}));
  EXPECT_EQ(records_of("\"a,b\",\"c\"\"d\"\n\"e\nf\",g\n"),
            (Records{{"a,b", "c\"d"}, {"e\nf", "g"}}));
  EXPECT_EQ(records_of("\"\",x\n"), (Records{{"", "x"}}));
  EXPECT_EQ(records_of("\n\na\n\r\n\nb\n\n"), (Records{{"a"}, {"b"}}));
  EXPECT_EQ(records_of("a;b,c\n", ';'), (Records{{"a", "b,c"}}));
  EXPECT_EQ(records_of("a\tb\n", '\t'), (Records{{"a", "b"}}));
  EXPECT_EQ(records_of("a b\n", ' '), (Records{{"a", "b"}}));
  EXPECT_EQ(records_of("a\"b,c\n"), (Records{{"a\"b", "c"}}));
  EXPECT_EQ(records_of(""), Records{});
}

TEST(CsvReader, QuotesThatDoNotEndAreDamage) {
  for (const char* text : {"\"a", "\"a\"\"", "a,\"b\nc\n", "\"a\"b,c\n"}) {
    Pieces source(text, 3);
    CsvReader reader(source, ',');
    std::vector<std::string> fields;
    EXPECT_THROW(while (reader.next(fields)){}, DamagedObject) << text;
  }
}

class ItemsTest : public ::testing::Test {
 protected:
  ItemsTest() {
    schema_.name = "Items";
    schema_.key.partition = {{"pk", model::KeyType::kString}};
    schema_.key.sort = {{"sk", model::KeyType::kNumber}};
    definitions_ = {{"pk", model::KeyType::kString},
                    {"sk", model::KeyType::kNumber},
                    {"bin", model::KeyType::kBinary}};
  }
  // "ok", or the error, for each record; the damage at the end.
  std::vector<std::string> read(const std::string& text, ImportFormat format = {}) {
    Pieces source(text, 100);
    items_.clear();
    std::vector<std::string> results;
    try {
      const auto reader = open_items(source, format, schema_, definitions_);
      while (const auto next = reader->next()) {
        results.push_back(next->item ? "ok" : next->error);
        if (next->item) items_.push_back(*next->item);
      }
    } catch (const DamagedObject& damage) {
      results.push_back(std::string("damage: ") + damage.what());
    }
    return results;
  }
  using Results = std::vector<std::string>;

  model::TableSchema schema_;
  std::vector<model::KeyAttribute> definitions_;
  std::vector<model::Item> items_;
};

TEST_F(ItemsTest, LinesOfDynamoJson) {
  EXPECT_EQ(read("{\"Item\":{\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"},\"m\":{\"M\":{\"x\":{"
                 "\"NULL\":true}}}}}\n"
                 "\n   \n\r\n"
                 "{\"Item\":{\"pk\":{\"S\":\"b\"},\"sk\":{\"N\":\"2\"}}}"),
            (Results{"ok", "ok"}));
  EXPECT_EQ(items_[0].find("m")->type(), model::Type::kMap);
  EXPECT_EQ(items_[1].find("sk")->as_number(), model::Number::from_int(2));
}

TEST_F(ItemsTest, WhatIsWrongWithOneItemDoesNotEndTheObject) {
  const std::string key = "\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"}";
  EXPECT_EQ(
      read("{\"Item\":{\"sk\":{\"N\":\"1\"}}}\n"
           "{\"Item\":{\"pk\":{\"S\":\"a\"}}}\n"
           "{\"Item\":{\"pk\":{\"S\":\"a\"},\"sk\":{\"S\":\"1\"}}}\n"
           "{\"Item\":{\"pk\":{\"S\":\"\"},\"sk\":{\"N\":\"1\"}}}\n"
           "{\"Item\":{" +
           key +
           ",\"n\":{\"N\":\"x\"}}}\n"
           "{\"Item\":{" +
           key + ",\"s\":{\"S\":\"" + std::string(410'000, 'x') +
           "\"}}}\n"
           "{\"Item\":{" +
           key + "}}\n"),
      (Results{"One or more parameter values were invalid: Missing the key pk in the item",
               "One or more parameter values were invalid: Missing the key sk in the item",
               "One or more parameter values were invalid: Type mismatch for key sk expected: N "
               "actual: S",
               "One or more parameter values are not valid. The AttributeValue for a key attribute "
               "cannot contain an empty string value. Key: pk",
               "The parameter cannot be converted to a numeric value: x",
               "Item size has exceeded the maximum allowed size", "ok"}));
}

TEST_F(ItemsTest, ALineThatIsNoItemEndsTheObject) {
  const std::string good = "{\"Item\":{\"pk\":{\"S\":\"a\"},\"sk\":{\"N\":\"1\"}}}\n";
  EXPECT_EQ(read(good + "\n{\"Item\": \n" + good),
            (Results{"ok", "damage: bucket/object: line 3 is not JSON"}));
  EXPECT_EQ(read(good + "{\"NotAnItem\":{}}\n" + good),
            (Results{"ok", "damage: bucket/object: line 2 has no Item"}));
  EXPECT_EQ(read("[1]\n"), (Results{"damage: bucket/object: line 1 has no Item"}));
  EXPECT_EQ(read("\xff\xfe\n"), (Results{"damage: bucket/object: line 1 is not JSON"}));
}

TEST_F(ItemsTest, KeysInCsvHaveTheirTypesAndAllElseIsText) {
  ImportFormat csv;
  csv.kind = ImportFormat::Kind::kCsv;
  EXPECT_EQ(read("\xEF\xBB\xBFpk,sk,bin,x\na,1.50,AAE=,\"7,5\"\nb,2,AAE=,\n", csv),
            (Results{"ok", "ok"}));
  EXPECT_EQ(items_[0].find("pk")->as_string(), "a");
  EXPECT_EQ(items_[0].find("sk")->as_number(), *model::Number::parse("1.5"));
  EXPECT_EQ(items_[0].find("bin")->as_binary(), std::string("\0\1", 2));
  EXPECT_EQ(items_[0].find("x")->as_string(), "7,5");
  EXPECT_EQ(items_[1].find("x")->as_string(), "");
}

TEST_F(ItemsTest, AHeaderThatIsGivenMakesTheFirstLineData) {
  ImportFormat csv;
  csv.kind = ImportFormat::Kind::kCsv;
  csv.delimiter = ';';
  csv.header = {"pk", "sk"};
  EXPECT_EQ(read("pk;1\nb;2\n", csv), (Results{"ok", "ok"}));
  EXPECT_EQ(items_[0].find("pk")->as_string(), "pk");
}

TEST_F(ItemsTest, RecordsOfCsvThatAreNoItems) {
  ImportFormat csv;
  csv.kind = ImportFormat::Kind::kCsv;
  EXPECT_EQ(
      read("pk,sk,bin\na,one,AAE=\na,1,?\na,1\n,1,AAE=\na,\xff,AAE=\na,1,AAE=\n", csv),
      (Results{"The parameter cannot be converted to a numeric value: one",
               "The value of bin is not valid base64: ?",
               "The number of fields in the record (2) does not match the number of columns in "
               "the header (3)",
               "One or more parameter values are not valid. The AttributeValue for a key "
               "attribute cannot contain an empty string value. Key: pk",
               "The value of sk is not valid UTF-8", "ok"}));
  EXPECT_EQ(read("pk,pk\na,b\n", csv),
            (Results{"damage: bucket/object: a column of the header comes twice"}));
  EXPECT_EQ(read("pk,\na,b\n", csv),
            (Results{"damage: bucket/object: a column of the header has no name"}));
  EXPECT_EQ(read("", csv), Results{});
}

// Objects of a bucket, read in parts.
class ObjectTest : public ::testing::Test {
 protected:
  ObjectTest()
      : root_(std::filesystem::temp_directory_path() / ("stator_source_" + RandomIds().uuid())),
        store_(objects::open_folder(root_)) {}
  ~ObjectTest() override { std::filesystem::remove_all(root_); }
  std::string read(const std::string& key, Compression compression) {
    const auto info = store_->list("bucket", key, "", 1).at(0);
    const auto source = open_object(*store_, "bucket", info, compression);
    std::string out;
    while (source->read(out)) {
    }
    return out;
  }
  std::string damage(const std::string& key, Compression compression) {
    try {
      read(key, compression);
    } catch (const DamagedObject& error) {
      return error.what();
    }
    return "no damage";
  }

  std::filesystem::path root_;
  std::unique_ptr<objects::ObjectStore> store_;
};

TEST_F(ObjectTest, LargerThanAPart) {
  std::string text;
  RandomIds ids(1);
  while (text.size() < 9'000'000) text += ids.uuid();
  store_->put("bucket", "plain", text);
  store_->put("bucket", "zipped", gzip(text));
  store_->put("bucket", "zstd", zstd(text));
  EXPECT_EQ(read("plain", Compression::kNone), text);
  EXPECT_EQ(read("zipped", Compression::kGzip), text);
  EXPECT_EQ(read("zstd", Compression::kZstd), text);
}

TEST_F(ObjectTest, DamageNamesTheObject) {
  store_->put("bucket", "plain", "plain text");
  const std::string whole = gzip("some text");
  store_->put("bucket", "torn", whole.substr(0, whole.size() - 3));
  EXPECT_EQ(damage("plain", Compression::kGzip),
            "bucket/plain: not valid gzip data: incorrect header check");
  EXPECT_EQ(damage("torn", Compression::kGzip), "bucket/torn: gzip data is cut short");
}

TEST_F(ObjectTest, AnObjectThatChangedOrWentAwayIsDamaged) {
  store_->put("bucket", "k", "first");
  const auto info = store_->list("bucket", "k", "", 1).at(0);
  store_->put("bucket", "k", "other");
  std::string out;
  EXPECT_THROW(open_object(*store_, "bucket", info, Compression::kNone)->read(out), DamagedObject);
  std::filesystem::remove(root_ / "bucket/k");
  EXPECT_THROW(open_object(*store_, "bucket", info, Compression::kNone)->read(out), DamagedObject);
}

}  // namespace
}  // namespace stator::transfer
