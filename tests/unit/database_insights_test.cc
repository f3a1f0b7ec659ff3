// Contributor insights: what is counted, and that it stays within its bounds.
#include <gtest/gtest.h>

#include "capacity/key_counter.h"
#include "database/database.h"
#include "json/reader.h"

namespace stator {
namespace {

std::string ask(Database& database, const std::string& operation, const std::string& body) {
  const Answer answer =
      run_blocking(database.execute("DynamoDB_20120810", operation, body, Caller{}));
  EXPECT_EQ(answer.status, 200) << operation << ": " << answer.body;
  return answer.body;
}

class InsightsTest : public ::testing::Test {
 protected:
  InsightsTest() {
    DatabaseOptions options;
    options.durability = engine::Durability::kMemory;
    options.clock = &clock_;
    database_ = Database::open(options);
  }
  void create(const std::string& throughput) {
    ask(*database_, "CreateTable",
        R"({"TableName":"Hot","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
            "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"S"}],)" +
            throughput + "}");
  }
  void enable(const std::string& action) {
    ask(*database_, "UpdateContributorInsights",
        R"({"TableName":"Hot","ContributorInsightsAction":")" + action + "\"}");
  }
  Answer put(const std::string& pk, const std::string& sk) {
    return run_blocking(database_->execute(
        "DynamoDB_20120810", "PutItem",
        R"({"TableName":"Hot","Item":{"pk":{"S":")" + pk + R"("},"sk":{"S":")" + sk + R"("}}})",
        Caller{}));
  }

  ManualClock clock_{1'800'000'000'000'000};
  std::unique_ptr<Database> database_;
};

TEST_F(InsightsTest, NothingIsCountedUnlessItIsEnabled) {
  create(R"("BillingMode":"PAY_PER_REQUEST")");
  put("a", "1");
  EXPECT_EQ(database_->insights(), R"({"insights":[]})");
  enable("ENABLE");
  put("a", "1");
  EXPECT_NE(database_->insights().find(R"("count":1)"), std::string::npos) << database_->insights();
  enable("DISABLE");
  EXPECT_EQ(database_->insights(), R"({"insights":[]})");
}

TEST_F(InsightsTest, CountsEachWayToAnItem) {
  create(R"("BillingMode":"PAY_PER_REQUEST")");
  enable("ENABLE");
  put("a", "1");
  put("a", "2");
  put("b", "1");
  ask(*database_, "GetItem", R"({"TableName":"Hot","Key":{"pk":{"S":"a"},"sk":{"S":"1"}}})");
  ask(*database_, "Query",
      R"({"TableName":"Hot","KeyConditionExpression":"pk = :a","ExpressionAttributeValues":{":a":{"S":"a"}}})");
  EXPECT_EQ(
      database_->insights(),
      R"({"insights":[{"table":"Hot","mode":"ACCESSED_AND_THROTTLED_KEYS","since":1800000000.000,"accessed":)"
      R"({"partition_keys":[{"key":{"pk":{"S":"a"}},"count":5,"error":0},{"key":{"pk":{"S":"b"}},"count":1,"error":0}],)"
      R"("items":[{"key":{"pk":{"S":"a"},"sk":{"S":"1"}},"count":3,"error":0},)"
      R"({"key":{"pk":{"S":"a"},"sk":{"S":"2"}},"count":2,"error":0},)"
      R"({"key":{"pk":{"S":"b"},"sk":{"S":"1"}},"count":1,"error":0}]},)"
      R"("throttled":{"partition_keys":[],"items":[]}}]})");
}

TEST_F(InsightsTest, CountsKeysThatWereThrottled) {
  create(R"("ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1})");
  enable("ENABLE");
  int refused = 0;
  for (int i = 0; i < 400 && refused == 0; ++i) refused += put("a", "1").status == 400 ? 1 : 0;
  ASSERT_EQ(refused, 1);
  EXPECT_NE(database_->insights().find(
                R"("throttled":{"partition_keys":[{"key":{"pk":{"S":"a"}},"count":1,"error":0}])"),
            std::string::npos)
      << database_->insights();
}

TEST(KeyCounterTest, KeepsFrequentKeysAmongManyRareOnes) {
  capacity::KeyCounter counter;
  constexpr int kRounds = 2000;
  for (int i = 0; i < kRounds; ++i) {
    for (int other = 0; other < 20; ++other) counter.add("rare" + std::to_string(i * 20 + other));
    counter.add("first");
    counter.add("first");
    counter.add("second");
  }
  const auto top = counter.top(2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].key, "first");
  EXPECT_EQ(top[1].key, "second");
  EXPECT_GE(top[0].count, 2u * kRounds);
  EXPECT_LE(top[0].count - top[0].error, 2u * kRounds);
  EXPECT_LE(counter.top(SIZE_MAX).size(),
            capacity::KeyCounter::kShards * capacity::KeyCounter::kKeysInShard);
}

}  // namespace
}  // namespace stator
