// Backups: one moment of a table, kept while writes go on, after the table and after a restart.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include "json/reader.h"
#include "support/database_case.h"

namespace stator {
namespace {

constexpr int64_t kNow_s = 1'800'000'000;
constexpr int64_t kDay_s = 24 * 60 * 60;

class BackupTest : public ::testing::Test, protected DatabaseCase {
 protected:
  ~BackupTest() override {
    database_.reset();
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  void open(uint64_t adversary_seed = 0) {
    database_.reset();
    DatabaseOptions options;
    options.durability = directory_.empty() ? engine::Durability::kMemory : engine::Durability::kOs;
    options.directory = directory_;
    options.clock = &clock_;
    options.adversary_seed = adversary_seed;
    database_ = Database::open(options);
  }
  void use_directory() {
    directory_ =
        std::filesystem::temp_directory_path() / ("stator-backup-" + std::to_string(::getpid()));
    std::filesystem::remove_all(directory_);
  }

  std::string error(std::string_view operation, std::string body) {
    return body_of(operation, run(operation, std::move(body)), 400);
  }

  void create_table(const std::string& name = "Items") {
    must("CreateTable", R"({"TableName":")" + name + R"(","BillingMode":"PAY_PER_REQUEST",
             "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
             "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
             "GlobalSecondaryIndexes":[{"IndexName":"by-g","Projection":{"ProjectionType":"ALL"},
               "KeySchema":[{"AttributeName":"g","KeyType":"HASH"}]}]})");
  }
  void put(int number, int value = 0) {
    must("PutItem", R"({"TableName":"Items","Item":{"pk":{"S":")" + std::to_string(number) +
                        R"("},"g":{"S":"g"},"v":{"N":")" + std::to_string(value) + "\"}}}");
  }
  std::string create_backup(const std::string& name = "backup") {
    json::Document document;
    EXPECT_TRUE(document.parse(
        must("CreateBackup", R"({"TableName":"Items","BackupName":")" + name + "\"}")));
    const auto details = *json::member(document.root(), "BackupDetails");
    return std::string(json::string_member(details, "BackupArn").value_or(""));
  }
  static std::string of(const std::string& arn) { return R"({"BackupArn":")" + arn + "\"}"; }
  void restore(const std::string& arn, const std::string& target) {
    must("RestoreTableFromBackup",
         R"({"BackupArn":")" + arn + R"(","TargetTableName":")" + target + "\"}");
  }
  int64_t count(const std::string& table, const std::string& more = {}) {
    json::Document document;
    EXPECT_TRUE(document.parse(
        must("Scan", R"({"TableName":")" + table + R"(","Select":"COUNT")" + more + "}")));
    return json::int_member(document.root(), "Count").value_or(-1);
  }
  std::vector<std::string> list(const std::string& more = {}) {
    std::vector<std::string> arns;
    json::Document document;
    EXPECT_TRUE(document.parse(must("ListBackups", "{" + more + "}")));
    const auto summaries = json::array_member(document.root(), "BackupSummaries");
    EXPECT_TRUE(summaries);
    for (const json::Element one : *summaries)
      arns.emplace_back(json::string_member(one, "BackupArn").value_or(""));
    last_evaluated_ =
        std::string(json::string_member(document.root(), "LastEvaluatedBackupArn").value_or(""));
    return arns;
  }

  std::filesystem::path directory_;
  std::string last_evaluated_;
};

class BackupOnEngines : public BackupTest, public ::testing::WithParamInterface<uint64_t> {};

TEST_P(BackupOnEngines, WhatChangesAfterItIsNotInIt) {
  open(GetParam());
  create_table();
  for (int i = 0; i < 50; ++i) put(i);
  const std::string arn = create_backup();
  for (int i = 0; i < 25; ++i)
    must("DeleteItem", R"({"TableName":"Items","Key":{"pk":{"S":")" + std::to_string(i) + "\"}}}");
  for (int i = 100; i < 110; ++i) put(i);
  const std::string described = must("DescribeBackup", of(arn));
  EXPECT_NE(described.find(R"("BackupStatus":"AVAILABLE")"), std::string::npos);
  EXPECT_NE(described.find(R"("ItemCount":50)"), std::string::npos);
  EXPECT_NE(described.find(R"("IndexName":"by-g")"), std::string::npos);
  restore(arn, "Back");
  ASSERT_TRUE(wait_until_active("Back"));
  EXPECT_EQ(count("Back"), 50);
  EXPECT_EQ(count("Back", R"(,"IndexName":"by-g")"), 50);
  EXPECT_EQ(count("Items"), 35);
  must("DeleteBackup", of(arn));
  EXPECT_NE(error("DescribeBackup", of(arn)).find("Backup not found: " + arn), std::string::npos);
  EXPECT_EQ(count("Back"), 50);
}
INSTANTIATE_TEST_SUITE_P(Engines, BackupOnEngines, ::testing::Values(0, 1, 2));

TEST_F(BackupTest, ItIsOneMomentWhileWritesGoOn) {
  open();
  create_table();
  for (int i = 0; i < 200; ++i) put(i);
  // Every round gives all items of a pair the same value in one transaction.
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int round = 1; !stop; ++round) {
      std::string body = R"({"TransactItems":[)";
      for (int i = 0; i < 20; ++i) {
        if (i > 0) body += ",";
        body += R"({"Put":{"TableName":"Items","Item":{"pk":{"S":")" + std::to_string(i) +
                R"("},"g":{"S":"all"},"v":{"N":")" + std::to_string(round) + "\"}}}}";
      }
      must("TransactWriteItems", body + "]}");
    }
  });
  std::vector<std::string> arns;
  for (int i = 0; i < 5; ++i) arns.push_back(create_backup());
  stop = true;
  writer.join();
  for (size_t i = 0; i < arns.size(); ++i) {
    const std::string name = "Back" + std::to_string(i);
    restore(arns[i], name);
    ASSERT_TRUE(wait_until_active(name));
    EXPECT_EQ(count(name), 200);
    json::Document document;
    ASSERT_TRUE(
        document.parse(must("Query", R"({"TableName":")" + name +
                                         R"(","IndexName":"by-g","KeyConditionExpression":"g = :g",
                          "ExpressionAttributeValues":{":g":{"S":"all"}}})")));
    std::set<std::string> values;
    const auto items = json::array_member(document.root(), "Items");
    ASSERT_TRUE(items);
    for (const json::Element item : *items)
      values.insert(json::canonical(*json::member(item, "v")));
    EXPECT_LE(values.size(), 1U) << "a torn transaction in " << name;
  }
}

TEST_F(BackupTest, ItOutlivesItsTableAndARestart) {
  use_directory();
  open();
  create_table();
  for (int i = 0; i < 300; ++i) put(i);
  const std::string arn = create_backup();
  must("DeleteTable", R"({"TableName":"Items"})");
  create_table();
  put(1000);
  open();
  EXPECT_EQ(list(R"("TableName":"Items")"), std::vector<std::string>{arn});
  restore(arn, "Back");
  open();  // in the middle of it
  ASSERT_TRUE(wait_until_active("Back"));
  EXPECT_EQ(count("Back"), 300);
  EXPECT_TRUE(std::filesystem::exists(directory_ / "backups"));
  must("DeleteBackup", of(arn));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "backups"));
}

TEST_F(BackupTest, WhatACrashLeftHalfMadeIsRemoved) {
  use_directory();
  open();
  create_table();
  put(1);
  const std::string arn = create_backup();
  database_.reset();
  std::filesystem::create_directories(directory_ / "backups" / "01800000000000-00000001");
  std::filesystem::create_directories(directory_ / "backups" / "01800000000000-00000002.tmp");
  open();
  size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory_ / "backups")) {
    EXPECT_TRUE(arn.ends_with(entry.path().filename().string())) << entry.path();
    ++folders;
  }
  EXPECT_EQ(folders, 1U);
}

TEST_F(BackupTest, ListsAreFilteredAndPaged) {
  open();
  create_table();
  create_table("Other");
  std::vector<std::string> arns;
  for (int i = 0; i < 5; ++i) {
    clock_.advance_us(1'500'000);
    arns.push_back(create_backup("backup" + std::to_string(i)));
  }
  must("CreateBackup", R"({"TableName":"Other","BackupName":"other"})");
  EXPECT_EQ(list().size(), 6U);
  EXPECT_EQ(list(R"("TableName":"Items")"), arns);
  EXPECT_EQ(list(R"("BackupType":"SYSTEM")").size(), 0U);
  EXPECT_EQ(list(R"("BackupType":"ALL")").size(), 6U);
  EXPECT_EQ(list(R"("TableName":"Items","Limit":5)").size(), 5U);
  EXPECT_EQ(last_evaluated_, "");
  std::vector<std::string> paged;
  std::string start;
  do {
    for (const std::string& arn : list(R"("TableName":"Items","Limit":2)" + start))
      paged.push_back(arn);
    start = R"(,"ExclusiveStartBackupArn":")" + last_evaluated_ + "\"";
  } while (!last_evaluated_.empty());
  EXPECT_EQ(paged, arns);
  // [lower, upper)
  EXPECT_EQ(
      list(
          R"("TableName":"Items","TimeRangeLowerBound":1800000003,"TimeRangeUpperBound":1800000006)"),
      (std::vector<std::string>{arns[1], arns[2]}));
}

TEST_F(BackupTest, ItFeedsOneRestoreAtATime) {
  open();
  create_table();
  for (int i = 0; i < 100; ++i) put(i);
  const std::string arn = create_backup();
  restore(arn, "One");
  // The first may be over already: then all that follows must work.
  const Answer second =
      run("RestoreTableFromBackup", R"({"BackupArn":")" + arn + R"(","TargetTableName":"Two"})");
  if (second.status != 200) {
    EXPECT_NE(second.body.find("BackupInUseException"), std::string::npos) << second.body;
    EXPECT_NE(second.body.find("Backup is being used to restore another table: " + arn),
              std::string::npos);
  }
  ASSERT_TRUE(wait_until_active("One"));
  EXPECT_TRUE(eventually([&] { return run("DeleteBackup", of(arn)).status == 200; }));
}

TEST_F(BackupTest, ADeletedTableWithRecoveryLeavesASystemBackup) {
  use_directory();
  open();
  create_table();
  must(
      "UpdateContinuousBackups",
      R"({"TableName":"Items","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}})");
  for (int i = 0; i < 120; ++i) put(i);
  must("DeleteTable", R"({"TableName":"Items"})");
  EXPECT_EQ(list().size(), 0U);
  const auto arns = list(R"("BackupType":"SYSTEM","TableName":"Items")");
  ASSERT_EQ(arns.size(), 1U);
  EXPECT_EQ(arns[0],
            "arn:aws:dynamodb:us-east-1:123456789012:table/Items/backup/01800000000000-00000000");
  const std::string described = must("DescribeBackup", of(arns[0]));
  EXPECT_NE(described.find(R"("BackupName":"Items$DeletedTableBackup")"), std::string::npos);
  EXPECT_NE(described.find(R"("ItemCount":120)"), std::string::npos);
  EXPECT_NE(described.find(R"("BackupExpiryDateTime":1803024000.000)"), std::string::npos);
  EXPECT_NE(error("DeleteBackup", of(arns[0]))
                .find("User is not allowed to delete the system backup with arn " + arns[0]),
            std::string::npos);
  create_table();
  put(7);
  open();
  clock_.advance_us(34 * kDay_s * 1'000'000);
  restore(arns[0], "Back");
  ASSERT_TRUE(wait_until_active("Back"));
  EXPECT_EQ(count("Back"), 120);
  EXPECT_EQ(count("Back", R"(,"IndexName":"by-g")"), 120);
  EXPECT_EQ(count("Items"), 1);
  clock_.advance_us(2 * kDay_s * 1'000'000);
  EXPECT_TRUE(eventually([&] { return list(R"("BackupType":"ALL")").empty(); }));
  EXPECT_NE(error("RestoreTableFromBackup",
                  R"({"BackupArn":")" + arns[0] + R"(","TargetTableName":"Late"})")
                .find("BackupNotFoundException"),
            std::string::npos);
}

TEST_F(BackupTest, TablesOfOneNameThatAreDeletedInAMomentLeaveABackupEach) {
  open();
  for (int round = 1; round <= 3; ++round) {
    create_table();
    must(
        "UpdateContinuousBackups",
        R"({"TableName":"Items","PointInTimeRecoverySpecification":{"PointInTimeRecoveryEnabled":true}})");
    for (int i = 0; i < round; ++i) put(i);
    must("DeleteTable", R"({"TableName":"Items"})");
  }
  const auto arns = list(R"("BackupType":"SYSTEM")");
  ASSERT_EQ(arns.size(), 3U);
  for (int round = 1; round <= 3; ++round) {
    const std::string name = "Back" + std::to_string(round);
    restore(arns[static_cast<size_t>(round) - 1], name);
    ASSERT_TRUE(wait_until_active(name));
    EXPECT_EQ(count(name), round);
  }
}

}  // namespace
}  // namespace stator
