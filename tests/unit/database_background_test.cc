// Background work with a clock that the test moves: items expire, new indexes are built while
// writers go on.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include <unistd.h>

#include "json/reader.h"
#include "support/database_case.h"

namespace stator {
namespace {

constexpr int64_t kNow_s = 1'800'000'000;

class BackgroundTest : public ::testing::Test, protected DatabaseCase {
 protected:
  void open(engine::Durability durability = engine::Durability::kMemory,
            std::filesystem::path directory = {}) {
    database_.reset();
    DatabaseOptions options;
    options.durability = durability;
    options.directory = std::move(directory);
    options.clock = &clock_;
    database_ = Database::open(options);
  }

  int64_t count(std::string_view operation, std::string body) {
    json::Document document;
    EXPECT_TRUE(document.parse(must(operation, std::move(body))));
    return json::int_member(document.root(), "Count").value_or(-1);
  }

  void create_table() {
    must("CreateTable",
         R"({"TableName":"Items","BillingMode":"PAY_PER_REQUEST",
             "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
             "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]})");
  }

  void put(int number, const std::string& attributes = {}) {
    must("PutItem", R"({"TableName":"Items","Item":{"pk":{"S":")" + std::to_string(number) + "\"}" +
                        attributes + "}}");
  }

  bool index_is_active() {
    return must("DescribeTable", R"({"TableName":"Items"})").find("\"IndexStatus\":\"ACTIVE\"") !=
           std::string::npos;
  }

  static constexpr std::string_view kCreateIndex =
      R"({"TableName":"Items","AttributeDefinitions":[{"AttributeName":"g","AttributeType":"S"}],
          "GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"by-g","Projection":{"ProjectionType":"ALL"},
          "KeySchema":[{"AttributeName":"g","KeyType":"HASH"}]}}]})";
  static constexpr std::string_view kScanIndex =
      R"({"TableName":"Items","IndexName":"by-g","Select":"COUNT"})";
};

TEST_F(BackgroundTest, AnItemLeavesWhenItsTimeHasComeAndNotBefore) {
  open();
  create_table();
  must("UpdateTimeToLive",
       R"({"TableName":"Items","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}})");
  put(1, R"(,"ttl":{"N":")" + std::to_string(kNow_s + 100) + "\"}");
  put(2, R"(,"ttl":{"N":")" + std::to_string(kNow_s + 10'000) + "\"}");
  put(3, R"(,"ttl":{"S":"1"})");
  put(4, R"(,"ttl":{"N":"1"})");  // more than five years ago: left alone
  EXPECT_EQ(count("Scan", R"({"TableName":"Items","Select":"COUNT"})"), 4);
  clock_.advance_us(101LL * 1'000'000);
  EXPECT_TRUE(
      eventually([&] { return count("Scan", R"({"TableName":"Items","Select":"COUNT"})") == 3; }));
  EXPECT_EQ(must("GetItem", R"({"TableName":"Items","Key":{"pk":{"S":"1"}}})"), "{}");
}

TEST_F(BackgroundTest, ItemsFromBeforeTimeToLiveWasEnabledExpireToo) {
  open();
  create_table();
  for (int i = 0; i < 500; ++i) put(i, R"(,"ttl":{"N":")" + std::to_string(kNow_s - 5) + "\"}");
  put(1000, R"(,"ttl":{"N":")" + std::to_string(kNow_s + 5000) + "\"}");
  must("UpdateTimeToLive",
       R"({"TableName":"Items","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}})");
  EXPECT_TRUE(
      eventually([&] { return count("Scan", R"({"TableName":"Items","Select":"COUNT"})") == 1; }));
}

TEST_F(BackgroundTest, ManyItemsExpireTogetherFromTableAndIndexes) {
  open();
  must("CreateTable",
       R"({"TableName":"Items","BillingMode":"PAY_PER_REQUEST",
           "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},
                                   {"AttributeName":"sk","AttributeType":"S"},
                                   {"AttributeName":"g","AttributeType":"S"}],
           "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},
                        {"AttributeName":"sk","KeyType":"RANGE"}],
           "GlobalSecondaryIndexes":[{"IndexName":"by-g","Projection":{"ProjectionType":"KEYS_ONLY"},
               "KeySchema":[{"AttributeName":"g","KeyType":"HASH"}]}],
           "LocalSecondaryIndexes":[{"IndexName":"local","Projection":{"ProjectionType":"ALL"},
               "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},
                            {"AttributeName":"g","KeyType":"RANGE"}]}]})");
  must("UpdateTimeToLive",
       R"({"TableName":"Items","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}})");
  constexpr int kItems = 3000;  // more than one commit takes
  for (int i = 0; i < kItems; ++i) {
    put(i % 7, R"(,"sk":{"S":")" + std::to_string(i) + R"("},"g":{"S":"x"},"ttl":{"N":")" +
                   std::to_string(kNow_s + 10 + i % 50) + "\"}");
  }
  put(1, R"(,"sk":{"S":"stays"},"g":{"S":"x"})");
  // Known to the queue at one time, but it was put back since.
  put(0, R"(,"sk":{"S":"0"},"g":{"S":"x"},"ttl":{"N":")" + std::to_string(kNow_s + 5000) + "\"}");
  clock_.advance_us(100LL * 1'000'000);
  EXPECT_TRUE(eventually([&] {
    return must("DescribeTable", R"({"TableName":"Items"})").find("\"ItemCount\":2") !=
           std::string::npos;
  }));
  EXPECT_EQ(count("Scan", R"({"TableName":"Items","Select":"COUNT"})"), 2);
  EXPECT_EQ(count("Scan", std::string(kScanIndex)), 2);
  EXPECT_EQ(count("Scan", R"({"TableName":"Items","IndexName":"local","Select":"COUNT"})"), 2);
  clock_.advance_us(5000LL * 1'000'000);
  EXPECT_TRUE(
      eventually([&] { return count("Scan", R"({"TableName":"Items","Select":"COUNT"})") == 1; }));
}

TEST_F(BackgroundTest, LargeItemsExpireInCommitsThatFit) {
  open();
  create_table();
  must("UpdateTable",
       R"({"TableName":"Items","StreamSpecification":{"StreamEnabled":true,
           "StreamViewType":"NEW_AND_OLD_IMAGES"}})");
  must("UpdateTimeToLive",
       R"({"TableName":"Items","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}})");
  const std::string filler(390'000, 'x');
  for (int i = 0; i < 60; ++i) {
    put(i, R"(,"filler":{"S":")" + filler + R"("},"ttl":{"N":")" + std::to_string(kNow_s + 10) +
               "\"}");
  }
  clock_.advance_us(100LL * 1'000'000);
  EXPECT_TRUE(
      eventually([&] { return count("Scan", R"({"TableName":"Items","Select":"COUNT"})") == 0; }));
}

TEST_F(BackgroundTest, ItemsExpireWhileAnIndexIsBuilt) {
  open();
  create_table();
  must("UpdateTimeToLive",
       R"({"TableName":"Items","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}})");
  constexpr int kItems = 6000;
  for (int i = 0; i < kItems; ++i) {
    put(i, R"(,"g":{"S":"x"})" +
               (i % 2 == 0 ? R"(,"ttl":{"N":")" + std::to_string(kNow_s + 10) + "\"}" : ""));
  }
  must("UpdateTable", std::string(kCreateIndex));
  clock_.advance_us(100LL * 1'000'000);
  EXPECT_TRUE(eventually([&] { return index_is_active(); }));
  EXPECT_TRUE(eventually(
      [&] { return count("Scan", R"({"TableName":"Items","Select":"COUNT"})") == kItems / 2; }));
  EXPECT_EQ(count("Scan", std::string(kScanIndex)), kItems / 2);
  const std::string described = must("DescribeTable", R"({"TableName":"Items"})");
  const size_t indexes = described.find("\"GlobalSecondaryIndexes\"");
  EXPECT_NE(described.find("\"ItemCount\":" + std::to_string(kItems / 2), indexes),
            std::string::npos)
      << described;
}

TEST_F(BackgroundTest, AChangedTimeCounts) {
  open();
  create_table();
  must("UpdateTimeToLive",
       R"({"TableName":"Items","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"ttl"}})");
  put(1, R"(,"ttl":{"N":")" + std::to_string(kNow_s + 100) + "\"}");
  put(2, R"(,"ttl":{"N":")" + std::to_string(kNow_s + 100) + "\"}");
  must("UpdateItem",
       R"({"TableName":"Items","Key":{"pk":{"S":"1"}},"UpdateExpression":"SET #t = :later",
                         "ExpressionAttributeNames":{"#t":"ttl"},"ExpressionAttributeValues":{":later":{"N":")" +
           std::to_string(kNow_s + 100'000) + "\"}}}");
  clock_.advance_us(200LL * 1'000'000);
  EXPECT_TRUE(
      eventually([&] { return count("Scan", R"({"TableName":"Items","Select":"COUNT"})") == 1; }));
  EXPECT_NE(must("GetItem", R"({"TableName":"Items","Key":{"pk":{"S":"1"}}})"), "{}");
}

TEST_F(BackgroundTest, ANewIndexHoldsExactlyWhatTheTableImpliesWhileWritersGoOn) {
  open();
  create_table();
  constexpr int kItems = 2000;
  for (int i = 0; i < kItems; ++i) put(i, R"(,"g":{"S":"old"})");
  put(kItems, R"(,"g":{"N":"1"})");  // of another type: not in the index
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop; i = (i + 7) % kItems) {
      if (i % 3 == 0) {
        run("DeleteItem",
            R"({"TableName":"Items","Key":{"pk":{"S":")" + std::to_string(i) + "\"}}}");
      } else {
        put(i, i % 2 == 0 ? R"(,"g":{"S":"new"})" : "");
      }
    }
  });
  must("UpdateTable", std::string(kCreateIndex));
  EXPECT_TRUE(eventually([&] { return index_is_active(); }));
  stop = true;
  writer.join();
  const int64_t implied = count("Scan", R"json({"TableName":"Items","Select":"COUNT",
      "FilterExpression":"attribute_type(g, :s)",
      "ExpressionAttributeValues":{":s":{"S":"S"}}})json");
  EXPECT_EQ(count("Scan", std::string(kScanIndex)), implied);
  const std::string described = must("DescribeTable", R"({"TableName":"Items"})");
  const size_t indexes = described.find("\"GlobalSecondaryIndexes\"");
  EXPECT_NE(described.find("\"ItemCount\":" + std::to_string(implied), indexes), std::string::npos)
      << described;
}

TEST_F(BackgroundTest, ABackfillGoesOnAfterARestart) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("stator-backfill-" + std::to_string(getpid()));
  std::filesystem::remove_all(directory);
  open(engine::Durability::kOs, directory);
  create_table();
  constexpr int kItems = 3000;
  for (int i = 0; i < kItems; ++i) put(i, R"(,"g":{"S":"x"})");
  must("UpdateTable", std::string(kCreateIndex));
  open(engine::Durability::kOs, directory);  // closed wherever the backfill was
  EXPECT_TRUE(eventually([&] { return index_is_active(); }));
  EXPECT_EQ(count("Scan", std::string(kScanIndex)), kItems);
  database_.reset();
  std::filesystem::remove_all(directory);
}

TEST_F(BackgroundTest, ADeletedIndexCanBeMadeAgain) {
  open();
  create_table();
  for (int i = 0; i < 100; ++i) put(i, R"(,"g":{"S":"x"})");
  must("UpdateTable", std::string(kCreateIndex));
  ASSERT_TRUE(eventually([&] { return index_is_active(); }));
  must("UpdateTable",
       R"({"TableName":"Items","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by-g"}}]})");
  EXPECT_EQ(run("Scan", std::string(kScanIndex)).status, 400);
  must("UpdateTable", std::string(kCreateIndex));
  ASSERT_TRUE(eventually([&] { return index_is_active(); }));
  EXPECT_EQ(count("Scan", std::string(kScanIndex)), 100);
}

}  // namespace
}  // namespace stator
