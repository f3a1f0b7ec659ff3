// Streams from end to end, with a clock that the test moves.
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "json/reader.h"
#include "support/database_case.h"

namespace stator {
namespace {

constexpr int64_t kHour_us = 3600LL * 1'000'000;

struct Shard {
  std::string id;
  std::string parent;
  std::string first;
  std::string last;  // empty while it is open
};

struct Record {
  std::string text;
  std::string event;
  std::string key;  // canonical
  std::string new_image;
  std::string old_image;
  std::string sequence;
  int64_t size_bytes = 0;
};

class StreamsTest : public ::testing::TestWithParam<uint64_t>, protected DatabaseCase {
 protected:
  void SetUp() override { open(); }
  void TearDown() override {
    database_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  void open(int64_t shards = 4) {
    database_.reset();
    DatabaseOptions options;
    options.durability = directory_.empty() ? engine::Durability::kMemory : engine::Durability::kOs;
    options.directory = directory_;
    options.clock = &clock_;
    options.stream_shards = shards;
    options.adversary_seed = GetParam();
    database_ = Database::open(options);
  }
  void keep_on_disk() {
    directory_ =
        std::filesystem::temp_directory_path() /
        ("stator-streams-" + std::to_string(::getpid()) + "-" + std::to_string(GetParam()));
    std::filesystem::remove_all(directory_);
    open();
  }

  Answer ask(std::string_view operation, std::string body) {
    return run_on("DynamoDBStreams_20120810", operation, std::move(body));
  }
  std::string must_ask(std::string_view operation, std::string body) {
    return body_of(operation, ask(operation, std::move(body)), 200);
  }

  static std::string text_in(const std::string& body, std::string_view outer,
                             std::string_view name) {
    json::Document document;
    EXPECT_TRUE(document.parse(body));
    auto element = document.root();
    if (!outer.empty()) {
      const auto inner = json::member(element, outer);
      if (!inner) return {};
      element = *inner;
    }
    return std::string(json::string_member(element, name).value_or(""));
  }

  void create(const std::string& name, const std::string& view) {
    must("CreateTable",
         R"({"TableName":")" + name +
             R"(","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],)"
             R"("AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],)"
             R"("BillingMode":"PAY_PER_REQUEST","StreamSpecification":)"
             R"({"StreamEnabled":true,"StreamViewType":")" +
             view + R"("}})");
  }
  std::string arn(const std::string& table) {
    return text_in(must("DescribeTable", R"({"TableName":")" + table + R"("})"), "Table",
                   "LatestStreamArn");
  }

  std::vector<Shard> shards(const std::string& arn) {
    std::vector<Shard> found;
    json::Document document;
    EXPECT_TRUE(document.parse(must_ask("DescribeStream", R"({"StreamArn":")" + arn + R"("})")));
    const auto description = *json::member(document.root(), "StreamDescription");
    const auto shards_there = *json::array_member(description, "Shards");
    for (const auto shard : shards_there) {
      const auto range = *json::member(shard, "SequenceNumberRange");
      found.push_back(
          {std::string(*json::string_member(shard, "ShardId")),
           std::string(json::string_member(shard, "ParentShardId").value_or("")),
           std::string(*json::string_member(range, "StartingSequenceNumber")),
           std::string(json::string_member(range, "EndingSequenceNumber").value_or(""))});
    }
    return found;
  }

  std::string iterator(const std::string& arn, const std::string& shard, const std::string& type,
                       const std::string& sequence = "") {
    std::string body = R"({"StreamArn":")" + arn + R"(","ShardId":")" + shard +
                       R"(","ShardIteratorType":")" + type + '"';
    if (!sequence.empty()) body += R"(,"SequenceNumber":")" + sequence + '"';
    return text_in(must_ask("GetShardIterator", body + "}"), "", "ShardIterator");
  }

  // The records from an iterator on, until nothing more comes; `ended` says that the shard is over.
  std::vector<Record> read(std::string at, bool* ended = nullptr, int limit = 1000) {
    std::vector<Record> records;
    for (;;) {
      json::Document document;
      EXPECT_TRUE(
          document.parse(must_ask("GetRecords", R"({"ShardIterator":")" + at + R"(","Limit":)" +
                                                    std::to_string(limit) + "}")));
      size_t count = 0;
      const auto records_there = *json::array_member(document.root(), "Records");
      for (const auto record : records_there) {
        ++count;
        const auto change = *json::member(record, "dynamodb");
        const auto image = [&](std::string_view name) {
          const auto found = json::member(change, name);
          return found ? json::canonical(*found) : std::string();
        };
        records.push_back({json::canonical(record),
                           std::string(*json::string_member(record, "eventName")), image("Keys"),
                           image("NewImage"), image("OldImage"),
                           std::string(*json::string_member(change, "SequenceNumber")),
                           *json::int_member(change, "SizeBytes")});
      }
      const auto next = json::string_member(document.root(), "NextShardIterator");
      if (ended != nullptr) *ended = !next;
      if (!next || count == 0) return records;
      at = *next;
    }
  }

  std::vector<Record> read_all(const std::string& arn) {
    std::vector<Record> all;
    for (const Shard& shard : shards(arn)) {
      for (Record& record : read(iterator(arn, shard.id, "TRIM_HORIZON")))
        all.push_back(std::move(record));
    }
    return all;
  }

  void put(const std::string& table, const std::string& key, const std::string& value) {
    must("PutItem", R"({"TableName":")" + table + R"(","Item":{"pk":{"S":")" + key +
                        R"("},"v":{"S":")" + value + R"("}}})");
  }
  void remove(const std::string& table, const std::string& key) {
    must("DeleteItem", R"({"TableName":")" + table + R"(","Key":{"pk":{"S":")" + key + R"("}}})");
  }

  std::filesystem::path directory_;
};

// The sizes are those of the service's own examples of Lambda events.
TEST_P(StreamsTest, records_have_images_and_sizes) {
  must("CreateTable",
       R"({"TableName":"Tab","KeySchema":[{"AttributeName":"Id","KeyType":"HASH"}],)"
       R"("AttributeDefinitions":[{"AttributeName":"Id","AttributeType":"N"}],)"
       R"("BillingMode":"PAY_PER_REQUEST",)"
       R"("StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}})");
  must("PutItem", R"({"TableName":"Tab","Item":{"Id":{"N":"101"},"Message":{"S":"New item!"}}})");
  must("UpdateItem",
       R"({"TableName":"Tab","Key":{"Id":{"N":"101"}},"UpdateExpression":"SET Message = :m",)"
       R"("ExpressionAttributeValues":{":m":{"S":"This item has changed"}}})");
  must("DeleteItem", R"({"TableName":"Tab","Key":{"Id":{"N":"101"}}})");
  const auto records = read_all(arn("Tab"));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].event, "INSERT");
  EXPECT_EQ(records[0].key, R"({"Id":{"N":"101"}})");
  EXPECT_EQ(records[0].new_image, R"({"Id":{"N":"101"},"Message":{"S":"New item!"}})");
  EXPECT_EQ(records[0].old_image, "");
  EXPECT_EQ(records[0].size_bytes, 26);
  EXPECT_EQ(records[1].event, "MODIFY");
  EXPECT_EQ(records[1].old_image, records[0].new_image);
  EXPECT_EQ(records[1].size_bytes, 59);
  EXPECT_EQ(records[2].event, "REMOVE");
  EXPECT_EQ(records[2].new_image, "");
  EXPECT_EQ(records[2].old_image, records[1].new_image);
  EXPECT_EQ(records[2].size_bytes, 38);
  EXPECT_LT(records[0].sequence, records[1].sequence);
  EXPECT_LT(records[1].sequence, records[2].sequence);
}

TEST_P(StreamsTest, a_view_shows_what_it_is_named_after) {
  for (const std::string view : {"KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"}) {
    create(view, view);
    put(view, "k", "1");
    put(view, "k", "2");
    remove(view, "k");
    const auto records = read_all(arn(view));
    ASSERT_EQ(records.size(), 3u) << view;
    const bool shows_new = view.starts_with("NEW");
    const bool shows_old = view.find("OLD") != std::string::npos;
    for (const Record& record : records) {
      EXPECT_EQ(record.key, R"({"pk":{"S":"k"}})");
      EXPECT_EQ(!record.new_image.empty(), shows_new && record.event != "REMOVE") << view;
      EXPECT_EQ(!record.old_image.empty(), shows_old && record.event != "INSERT") << view;
      EXPECT_NE(record.text.find(R"("StreamViewType":")" + view + '"'), std::string::npos);
    }
  }
}

TEST_P(StreamsTest, a_write_that_changes_nothing_leaves_no_record) {
  create("Tab", "NEW_AND_OLD_IMAGES");
  put("Tab", "k", "1");
  put("Tab", "k", "1");
  remove("Tab", "absent");
  must("UpdateItem", R"({"TableName":"Tab","Key":{"pk":{"S":"k"}},"UpdateExpression":"SET v = :v",)"
                     R"("ExpressionAttributeValues":{":v":{"S":"1"}}})");
  run("PutItem", R"json({"TableName":"Tab","Item":{"pk":{"S":"k"}},)json"
                 R"json("ConditionExpression":"attribute_not_exists(pk)"})json");
  EXPECT_EQ(read_all(arn("Tab")).size(), 1u);
}

TEST_P(StreamsTest, a_transaction_records_all_of_its_items) {
  create("Tab", "NEW_IMAGE");
  std::string items;
  for (int i = 0; i < 20; ++i) {
    if (i > 0) items += ",";
    items += R"({"Put":{"TableName":"Tab","Item":{"pk":{"S":"k)" + std::to_string(i) + R"("}}}})";
  }
  must("TransactWriteItems", R"({"TransactItems":[)" + items + "]}");
  std::set<std::string> sequences;
  for (const Record& record : read_all(arn("Tab"))) sequences.insert(record.sequence);
  EXPECT_EQ(sequences.size(), 20u);
}

TEST_P(StreamsTest, a_transaction_that_deletes_many_large_items_is_recorded) {
  create("Tab", "NEW_AND_OLD_IMAGES");
  const std::string large(390'000, 'x');
  std::string items;
  for (int i = 0; i < 30; ++i) {
    put("Tab", "k" + std::to_string(i), large);
    if (i > 0) items += ",";
    items += R"({"Delete":{"TableName":"Tab","Key":{"pk":{"S":"k)" + std::to_string(i) + R"("}}}})";
  }
  must("TransactWriteItems", R"({"TransactItems":[)" + items + "]}");
  size_t removed = 0;
  for (const Record& record : read_all(arn("Tab"))) removed += record.event == "REMOVE" ? 1 : 0;
  EXPECT_EQ(removed, 30u);
}

TEST_P(StreamsTest, an_expired_item_is_removed_by_the_service) {
  create("Tab", "OLD_IMAGE");
  must("UpdateTimeToLive",
       R"({"TableName":"Tab","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}})");
  must("PutItem", R"({"TableName":"Tab","Item":{"pk":{"S":"k"},"ttl":{"N":")" +
                      std::to_string(clock_.now_s() - 10) + R"("}}})");
  std::vector<Record> records;
  ASSERT_TRUE(eventually([&] {
    records = read_all(arn("Tab"));
    return records.size() == 2;
  }));
  EXPECT_EQ(records[0].text.find("userIdentity"), std::string::npos);
  EXPECT_EQ(records[1].event, "REMOVE");
  EXPECT_NE(records[1].text.find(
                R"("userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"})"),
            std::string::npos)
      << records[1].text;
}

TEST_P(StreamsTest, iterators_begin_where_they_say) {
  open(1);
  create("Tab", "NEW_IMAGE");
  const std::string stream = arn("Tab");
  const std::string shard = shards(stream).at(0).id;
  for (int i = 0; i < 5; ++i) put("Tab", "k" + std::to_string(i), "v");
  const auto all = read(iterator(stream, shard, "TRIM_HORIZON"));
  ASSERT_EQ(all.size(), 5u);
  const std::string latest = iterator(stream, shard, "LATEST");
  EXPECT_EQ(read(latest).size(), 0u);
  EXPECT_EQ(read(iterator(stream, shard, "AT_SEQUENCE_NUMBER", all[2].sequence)).size(), 3u);
  EXPECT_EQ(read(iterator(stream, shard, "AFTER_SEQUENCE_NUMBER", all[2].sequence)).size(), 2u);
  EXPECT_EQ(read(iterator(stream, shard, "AT_SEQUENCE_NUMBER", shards(stream).at(0).first)).size(),
            5u);
  EXPECT_EQ(read(iterator(stream, shard, "TRIM_HORIZON"), nullptr, 2).size(), 5u);
  put("Tab", "later", "v");
  EXPECT_EQ(read(latest).size(), 1u);
  const Answer outside =
      ask("GetShardIterator", R"({"StreamArn":")" + stream + R"(","ShardId":")" + shard +
                                  R"(","ShardIteratorType":"AT_SEQUENCE_NUMBER","SequenceNumber":)"
                                  R"("199999999999999999999999999"})");
  EXPECT_EQ(outside.status, 400);
  EXPECT_NE(outside.body.find("ValidationException"), std::string::npos);
}

TEST_P(StreamsTest, a_page_of_records_has_at_most_a_megabyte) {
  open(1);
  create("Tab", "NEW_AND_OLD_IMAGES");
  const std::string large(300'000, 'x');
  for (int i = 0; i < 8; ++i) put("Tab", "k" + std::to_string(i), large);
  const std::string stream = arn("Tab");
  const std::string shard = shards(stream).at(0).id;
  const std::string first = must_ask(
      "GetRecords", R"({"ShardIterator":")" + iterator(stream, shard, "TRIM_HORIZON") + R"("})");
  EXPECT_LT(first.size(), 1'100'000u);
  EXPECT_EQ(read(iterator(stream, shard, "TRIM_HORIZON")).size(), 8u);
}

TEST_P(StreamsTest, an_iterator_expires_after_fifteen_minutes) {
  create("Tab", "NEW_IMAGE");
  const std::string stream = arn("Tab");
  const std::string at = iterator(stream, shards(stream).at(0).id, "LATEST");
  clock_.advance_us(kHour_us / 4);
  EXPECT_EQ(ask("GetRecords", R"({"ShardIterator":")" + at + R"("})").status, 200);
  clock_.advance_us(1'000'000);
  const Answer answer = ask("GetRecords", R"({"ShardIterator":")" + at + R"("})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("ExpiredIteratorException"), std::string::npos) << answer.body;
}

TEST_P(StreamsTest, records_are_gone_after_a_day) {
  open(1);
  create("Tab", "NEW_IMAGE");
  const std::string stream = arn("Tab");
  const std::string shard = shards(stream).at(0).id;
  put("Tab", "early", "1");
  clock_.advance_us(kHour_us);
  put("Tab", "late", "1");
  const auto both = read(iterator(stream, shard, "TRIM_HORIZON"));
  ASSERT_EQ(both.size(), 2u);
  clock_.advance_us(23 * kHour_us + 60'000'000);
  // Shards have rolled by then or not yet: the first one is readable until a day after it closed.
  const auto left = read(iterator(stream, shard, "TRIM_HORIZON"));
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].key, R"({"pk":{"S":"late"}})");
  const Answer trimmed =
      ask("GetShardIterator", R"({"StreamArn":")" + stream + R"(","ShardId":")" + shard +
                                  R"(","ShardIteratorType":"AFTER_SEQUENCE_NUMBER",)"
                                  R"("SequenceNumber":")" +
                                  both[0].sequence + R"("})");
  EXPECT_EQ(trimmed.status, 400);
  EXPECT_NE(trimmed.body.find("TrimmedDataAccessException"), std::string::npos) << trimmed.body;
}

TEST_P(StreamsTest, old_shards_close_and_children_go_on) {
  create("Tab", "NEW_IMAGE");
  const std::string stream = arn("Tab");
  for (int i = 0; i < 40; ++i) put("Tab", "k" + std::to_string(i), "1");
  clock_.advance_us(4 * kHour_us);
  must("UpdateTable",
       R"({"TableName":"Tab","DeletionProtectionEnabled":false})");  // wakes the work
  ASSERT_TRUE(eventually([&] { return shards(stream).size() == 8; }));
  for (int i = 0; i < 40; ++i) put("Tab", "k" + std::to_string(i), "2");
  std::map<std::string, std::set<std::string>> keys_of;
  std::map<std::string, Shard> by_id;
  size_t records = 0;
  for (const Shard& shard : shards(stream)) {
    by_id[shard.id] = shard;
    bool ended = false;
    for (const Record& record : read(iterator(stream, shard.id, "TRIM_HORIZON"), &ended)) {
      ++records;
      keys_of[shard.id].insert(record.key);
      EXPECT_GT(record.sequence, shard.first);
      if (!shard.last.empty()) {
        EXPECT_LT(record.sequence, shard.last);
      }
      EXPECT_NE(record.new_image.find(shard.parent.empty() ? R"("1")" : R"("2")"),
                std::string::npos);
    }
    EXPECT_EQ(ended, shard.parent.empty());
    EXPECT_EQ(shard.last.empty(), !shard.parent.empty());
  }
  EXPECT_EQ(records, 80u);
  for (const auto& [id, shard] : by_id) {
    if (!shard.parent.empty()) {
      EXPECT_EQ(keys_of[id], keys_of[shard.parent]);
    }
  }
  // Only the children of one shard.
  const std::string children =
      must_ask("DescribeStream", R"({"StreamArn":")" + stream +
                                     R"(","ShardFilter":{"Type":"CHILD_SHARDS","ShardId":")" +
                                     by_id.begin()->first + R"("}})");
  json::Document document;
  ASSERT_TRUE(document.parse(children));
  const auto description = *json::member(document.root(), "StreamDescription");
  EXPECT_EQ(json::array_member(description, "Shards")->size(), 1u);
}

TEST_P(StreamsTest, shards_are_listed_in_pages) {
  open(7);
  create("Tab", "NEW_IMAGE");
  const std::string stream = arn("Tab");
  std::set<std::string> seen;
  std::string after;
  for (int pages = 0; pages < 10; ++pages) {
    const std::string body =
        must_ask("DescribeStream",
                 R"({"StreamArn":")" + stream + R"(","Limit":3)" +
                     (after.empty() ? "" : R"(,"ExclusiveStartShardId":")" + after + '"') + "}");
    json::Document document;
    ASSERT_TRUE(document.parse(body));
    const auto description = *json::member(document.root(), "StreamDescription");
    const auto shards_there = *json::array_member(description, "Shards");
    for (const auto shard : shards_there) seen.emplace(*json::string_member(shard, "ShardId"));
    const auto last = json::string_member(description, "LastEvaluatedShardId");
    if (!last) break;
    after = *last;
  }
  EXPECT_EQ(seen.size(), 7u);
}

TEST_P(StreamsTest, a_restart_with_more_shards_splits_them) {
  keep_on_disk();
  create("Tab", "NEW_IMAGE");
  const std::string stream = arn("Tab");
  for (int i = 0; i < 30; ++i) put("Tab", "k" + std::to_string(i), "1");
  open(10);
  ASSERT_TRUE(eventually([&] { return shards(stream).size() == 14; }));
  for (int i = 0; i < 30; ++i) put("Tab", "k" + std::to_string(i), "2");
  open(2);  // never fewer, but new ones
  ASSERT_TRUE(eventually([&] { return shards(stream).size() == 24; }));
  std::set<std::string> ids;
  for (const Shard& shard : shards(stream)) {
    if (!shard.parent.empty()) {
      EXPECT_TRUE(ids.contains(shard.parent));
    }
    ids.insert(shard.id);
  }
  EXPECT_EQ(read_all(stream).size(), 60u);
}

TEST_P(StreamsTest, a_stream_turned_off_stays_readable_for_a_day) {
  create("Tab", "NEW_IMAGE");
  const std::string first = arn("Tab");
  put("Tab", "k", "1");
  must("UpdateTable", R"({"TableName":"Tab","StreamSpecification":{"StreamEnabled":false}})");
  put("Tab", "k", "2");
  EXPECT_EQ(arn("Tab"), first);
  EXPECT_EQ(text_in(must_ask("DescribeStream", R"({"StreamArn":")" + first + R"("})"),
                    "StreamDescription", "StreamStatus"),
            "DISABLED");
  must("UpdateTable", R"({"TableName":"Tab","StreamSpecification":{"StreamEnabled":true,)"
                      R"("StreamViewType":"KEYS_ONLY"}})");
  const std::string second = arn("Tab");
  EXPECT_NE(second, first);
  put("Tab", "k", "3");
  EXPECT_EQ(read_all(first).size(), 1u);
  EXPECT_EQ(read_all(second).size(), 1u);
  must("DeleteTable", R"({"TableName":"Tab"})");
  EXPECT_EQ(read_all(second).size(), 1u);
  create("Tab", "NEW_IMAGE");
  EXPECT_NE(arn("Tab"), second);
  EXPECT_EQ(must_ask("ListStreams", R"({"TableName":"Tab"})").find(first) != std::string::npos,
            true);
  clock_.advance_us(24 * kHour_us);
  EXPECT_EQ(ask("DescribeStream", R"({"StreamArn":")" + first + R"("})").status, 400);
  EXPECT_EQ(must_ask("ListStreams", R"({"TableName":"Tab"})").find(first), std::string::npos);
}

// The rule of it all: replaying the records gives the table.
TEST_P(StreamsTest, replaying_the_records_gives_the_table) {
  create("Tab", "NEW_AND_OLD_IMAGES");
  const std::string stream = arn("Tab");
  constexpr int kWriters = 4;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      std::mt19937 random(static_cast<unsigned>(w) + 7);
      const auto key = [&] { return "k" + std::to_string(random() % 20); };
      for (int i = 0; i < 150; ++i) {
        switch (random() % 4) {
          case 0:
            remove("Tab", key());
            break;
          case 1:
            run("UpdateItem", R"({"TableName":"Tab","Key":{"pk":{"S":")" + key() +
                                  R"("}},"UpdateExpression":"ADD n :one",)"
                                  R"("ExpressionAttributeValues":{":one":{"N":"1"}}})");
            break;
          case 2: {
            const std::string one = key();
            const std::string other = one + "x";
            run("TransactWriteItems",
                R"({"TransactItems":[{"Put":{"TableName":"Tab","Item":{"pk":{"S":")" + one +
                    R"("}}}},{"Delete":{"TableName":"Tab","Key":{"pk":{"S":")" + other +
                    R"("}}}}]})");
            break;
          }
          default:
            put("Tab", key(), std::to_string(random() % 5));
        }
      }
    });
  }
  clock_.advance_us(4 * kHour_us);  // shards roll meanwhile
  for (std::thread& writer : writers) writer.join();

  std::map<std::string, std::string> replayed;
  std::set<std::string> done;
  std::vector<Shard> left = shards(stream);
  while (!left.empty()) {  // parents first
    std::vector<Shard> later;
    for (const Shard& shard : left) {
      if (!shard.parent.empty() && !done.contains(shard.parent)) {
        later.push_back(shard);
        continue;
      }
      done.insert(shard.id);
      for (const Record& record : read(iterator(stream, shard.id, "TRIM_HORIZON"), nullptr, 7)) {
        const auto found = replayed.find(record.key);
        EXPECT_EQ(found == replayed.end() ? "" : found->second, record.old_image);
        EXPECT_EQ(record.event, record.old_image.empty()   ? "INSERT"
                                : record.new_image.empty() ? "REMOVE"
                                                           : "MODIFY");
        if (record.new_image.empty()) {
          replayed.erase(record.key);
        } else {
          replayed[record.key] = record.new_image;
        }
      }
    }
    ASSERT_LT(later.size(), left.size());
    left = later;
  }
  std::set<std::string> items;
  json::Document document;
  ASSERT_TRUE(document.parse(must("Scan", R"({"TableName":"Tab"})")));
  const auto items_there = *json::array_member(document.root(), "Items");
  for (const auto item : items_there) items.insert(json::canonical(item));
  std::set<std::string> replayed_items;
  for (const auto& [key, item] : replayed) replayed_items.insert(item);
  EXPECT_EQ(replayed_items, items);
}

INSTANTIATE_TEST_SUITE_P(Engines, StreamsTest, ::testing::Values(0, 17), [](const auto& info) {
  return info.param == 0 ? "rocksdb" : "adversary";
});

}  // namespace
}  // namespace stator
