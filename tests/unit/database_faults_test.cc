// A whole database on a disk that is full or fails: errors are answered as such, nothing is
// acknowledged that is not kept, and everything is there when the cause is gone.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>

#include "database/check.h"
#include "database/database.h"
#include "support/engine_fragile_files.h"

namespace stator {
namespace {

using Doing = engine::FragileFiles::Doing;

constexpr const char* kTable = R"({
  "TableName": "Items",
  "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
  "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"},
                           {"AttributeName": "sk", "AttributeType": "S"},
                           {"AttributeName": "g", "AttributeType": "S"}],
  "GlobalSecondaryIndexes": [{"IndexName": "ByG", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                              "Projection": {"ProjectionType": "KEYS_ONLY"}}],
  "BillingMode": "PAY_PER_REQUEST"
})";

std::string key_json(int i) {
  return R"({"pk": {"S": "p)" + std::to_string(i % 5) + R"("}, "sk": {"S": "s)" +
         std::to_string(i) + "\"}}";
}

// Nothing that compresses.
std::string text_of(int i) {
  std::mt19937_64 random(i);
  std::string text;
  while (text.size() < 500) text.push_back(static_cast<char>('a' + random() % 26));
  return text;
}

class DatabaseFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 ("stator-database-faults-" + std::to_string(::getpid()));
    std::filesystem::remove_all(directory_);
    open();
    ASSERT_EQ(ask("CreateTable", kTable).status, 200);
  }
  void TearDown() override {
    database_.reset();
    std::filesystem::remove_all(directory_);
  }

  void open() {
    database_.reset();
    DatabaseOptions options;
    options.directory = directory_;
    options.block_cache_bytes = 1024;  // reads go to the files
    options.write_buffer_bytes = 128 * 1024;
    options.file_system = files_;
    database_ = Database::open(options);
  }

  Answer ask(std::string_view operation, std::string body) {
    return run_blocking(
        database_->execute("DynamoDB_20120810", operation, std::move(body), Caller{}));
  }
  Answer put(int i) {
    std::string item = key_json(i);
    item.pop_back();
    return ask("PutItem", R"({"TableName": "Items", "Item": )" + item + R"(, "g": {"S": "g)" +
                              std::to_string(i % 3) + R"("}, "v": {"S": ")" + text_of(i) + "\"}}}");
  }
  // Puts items from `from` on until one is not acknowledged, at most `count`. Returns the first
  // that was not.
  int put_until_failure(int from, int count) {
    for (int i = from; i < from + count; ++i) {
      const Answer answer = put(i);
      if (answer.status == 200) continue;
      EXPECT_EQ(answer.status, 500);
      EXPECT_EQ(answer.error, "InternalServerError") << answer.body;
      return i;
    }
    return from + count;
  }
  Answer get(int i) {
    return ask("GetItem", R"({"TableName": "Items", "Key": )" + key_json(i) + "}");
  }
  void expect_all(int count) {
    for (int i = 0; i < count; ++i) {
      const Answer answer = get(i);
      ASSERT_EQ(answer.status, 200) << i << answer.body << answer.detail;
      ASSERT_NE(answer.body.find(text_of(i)), std::string::npos) << i << ": " << answer.body;
    }
  }
  void expect_whole_after_restart(int acknowledged) {
    files_->mend();
    database_.reset();
    const CheckReport report = check_directory(directory_);
    for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
    open();
    expect_all(acknowledged);
    EXPECT_EQ(put_until_failure(acknowledged, 50), acknowledged + 50);
    EXPECT_EQ(database_->failure(), "");
  }

  std::shared_ptr<engine::FragileFiles> files_ = std::make_shared<engine::FragileFiles>();
  std::unique_ptr<Database> database_;
  std::filesystem::path directory_;
};

struct WriteFault {
  std::string name;
  Doing doing;
  std::string suffix;
  bool no_space;
};

class DatabaseWriteFault : public DatabaseFaults, public testing::WithParamInterface<WriteFault> {};

TEST_P(DatabaseWriteFault, nothing_is_acknowledged_that_is_not_kept) {
  ASSERT_EQ(put_until_failure(0, 100), 100);
  files_->fail(GetParam().doing, GetParam().suffix, GetParam().no_space, 3);
  const int acknowledged = put_until_failure(100, 5000);
  ASSERT_LT(acknowledged, 5100) << "the fault was never noticed";
  EXPECT_NE(database_->failure(), "");
  // Whatever else would write is refused in the same way.
  const std::string transaction =
      R"({"TransactItems": [{"Delete": {"TableName": "Items", "Key": )" + key_json(0) +
      R"(}}, {"Delete": {"TableName": "Items", "Key": )" + key_json(1) + "}}]}";
  EXPECT_EQ(ask("TransactWriteItems", transaction).error, "InternalServerError");
  EXPECT_EQ(ask("DeleteTable", R"({"TableName": "Items"})").error, "InternalServerError");
  expect_all(acknowledged);
  expect_whole_after_restart(acknowledged);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, DatabaseWriteFault,
    testing::Values(WriteFault{"full_disk_at_the_log", Doing::kAppend, ".log", true},
                    WriteFault{"error_flushing_the_log", Doing::kSync, ".log", false},
                    WriteFault{"no_new_log", Doing::kCreate, ".log", true},
                    WriteFault{"full_disk_at_a_file", Doing::kAppend, ".sst", true},
                    WriteFault{"error_flushing_a_file", Doing::kSync, ".sst", false}),
    [](const auto& info) { return info.param.name; });

TEST_F(DatabaseFaults, a_read_that_fails_is_an_error_and_no_absence) {
  ASSERT_EQ(put_until_failure(0, 1000), 1000);
  files_->fail(Doing::kRead, ".sst", false);
  int failed = 0;
  for (int i = 0; i < 1000; ++i) {
    const Answer answer = get(i);
    if (answer.status == 200) {
      ASSERT_NE(answer.body.find(text_of(i)), std::string::npos);
    } else {
      ASSERT_EQ(answer.error, "InternalServerError");
      ++failed;
    }
  }
  EXPECT_GT(failed, 200);
  EXPECT_EQ(ask("Scan", R"({"TableName": "Items"})").error, "InternalServerError");
  const std::string query = R"({"TableName": "Items", "IndexName": "ByG",
    "KeyConditionExpression": "g = :g", "ExpressionAttributeValues": {":g": {"S": "g1"}}})";
  EXPECT_EQ(ask("Query", query).error, "InternalServerError");
  // A condition on what cannot be read is an error too, and changes nothing.
  const std::string conditional = R"({"TableName": "Items", "Key": )" + key_json(0) +
                                  R"x(, "ConditionExpression": "attribute_exists(pk)"})x";
  EXPECT_EQ(ask("DeleteItem", conditional).error, "InternalServerError");
  files_->mend();
  expect_all(1000);
  expect_whole_after_restart(1000);
}

}  // namespace
}  // namespace stator
