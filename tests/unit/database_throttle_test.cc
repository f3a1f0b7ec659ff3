// Capacity as clients see it: a database with a clock that stands still.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "common/task.h"
#include "common/task_blocking.h"
#include "database/database.h"
#include "json/reader.h"

namespace stator {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr std::string_view kArn = "arn:aws:dynamodb:us-east-1:123456789012:table/";

class DatabaseThrottle : public ::testing::Test {
 protected:
  void open(capacity::ThrottleMode mode) {
    database_.reset();
    DatabaseOptions options;
    options.durability = engine::Durability::kMemory;
    options.clock = &clock_;
    options.throttle = mode;
    database_ = Database::open(options);
  }

  DatabaseThrottle() { open(capacity::ThrottleMode::kProvisioned); }

  Answer call(std::string_view operation, std::string body) {
    return run_blocking(
        database_->execute("DynamoDB_20120810", operation, std::move(body), Caller{}));
  }

  // A table with the global index "idx". Units of 0: on demand.
  void create(const std::string& name, int units, int index_units, const std::string& more = "") {
    const auto throughput = [](int n) {
      if (n == 0) return std::string();
      const std::string text = std::to_string(n);
      return R"(, "ProvisionedThroughput": {"ReadCapacityUnits": )" + text +
             R"(, "WriteCapacityUnits": )" + text + "}";
    };
    const Answer answer =
        call("CreateTable", R"({"TableName": ")" + name +
                                R"(", "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"},
                                     {"AttributeName": "gk", "AttributeType": "S"}],
            "GlobalSecondaryIndexes": [{"IndexName": "idx", "Projection": {"ProjectionType": "ALL"},
                                        "KeySchema": [{"AttributeName": "gk", "KeyType": "HASH"}])" +
                                throughput(index_units) + R"(}])" + throughput(units) +
                                (units == 0 ? R"(, "BillingMode": "PAY_PER_REQUEST")" : "") + more +
                                "}");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }

  Answer get(const std::string& table, bool consistent = true, const std::string& key = "a") {
    return call("GetItem", R"({"TableName": ")" + table + R"(", "Key": {"pk": {"S": ")" + key +
                               R"("}}, "ConsistentRead": )" + (consistent ? "true}" : "false}"));
  }
  static std::string item(const std::string& key, const std::string& more) {
    return R"({"pk": {"S": ")" + key + R"("})" + more + "}";
  }
  Answer put(const std::string& table, const std::string& key = "a", const std::string& more = "") {
    return call("PutItem", R"({"TableName": ")" + table + R"(", "Item": )" + item(key, more) + "}");
  }

  // How many calls succeed before one does not; at most `most`. `last_` is the first that did not.
  template <typename Call>
  int successes(int most, Call one) {
    for (int i = 0; i < most; ++i) {
      last_ = one();
      if (last_.status != 200) return i;
    }
    return most;
  }

  void expect_error(std::string_view type, std::string_view message,
                    std::string_view reasons_member, std::string_view reason,
                    const std::string& resource) {
    EXPECT_EQ(last_.status, 400);
    json::Document document;
    ASSERT_TRUE(document.parse(last_.body));
    const json::Element root = document.root();
    EXPECT_EQ(json::string_member(root, "__type"), type);
    EXPECT_EQ(json::string_member(root, "message"), message);
    const auto reasons = json::member(root, reasons_member);
    ASSERT_TRUE(reasons) << last_.body;
    EXPECT_EQ(std::string(simdjson::minify(*reasons)), R"([{"reason":")" + std::string(reason) +
                                                           R"(","resource":")" + std::string(kArn) +
                                                           resource + R"("}])");
  }

  ManualClock clock_{1'700'000'000 * kSecond};
  std::unique_ptr<Database> database_;
  Answer last_;
};

constexpr std::string_view kProvisionedType =
    "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException";
constexpr std::string_view kTableText =
    "The level of configured provisioned throughput for the table was exceeded. Consider "
    "increasing your provisioning "
    "level with the UpdateTable API.";
constexpr std::string_view kIndexText =
    "The level of configured provisioned throughput for one or more global secondary indexes of "
    "the table was "
    "exceeded. Consider increasing your provisioning level for the under-provisioned global "
    "secondary indexes with the "
    "UpdateTable API";

TEST_F(DatabaseThrottle, ReadsUseTheBurstThenTheRate) {
  create("tab", 5, 5);
  EXPECT_EQ(successes(4000, [&] { return get("tab"); }), 1500);
  expect_error(kProvisionedType, kTableText, "ThrottlingReasons",
               "TableReadProvisionedThroughputExceeded", "tab");
  for (int i = 0; i < 3; ++i) {
    clock_.advance_us(kSecond);
    EXPECT_EQ(successes(100, [&] { return get("tab"); }), 5);
  }
  clock_.advance_us(kSecond);
  EXPECT_EQ(successes(100, [&] { return get("tab", false); }), 10);
  EXPECT_EQ(put("tab").status, 200);  // writes have a bucket of their own
}

TEST_F(DatabaseThrottle, ALargeReadIsPaidAfterwards) {
  create("tab", 1, 1);
  ASSERT_EQ(put("tab", "a", R"(, "v": {"S": ")" + std::string(40'000, 'x') + R"("})").status, 200);
  EXPECT_EQ(successes(100, [&] { return get("tab"); }), 30);  // ten units each
  EXPECT_EQ(successes(100, [&] { return call("Scan", R"({"TableName": "tab"})"); }), 0);
  clock_.advance_us(kSecond);
  EXPECT_EQ(successes(100, [&] { return get("tab"); }), 1);
  clock_.advance_us(9 * kSecond);
  EXPECT_EQ(successes(100, [&] { return get("tab"); }), 0);
}

TEST_F(DatabaseThrottle, AnIndexThrottlesTheWritesOfItsTable) {
  create("tab", 100, 1);
  EXPECT_EQ(successes(1000,
                      [&, i = 0]() mutable {
                        return put("tab", std::to_string(i++), R"(, "gk": {"S": "x"})");
                      }),
            300);
  expect_error(kProvisionedType, kIndexText, "ThrottlingReasons",
               "IndexWriteProvisionedThroughputExceeded", "tab/index/idx");
  EXPECT_EQ(get("tab", true, "300").body, "{}");  // not written
  // Back pressure holds for every write, and for none of the reads.
  EXPECT_EQ(put("tab", "other").status, 400);
  EXPECT_EQ(get("tab").status, 200);
  clock_.advance_us(kSecond);
  EXPECT_EQ(put("tab", "other").status, 200);
}

TEST_F(DatabaseThrottle, AnIndexIsReadFromItsOwnCapacity) {
  create("tab", 100, 1);
  const std::string query =
      R"({"TableName": "tab", "IndexName": "idx", "KeyConditionExpression": "gk = :g",
                                "ExpressionAttributeValues": {":g": {"S": "x"}}})";
  EXPECT_EQ(successes(1000, [&] { return call("Query", query); }), 600);
  expect_error(kProvisionedType, kIndexText, "ThrottlingReasons",
               "IndexReadProvisionedThroughputExceeded", "tab/index/idx");
  EXPECT_EQ(get("tab").status, 200);
  EXPECT_EQ(
      call("ExecuteStatement", R"({"Statement": "SELECT * FROM tab.idx WHERE gk = 'x'"})").status,
      400);
}

TEST_F(DatabaseThrottle, UpdatesAndDeletesAreWrites) {
  create("tab", 1, 1);
  const std::string key = R"({"TableName": "tab", "Key": {"pk": {"S": "a"}}})";
  EXPECT_EQ(successes(1000, [&] { return call("UpdateItem", key); }), 300);
  EXPECT_EQ(call("DeleteItem", key).status, 400);
  EXPECT_EQ(
      call("ExecuteStatement", R"({"Statement": "INSERT INTO tab VALUE {'pk': 'b'}"})").status,
      400);
  clock_.advance_us(kSecond);
  EXPECT_EQ(call("DeleteItem", key).status, 200);
}

TEST_F(DatabaseThrottle, UpdateTableCountsAtOnce) {
  create("tab", 1, 1);
  EXPECT_EQ(successes(1000, [&] { return get("tab"); }), 300);
  ASSERT_EQ(call("UpdateTable", R"({"TableName": "tab", "ProvisionedThroughput":
                                    {"ReadCapacityUnits": 20, "WriteCapacityUnits": 1}})")
                .status,
            200);
  clock_.advance_us(kSecond);
  // The first look is still at the old rate: one unit has come in, of which one read is paid.
  EXPECT_GE(successes(1000, [&] { return get("tab"); }), 1);
  clock_.advance_us(kSecond);
  EXPECT_EQ(successes(1000, [&] { return get("tab"); }), 20);
  ASSERT_EQ(call("UpdateTable", R"({"TableName": "tab", "BillingMode": "PAY_PER_REQUEST"})").status,
            200);
  EXPECT_EQ(successes(1000, [&] { return get("tab"); }), 1000);
}

TEST_F(DatabaseThrottle, BatchesGiveBackWhatThereIsNoCapacityFor) {
  create("tab", 1, 1);
  EXPECT_EQ(successes(298, [&] { return put("tab"); }), 298);
  std::string requests;
  for (int i = 0; i < 5; ++i) {
    requests += (i > 0 ? "," : "") + std::string(R"({"PutRequest":{"Item":{"pk":{"S":")") +
                std::to_string(i) + R"("}}}})";
  }
  const std::string batch = R"({"RequestItems": {"tab": [)" + requests + "]}}";
  EXPECT_EQ(
      call("BatchWriteItem", batch).body,
      R"({"UnprocessedItems":{"tab":[{"PutRequest":{"Item":{"pk":{"S":"2"}}}},)"
      R"({"PutRequest":{"Item":{"pk":{"S":"3"}}}},{"PutRequest":{"Item":{"pk":{"S":"4"}}}}]}})");
  last_ = call("BatchWriteItem", batch);
  expect_error(kProvisionedType, kTableText, "ThrottlingReasons",
               "TableWriteProvisionedThroughputExceeded", "tab");

  EXPECT_EQ(successes(299, [&] { return get("tab"); }), 299);
  const std::string keys =
      R"({"RequestItems": {"tab": {"ConsistentRead": true, "Keys": [{"pk": {"S": "0"}}, {"pk": {"S": "1"}}]}}})";
  EXPECT_EQ(
      call("BatchGetItem", keys).body,
      R"({"Responses":{"tab":[{"pk":{"S":"0"}}]},"UnprocessedKeys":{"tab":{"Keys":[{"pk":{"S":"1"}}],)"
      R"("ConsistentRead":true}}})");
  last_ = call("BatchGetItem", keys);
  expect_error(kProvisionedType, kTableText, "ThrottlingReasons",
               "TableReadProvisionedThroughputExceeded", "tab");

  const Answer statements =
      call("BatchExecuteStatement",
           R"({"Statements": [{"Statement": "SELECT * FROM tab WHERE pk = 'a'"}]})");
  EXPECT_EQ(statements.status, 200);
  EXPECT_NE(statements.body.find(R"("Code":"ProvisionedThroughputExceeded")"), std::string::npos)
      << statements.body;
}

TEST_F(DatabaseThrottle, TransactionsAreCancelledAndCostTwice) {
  create("tab", 1, 1);
  create("free", 0, 0);
  const std::string writes =
      R"({"TransactItems": [{"Put": {"TableName": "free", "Item": {"pk": {"S": "a"}}}},
                                                   {"Put": {"TableName": "tab", "Item": {"pk": {"S": "a"}}}}]})";
  EXPECT_EQ(successes(1000, [&] { return call("TransactWriteItems", writes); }), 150);
  EXPECT_NE(last_.body.find("[None, ProvisionedThroughputExceeded]"), std::string::npos)
      << last_.body;
  EXPECT_NE(last_.body.find(std::string(kTableText)), std::string::npos) << last_.body;
  const std::string reads =
      R"({"TransactItems": [{"Get": {"TableName": "tab", "Key": {"pk": {"S": "a"}}}}]})";
  EXPECT_EQ(successes(1000, [&] { return call("TransactGetItems", reads); }), 150);
  EXPECT_NE(last_.body.find("[ProvisionedThroughputExceeded]"), std::string::npos) << last_.body;
  const std::string statement =
      R"({"TransactStatements": [{"Statement": "SELECT * FROM tab WHERE pk = 'a'"}]})";
  EXPECT_NE(call("ExecuteTransaction", statement).body.find("[ProvisionedThroughputExceeded]"),
            std::string::npos);
}

TEST_F(DatabaseThrottle, AMaximumOfOnDemandBillingIsKept) {
  create("tab", 0, 0,
         R"(, "OnDemandThroughput": {"MaxReadRequestUnits": 2, "MaxWriteRequestUnits": -1})");
  EXPECT_EQ(successes(1000, [&] { return get("tab"); }), 600);
  expect_error("com.amazon.coral.availability#ThrottlingException",
               "Throughput exceeds the maximum OnDemandThroughput configured on table or index",
               "throttlingReasons", "TableReadMaxOnDemandThroughputExceeded", "tab");
  EXPECT_EQ(successes(1000, [&] { return put("tab"); }), 1000);
}

TEST_F(DatabaseThrottle, OnDemandIsNotThrottled) {
  create("tab", 0, 0);
  EXPECT_EQ(successes(4000, [&] { return get("tab"); }), 4000);
}

TEST_F(DatabaseThrottle, OffThrottlesNothing) {
  open(capacity::ThrottleMode::kOff);
  create("tab", 1, 1);
  EXPECT_EQ(successes(1000, [&] { return get("tab"); }), 1000);
  EXPECT_EQ(successes(1000, [&] { return put("tab", "a", R"(, "gk": {"S": "x"})"); }), 1000);
}

TEST_F(DatabaseThrottle, FullLimitsASinglePartitionKey) {
  open(capacity::ThrottleMode::kFull);
  create("tab", 0, 0);
  EXPECT_EQ(successes(4000, [&] { return get("tab"); }), 3000);
  expect_error("com.amazon.coral.availability#ThrottlingException",
               "Throughput exceeds the current capacity of your table or index. DynamoDB is "
               "automatically scaling your "
               "table or index so please try again shortly. If exceptions persist, check if you "
               "have a hot key: "
               "https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"
               "bp-partition-key-design.html",
               "throttlingReasons", "TableReadKeyRangeThroughputExceeded", "tab");
  EXPECT_EQ(call("Query", R"({"TableName": "tab", "KeyConditionExpression": "pk = :a",
                              "ExpressionAttributeValues": {":a": {"S": "a"}}})")
                .status,
            400);
  EXPECT_EQ(get("tab", true, "b").status, 200);
  EXPECT_EQ(call("Scan", R"({"TableName": "tab"})").status, 200);
  EXPECT_EQ(successes(2000, [&] { return put("tab"); }), 1000);
  // The keys of an index are limited too.
  EXPECT_EQ(successes(2000,
                      [&, i = 0]() mutable {
                        return put("tab", std::to_string(i++), R"(, "gk": {"S": "x"})");
                      }),
            1000);
  expect_error("com.amazon.coral.availability#ThrottlingException",
               "Throughput exceeds the current capacity for one or more global secondary indexes. "
               "DynamoDB is "
               "automatically scaling your index so please try again shortly.",
               "throttlingReasons", "IndexWriteKeyRangeThroughputExceeded", "tab/index/idx");

  create("pro", 10'000, 10'000);
  EXPECT_EQ(successes(4000, [&] { return get("pro"); }), 3000);
  expect_error(kProvisionedType, kTableText, "ThrottlingReasons",
               "TableReadKeyRangeThroughputExceeded", "pro");
}

}  // namespace
}  // namespace stator
