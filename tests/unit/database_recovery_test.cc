// Point-in-time recovery with a clock that the test moves: a model knows the table at every second,
// and a restore to any of them has to equal it, indexes and counters included.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include "json/reader.h"
#include "support/database_case.h"

namespace stator {
namespace {

constexpr int64_t kNow_s = 1'800'000'000;
constexpr int64_t kDay_s = 24 * 60 * 60;

struct ModelItem {
  int value = 0;
  std::string group;  // empty: not in the index
  std::string json(const std::string& pk, int sk) const {
    std::string out = R"({"pk":{"S":")" + pk + R"("},"sk":{"N":")" + std::to_string(sk) +
                      R"("},"v":{"N":")" + std::to_string(value) + "\"}";
    if (!group.empty()) out += R"(,"g":{"S":")" + group + "\"}";
    return out + "}";
  }
};
using Model = std::map<std::pair<std::string, int>, ModelItem>;

class RecoveryTest : public ::testing::Test, protected DatabaseCase {
 protected:
  void open(uint64_t adversary_seed = 0, std::filesystem::path directory = {}) {
    database_.reset();
    DatabaseOptions options;
    options.durability = directory.empty() ? engine::Durability::kMemory : engine::Durability::kOs;
    options.directory = std::move(directory);
    options.clock = &clock_;
    options.adversary_seed = adversary_seed;
    database_ = Database::open(options);
  }

  void create_source() {
    must("CreateTable",
         R"({"TableName":"Source","BillingMode":"PAY_PER_REQUEST",
             "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"},
                                     {"AttributeName":"g","AttributeType":"S"},{"AttributeName":"v","AttributeType":"N"}],
             "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}],
             "LocalSecondaryIndexes":[{"IndexName":"by-v","Projection":{"ProjectionType":"KEYS_ONLY"},
               "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"v","KeyType":"RANGE"}]}],
             "GlobalSecondaryIndexes":[{"IndexName":"by-g","Projection":{"ProjectionType":"ALL"},
               "KeySchema":[{"AttributeName":"g","KeyType":"HASH"}]}]})");
  }
  void set_recovery(bool on, const std::string& more = {}) {
    must(
        "UpdateContinuousBackups",
        R"({"TableName":"Source","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":)" +
            std::string(on ? "true" : "false") + more + "}}");
  }

  static std::string key_json(const std::string& pk, int sk) {
    return R"({"pk":{"S":")" + pk + R"("},"sk":{"N":")" + std::to_string(sk) + "\"}}";
  }
  void put(const std::string& pk, int sk, ModelItem item) {
    must("PutItem", R"({"TableName":"Source","Item":)" + item.json(pk, sk) + "}");
    model_[{pk, sk}] = std::move(item);
  }
  void erase(const std::string& pk, int sk) {
    must("DeleteItem", R"({"TableName":"Source","Key":)" + key_json(pk, sk) + "}");
    model_.erase({pk, sk});
  }
  void update(const std::string& pk, int sk, int value) {
    must("UpdateItem",
         R"({"TableName":"Source","Key":)" + key_json(pk, sk) +
             R"(,"UpdateExpression":"SET v = :v","ExpressionAttributeValues":{":v":{"N":")" +
             std::to_string(value) + "\"}}}");
    model_[{pk, sk}].value = value;
  }
  // One put and one delete together.
  void transact(const std::string& pk, int sk, ModelItem item, int erased) {
    must("TransactWriteItems",
         R"({"TransactItems":[{"Put":{"TableName":"Source","Item":)" + item.json(pk, sk) +
             R"(}},{"Delete":{"TableName":"Source","Key":)" + key_json(pk, erased) + "}}]}");
    model_[{pk, sk}] = std::move(item);
    model_.erase({pk, erased});
  }

  // So many items that a restore of them is still under way after a few requests.
  void put_many() {
    for (int round = 0; round < 1200; ++round) {
      std::string body = R"({"RequestItems":{"Source":[)";
      for (int i = 0; i < 25; ++i) {
        const std::string pk = "p" + std::to_string(round);
        const ModelItem item{i, "g"};
        if (i > 0) body += ",";
        body += R"({"PutRequest":{"Item":)" + item.json(pk, i) + "}}";
        model_[{pk, i}] = item;
      }
      must("BatchWriteItem", body + "]}}");
    }
  }

  // Moves the clock and notes what the table is at every second that begins.
  void pass_ms(int64_t ms) {
    const int64_t before_s = clock_.now_s();
    clock_.advance_us(ms * 1000);
    for (int64_t second = before_s + 1; second <= clock_.now_s(); ++second)
      at_second_[second] = model_;
  }

  void change_something(std::mt19937& random) {
    const std::string pk(1, static_cast<char>('a' + random() % 4));
    const int sk = static_cast<int>(random() % 12);
    const std::string group = random() % 3 == 0 ? "" : std::string("g") + char('0' + random() % 3);
    const ModelItem item{static_cast<int>(random() % 1000), group};
    switch (random() % 6) {
      case 0:
        return erase(pk, sk);
      case 1:
        return update(pk, sk, item.value);
      case 2:
        return transact(pk, sk, item, (sk + 1) % 12);
      default:
        return put(pk, sk, item);
    }
  }

  std::vector<std::string> scan(const std::string& table, const std::string& index = {}) {
    std::vector<std::string> items;
    std::string body = R"({"TableName":")" + table + "\"";
    if (!index.empty()) body += R"(,"IndexName":")" + index + "\"";
    std::string start;
    do {
      json::Document document;
      EXPECT_TRUE(document.parse(must("Scan", body + start + "}")));
      start.clear();
      const auto list = json::array_member(document.root(), "Items");
      if (!list) return items;
      for (const json::Element item : *list) items.push_back(json::canonical(item));
      if (const auto last = json::member(document.root(), "LastEvaluatedKey"))
        start = R"(,"ExclusiveStartKey":)" + json::canonical(*last);
    } while (!start.empty());
    std::sort(items.begin(), items.end());
    return items;
  }
  static std::string canonical(const std::string& text) {
    json::Document document;
    EXPECT_TRUE(document.parse(text));
    return json::canonical(document.root());
  }
  int64_t described(const std::string& table, const char* member) {
    json::Document document;
    EXPECT_TRUE(document.parse(must("DescribeTable", R"({"TableName":")" + table + "\"}")));
    return json::int_member(*json::member(document.root(), "Table"), member).value_or(-1);
  }

  void expect_equal(const std::string& table, const Model& expected, const std::string& what) {
    std::vector<std::string> items;
    std::vector<std::string> grouped;
    for (const auto& [key, item] : expected) {
      items.push_back(canonical(item.json(key.first, key.second)));
      if (!item.group.empty()) grouped.push_back(items.back());
    }
    std::sort(items.begin(), items.end());
    std::sort(grouped.begin(), grouped.end());
    EXPECT_EQ(scan(table), items) << what;
    EXPECT_EQ(scan(table, "by-g"), grouped) << what;
    EXPECT_EQ(scan(table, "by-v").size(), items.size()) << what;
    EXPECT_EQ(described(table, "ItemCount"), static_cast<int64_t>(items.size())) << what;
  }

  static std::string restore_request(const std::string& target, int64_t second,
                                     const std::string& more = {}) {
    return R"({"SourceTableName":"Source","TargetTableName":")" + target +
           R"(","RestoreDateTime":)" + std::to_string(second) + more + "}";
  }
  void expect_restorable(int64_t second) {
    const std::string target = "At-" + std::to_string(second) + "-" + std::to_string(++restores_);
    must("RestoreTableToPointInTime", restore_request(target, second));
    ASSERT_TRUE(wait_until_active(target));
    expect_equal(target, at_second_[second], "second " + std::to_string(second - kNow_s));
  }

  Model model_;
  std::map<int64_t, Model> at_second_;
  int restores_ = 0;
};

class RecoveryOnEngines : public RecoveryTest, public ::testing::WithParamInterface<uint64_t> {};

TEST_P(RecoveryOnEngines, EverySecondComesBack) {
  open(GetParam());
  std::mt19937 random(static_cast<unsigned>(7 + GetParam()));
  create_source();
  for (int i = 0; i < 30; ++i) change_something(random);
  set_recovery(true);
  at_second_[clock_.now_s()] = model_;  // to the second of enabling: the table when it was enabled
  for (int i = 0; i < 300; ++i) {
    change_something(random);
    if (random() % 4 == 0) pass_ms(static_cast<int64_t>(random() % 1400));
    if (i == 150) {
      must(
          "UpdateTable",
          R"({"TableName":"Source","GlobalSecondaryIndexUpdates":[{"Delete":{"IndexName":"by-g"}}]})");
      must(
          "UpdateTable",
          R"({"TableName":"Source","AttributeDefinitions":[{"AttributeName":"g","AttributeType":"S"}],
               "GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"by-g","Projection":{"ProjectionType":"ALL"},
               "KeySchema":[{"AttributeName":"g","KeyType":"HASH"}]}}]})");
    }
    // A restore while writes go on.
    if (i % 60 == 59) {
      auto at = at_second_.begin();
      std::advance(at, random() % at_second_.size());
      expect_restorable(at->first);
    }
  }
  pass_ms(1000);
  for (int i = 0; i < 12; ++i) {
    auto at = at_second_.begin();
    std::advance(at, random() % at_second_.size());
    expect_restorable(at->first);
  }
  expect_restorable(at_second_.begin()->first);
  expect_restorable(at_second_.rbegin()->first);
}
INSTANTIATE_TEST_SUITE_P(Engines, RecoveryOnEngines, ::testing::Values(0, 1, 2));

TEST_F(RecoveryTest, LongHistoryOverManyDaysComesBack) {
  open();
  std::mt19937 random(3);
  create_source();
  set_recovery(true);
  std::vector<int64_t> seconds;
  for (int day = 0; day < 30; ++day) {
    for (int i = 0; i < 8; ++i) {
      change_something(random);
      clock_.advance_us(static_cast<int64_t>(random() % 9000) * 1'000'000 + 1'000'000);
      seconds.push_back(clock_.now_s());
      at_second_[clock_.now_s()] = model_;
    }
    // One item changes often: its history is longer than what is read at once.
    for (int i = 0; i < (day % 7 == 0 ? 700 : 0); ++i) update("hot", 1, i);
    pass_ms(1000);
    clock_.advance_us(6 * 3600 * 1'000'000LL);
  }
  for (int i = 0; i < 15; ++i) expect_restorable(seconds[random() % seconds.size()]);
  expect_restorable(seconds.front());
}

TEST_F(RecoveryTest, TheLatestTimeHasEverythingThatWasAcknowledged) {
  open();
  create_source();
  set_recovery(true);
  put("a", 1, {1, "g"});
  must("RestoreTableToPointInTime",
       R"({"SourceTableName":"Source","TargetTableName":"Latest","UseLatestRestorableTime":true})");
  const Model then = model_;
  put("a", 2, {2, "g"});
  ASSERT_TRUE(wait_until_active("Latest"));
  expect_equal("Latest", then, "latest");
}

TEST_F(RecoveryTest, ARestoreGoesOnWhenItsSourceIsDeletedOrKeepsNoHistoryAnyMore) {
  open();
  create_source();
  set_recovery(true);
  for (int i = 0; i < 300; ++i) put("a", i, {i, "g"});
  pass_ms(1500);
  const int64_t second = clock_.now_s();
  must("RestoreTableToPointInTime", restore_request("One", second));
  must("RestoreTableToPointInTime", restore_request("Two", second));
  set_recovery(false);
  for (int i = 0; i < 100; ++i) erase("a", i);
  must("DeleteTable", R"({"TableName":"Source"})");
  ASSERT_TRUE(wait_until_active("One"));
  ASSERT_TRUE(wait_until_active("Two"));
  expect_equal("One", at_second_[second], "one");
  expect_equal("Two", at_second_[second], "two");
}

TEST_F(RecoveryTest, ARestoreGoesOnAfterARestart) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("stator-recovery-" + std::to_string(::getpid()));
  std::filesystem::remove_all(directory);
  open(0, directory);
  create_source();
  set_recovery(true);
  put_many();
  pass_ms(1000);
  const int64_t second = clock_.now_s();
  for (int i = 0; i < 25; ++i) erase("p1", i);
  for (int restart = 0; restart < 5; ++restart) {
    must("RestoreTableToPointInTime", restore_request("Run" + std::to_string(restart), second));
    open(0, directory);
  }
  for (int restart = 0; restart < 5; ++restart) {
    const std::string name = "Run" + std::to_string(restart);
    ASSERT_TRUE(wait_until_active(name));
    expect_equal(name, at_second_[second], name);
  }
  database_.reset();
  std::filesystem::remove_all(directory);
}

TEST_F(RecoveryTest, ATableThatIsBeingRestoredCanOnlyBeLookedAt) {
  open();
  create_source();
  set_recovery(true);
  put_many();
  json::Document document;
  ASSERT_TRUE(document.parse(must("CreateBackup", R"({"TableName":"Source","BackupName":"all"})")));
  const std::string backup(
      *json::string_member(*json::member(document.root(), "BackupDetails"), "BackupArn"));
  const std::string from_backup = R"({"BackupArn":")" + backup + R"(","TargetTableName":")";
  std::string answer = must("RestoreTableFromBackup", from_backup + "New\"}");
  EXPECT_NE(answer.find(R"("TableStatus":"CREATING")"), std::string::npos);
  EXPECT_NE(answer.find(R"("RestoreInProgress":true)"), std::string::npos);
  EXPECT_NE(answer.find(R"("SourceBackupArn":")" + backup), std::string::npos);
  EXPECT_NE(
      answer.find(R"("SourceTableArn":"arn:aws:dynamodb:us-east-1:123456789012:table/Source")"),
      std::string::npos);

  const std::string named = R"({"TableName":"New")";
  const std::string arn = R"({"ResourceArn":"arn:aws:dynamodb:us-east-1:123456789012:table/New")";
  const auto refused = [&](std::string_view operation, std::string body, const std::string& type,
                           const std::string& message) {
    const Answer refusal = run(operation, std::move(body));
    EXPECT_EQ(refusal.status, 400) << operation << ": " << refusal.body;
    EXPECT_NE(refusal.body.find("#" + type + "\""), std::string::npos) << refusal.body;
    EXPECT_NE(refusal.body.find(message), std::string::npos) << refusal.body;
  };
  const std::string not_found = "ResourceNotFoundException";
  const std::string new_not_found = "Requested resource not found: Table: New not found";
  EXPECT_NE(must("DescribeTable", named + "}").find(R"("RestoreInProgress":true)"),
            std::string::npos);
  refused("GetItem", named + R"(,"Key":)" + key_json("p1", 1) + "}", not_found,
          "Requested resource not found");
  refused("PutItem", named + R"(,"Item":)" + key_json("p1", 1) + "}", not_found,
          "Requested resource not found");
  refused("UpdateTable", named + R"(,"DeletionProtectionEnabled":true})", not_found, new_not_found);
  refused("DescribeTimeToLive", named + "}", not_found, new_not_found);
  refused("TagResource", arn + R"(,"Tags":[{"Key":"a","Value":"b"}]})", not_found, new_not_found);
  refused("DescribeContinuousBackups", named + "}", "TableNotFoundException",
          "Table not found: New");
  refused("CreateBackup", named + R"(,"BackupName":"early"})", "TableNotFoundException",
          "Table not found: New");
  refused("DeleteTable", named + "}", "ResourceInUseException", "Table is being created: New");
  refused("CreateTable", named + R"(,"BillingMode":"PAY_PER_REQUEST",
             "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
             "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]})",
          "ResourceInUseException", "Table is being used: New");
  refused("RestoreTableFromBackup", from_backup + "New\"}", "TableInUseException",
          "Table: New is already being restored from backup: " + backup);
  refused("RestoreTableFromBackup", from_backup + "Other\"}", "BackupInUseException",
          "Backup is being used to restore another table: " + backup);
  refused("DeleteBackup", R"({"BackupArn":")" + backup + "\"}", "BackupInUseException",
          "Backup is being used to restore table: " + backup);
  ASSERT_TRUE(wait_until_active("New"));
  EXPECT_EQ(must("DescribeTable", R"({"TableName":"New"})").find("RestoreSummary"),
            std::string::npos);
  EXPECT_TRUE(eventually(
      [&] { return run("DeleteBackup", R"({"BackupArn":")" + backup + "\"}").status == 200; }));

  // Fifty at a time; what is under way when the process ends does not keep it.
  for (int i = 0; i < 50; ++i)
    must("RestoreTableToPointInTime", restore_request("Many" + std::to_string(i), clock_.now_s()));
  refused("RestoreTableToPointInTime", restore_request("TooMany", clock_.now_s()),
          "LimitExceededException",
          "Subscriber limit exceeded: Only 50 restore operations can be done simultaneously");
}

TEST_F(RecoveryTest, TimesThatCannotBeRestoredAreRefused) {
  open();
  create_source();
  EXPECT_NE(run("RestoreTableToPointInTime", restore_request("New", kNow_s))
                .body.find("Point in time recovery is not enabled for table 'Source'"),
            std::string::npos);
  clock_.advance_us(10'500'000);
  set_recovery(true, R"(,"RecoveryPeriodInDays":2)");
  clock_.advance_us(5'000'000);
  const auto refused = [&](int64_t second) {
    const Answer answer = run("RestoreTableToPointInTime", restore_request("New", second));
    return answer.body.find("InvalidRestoreTimeException") != std::string::npos;
  };
  EXPECT_TRUE(refused(kNow_s + 9));
  EXPECT_TRUE(refused(kNow_s + 16));
  EXPECT_NE(run("RestoreTableToPointInTime", restore_request("New", kNow_s + 16))
                .body.find("RestoreDateTime '2027-01-15T08:00:16Z' must be within "
                           "EarliestRestorableDateTime '2027-01-15T08:00:10Z' and "
                           "LatestRestorableDateTime '2027-01-15T08:00:15Z'"),
            std::string::npos);
  // Later the period is what counts.
  clock_.advance_us(5 * kDay_s * 1'000'000);
  EXPECT_TRUE(refused(clock_.now_s() - 2 * kDay_s - 1));
  put("a", 1, {1, ""});
  must("RestoreTableToPointInTime", restore_request("New", clock_.now_s() - 2 * kDay_s));
  ASSERT_TRUE(wait_until_active("New"));
  EXPECT_TRUE(scan("New").empty());
}

TEST_F(RecoveryTest, WhatWasTrimmedIsNotPromisedAgain) {
  open();
  create_source();
  set_recovery(true, R"(,"RecoveryPeriodInDays":1)");
  put("a", 1, {1, ""});
  clock_.advance_us(10 * kDay_s * 1'000'000);
  const auto earliest = [&] {
    json::Document document;
    EXPECT_TRUE(document.parse(must("DescribeContinuousBackups", R"({"TableName":"Source"})")));
    const auto description = *json::member(document.root(), "ContinuousBackupsDescription");
    return json::to_int(*json::member(*json::member(description, "PointInTimeRecoveryDescription"),
                                      "EarliestRestorableDateTime"))
        .value_or(0);
  };
  EXPECT_EQ(earliest(), clock_.now_s() - kDay_s);
  // Once the history is erased, a longer period does not bring it back.
  EXPECT_TRUE(eventually([&] {
    set_recovery(true, R"(,"RecoveryPeriodInDays":35)");
    const int64_t longer = earliest();
    set_recovery(true, R"(,"RecoveryPeriodInDays":1)");
    return longer > clock_.now_s() - 4 * kDay_s;
  }));
}

TEST_F(RecoveryTest, DisablingAndEnablingBeginsAnew) {
  open();
  create_source();
  set_recovery(true);
  put("a", 1, {1, ""});
  pass_ms(3000);
  set_recovery(false);
  EXPECT_NE(run("RestoreTableToPointInTime", restore_request("New", clock_.now_s()))
                .body.find("PointInTimeRecoveryUnavailableException"),
            std::string::npos);
  put("a", 2, {1, ""});
  set_recovery(true);
  put("a", 3, {1, ""});
  EXPECT_NE(run("RestoreTableToPointInTime", restore_request("New", clock_.now_s() - 1))
                .body.find("InvalidRestoreTimeException"),
            std::string::npos);
  pass_ms(2000);
  expect_restorable(clock_.now_s());
}

}  // namespace
}  // namespace stator
