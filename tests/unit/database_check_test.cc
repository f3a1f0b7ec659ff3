// stator check, on directories in which something was changed behind the server's back.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "database/check.h"
#include "engine/engine.h"
#include "engine/rocksdb/rocksdb_engine.h"
#include "support/database_case.h"

namespace stator {
namespace {

constexpr const char* kTable = R"({
  "TableName": "Orders",
  "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
  "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"},
                           {"AttributeName": "sk", "AttributeType": "N"},
                           {"AttributeName": "g", "AttributeType": "S"},
                           {"AttributeName": "l", "AttributeType": "S"}],
  "GlobalSecondaryIndexes": [{"IndexName": "ByG", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                              "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]}}],
  "LocalSecondaryIndexes": [{"IndexName": "ByL", "Projection": {"ProjectionType": "ALL"},
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "l", "KeyType": "RANGE"}]}],
  "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
  "BillingMode": "PAY_PER_REQUEST"
})";

class CheckTest : public ::testing::Test, protected DatabaseCase {
 protected:
  static constexpr int kItems = 40;

  void SetUp() override {
    directory_ =
        std::filesystem::temp_directory_path() / ("stator-check-" + std::to_string(::getpid()));
    std::filesystem::remove_all(directory_);
    open();
    must("CreateTable", kTable);
    ASSERT_TRUE(wait_until_active("Orders"));
    must("UpdateTimeToLive", R"({"TableName": "Orders", "TimeToLiveSpecification":
      {"Enabled": true, "AttributeName": "ttl"}})");
    must("UpdateContinuousBackups", R"({"TableName": "Orders", "PointInTimeRecoverySpecification":
      {"PointInTimeRecoveryEnabled": true}})");
    for (int i = 0; i < kItems; ++i) put(i, "first");
    for (int i = 0; i < kItems; i += 3) put(i, "second");
    for (int i = 0; i < kItems; i += 10) {
      must("DeleteItem", R"({"TableName": "Orders", "Key": {"pk": {"S": "p)" +
                             std::to_string(i % 4) + R"("}, "sk": {"N": ")" + std::to_string(i) +
                             "\"}}}");
    }
    must("TransactWriteItems", R"({"ClientRequestToken": "token", "TransactItems": [{"Put":
      {"TableName": "Orders", "Item": {"pk": {"S": "x"}, "sk": {"N": "1"}}}}]})");
    must("CreateBackup", R"({"TableName": "Orders", "BackupName": "kept"})");
    ASSERT_TRUE(eventually([&] {
      return must("ListBackups", "{}").find(R"("BackupStatus":"AVAILABLE")") != std::string::npos;
    }));
    close();
  }
  void TearDown() override {
    close();
    std::filesystem::remove_all(directory_);
  }

  void open() {
    DatabaseOptions options;
    options.directory = directory_;
    options.durability = engine::Durability::kOs;
    options.clock = &clock_;
    database_ = Database::open(options);
  }
  void close() { database_.reset(); }

  void put(int i, const std::string& text) {
    std::string item = R"({"pk": {"S": "p)" + std::to_string(i % 4) + R"("}, "sk": {"N": ")" +
                       std::to_string(i) + R"("}, "n": {"N": "7"}, "v": {"S": ")" + text + "\"}";
    if (i % 2 == 0) item += R"(, "g": {"S": "g)" + std::to_string(i % 3) + "\"}";
    if (i % 5 != 0) item += R"(, "l": {"S": "l)" + std::to_string(i) + "\"}";
    if (i % 2 == 1) item += R"(, "ttl": {"N": "1900000000"})";
    must("PutItem", R"({"TableName": "Orders", "Item": )" + item + "}}");
  }

  // Changes the stored rows as no server would.
  void tamper(const std::function<void(engine::Batch&)>& change) {
    engine::RocksdbOptions options;
    options.directory = directory_;
    options.durability = engine::Durability::kOs;
    const auto engine = engine::open_rocksdb(options);
    engine::Mutation mutation;
    mutation.body = [&](const engine::Held&, engine::Batch& batch) { change(batch); };
    ASSERT_TRUE(run_blocking(engine->mutate(std::move(mutation))).committed());
  }
  // The rows below a prefix.
  std::vector<std::pair<std::string, std::string>> rows(const std::string& prefix) {
    engine::RocksdbOptions options;
    options.directory = directory_;
    options.durability = engine::Durability::kOs;
    const auto engine = engine::open_rocksdb(options);
    const auto view = engine->view();
    const engine::Rows found = run_blocking(
        view->scan({prefix, prefix_end(prefix)}, engine::Direction::kForward, {.rows = 10'000}));
    std::vector<std::pair<std::string, std::string>> copied;
    for (size_t i = 0; i < found.size(); ++i)
      copied.emplace_back(std::string(found.key(i)), std::string(found.value(i)));
    return copied;
  }
  // The first table has number 1.
  static std::string part(char kind) {
    return "t" + std::string(7, '\0') + "\x01" + std::string(1, kind);
  }
  static std::string counter(uint32_t index, char what) {
    std::string key = part('n');
    append_big_endian(key, index);
    key.push_back(what);
    return key;
  }

  void expect_problem(const std::string& text) {
    const CheckReport report = check_directory(directory_);
    EXPECT_GT(report.problem_count, 0U);
    const bool found = std::any_of(
        report.problems.begin(), report.problems.end(),
        [&](const std::string& problem) { return problem.find(text) != std::string::npos; });
    std::string all;
    for (const std::string& problem : report.problems) all += problem + "\n";
    EXPECT_TRUE(found) << "not found: " << text << "\n" << all;
  }

  std::filesystem::path directory_;
};

TEST_F(CheckTest, what_a_server_left_has_no_problem) {
  const CheckReport report = check_directory(directory_);
  std::string all;
  for (const std::string& problem : report.problems) all += problem + "\n";
  EXPECT_EQ(all, "");
  EXPECT_EQ(report.problem_count, 0U);
  EXPECT_EQ(report.remarks, std::vector<std::string>{});
  EXPECT_EQ(report.tables, 1U);
  EXPECT_EQ(report.items, kItems - 4 + 1U);
  EXPECT_GT(report.index_entries, 40U);
  EXPECT_GT(report.stream_records, 50U);
  EXPECT_EQ(report.backups, 1U);
}

TEST_F(CheckTest, what_is_still_being_made_has_no_problem) {
  open();
  must("UpdateTable", R"({"TableName": "Orders", "AttributeDefinitions": [
    {"AttributeName": "v", "AttributeType": "S"}], "GlobalSecondaryIndexUpdates": [{"Create":
    {"IndexName": "ByV", "KeySchema": [{"AttributeName": "v", "KeyType": "HASH"}],
     "Projection": {"ProjectionType": "ALL"}}}]})");
  close();
  EXPECT_EQ(check_directory(directory_).problem_count, 0U);
}

TEST_F(CheckTest, an_index_entry_that_is_missing_is_found) {
  const auto entries = rows(part('i'));
  ASSERT_FALSE(entries.empty());
  tamper([&](engine::Batch& batch) { batch.erase(entries.front().first); });
  expect_problem("has no entry of it");
}

TEST_F(CheckTest, an_index_entry_without_its_item_is_found) {
  const auto items = rows(part('d'));
  tamper([&](engine::Batch& batch) { batch.erase(items.back().first); });
  expect_problem("there is no such item");
  expect_problem("it counts 37 items, and has 36");
}

TEST_F(CheckTest, an_index_entry_that_says_otherwise_is_found) {
  const auto entries = rows(part('i'));
  tamper([&](engine::Batch& batch) { batch.put(entries[0].first, entries[1].second); });
  expect_problem("says otherwise");
}

TEST_F(CheckTest, counters_that_are_wrong_are_found) {
  tamper([&](engine::Batch& batch) {
    batch.add(counter(0, 'c'), 5);
    batch.add(counter(1, 'b'), -3);
  });
  expect_problem("it counts 42 items, and has 37");
  expect_problem("bytes, and has");
}

TEST_F(CheckTest, an_item_under_a_wrong_key_is_found) {
  const auto items = rows(part('d'));
  tamper([&](engine::Batch& batch) { batch.put(items[0].first + "x", items[0].second); });
  expect_problem("kept under another item's key");
}

TEST_F(CheckTest, a_record_that_cannot_be_read_is_found) {
  const auto items = rows(part('d'));
  tamper([&](engine::Batch& batch) { batch.put(items[0].first, "nonsense"); });
  expect_problem("table Orders, an item");
}

TEST_F(CheckTest, a_queue_of_expiring_items_with_a_gap_is_found) {
  const auto queued = rows(part('e'));
  ASSERT_FALSE(queued.empty());
  tamper([&](engine::Batch& batch) { batch.erase(queued.front().first); });
  expect_problem("is not in the queue of expiring items");
}

TEST_F(CheckTest, a_wrong_size_of_a_collection_is_found) {
  const auto sizes = rows(part('s'));
  ASSERT_FALSE(sizes.empty());
  tamper([&](engine::Batch& batch) { batch.add(sizes.front().first, 1); });
  expect_problem("an item collection counts");
}

TEST_F(CheckTest, a_stream_that_does_not_replay_to_its_table_is_found) {
  // The second record of an item is the one that some later record, or the table, goes on from.
  std::vector<std::pair<std::string, std::string>> records = rows("c");
  std::erase_if(records, [](const auto& row) { return row.second.size() < 4; });
  const auto modified = std::find_if(records.begin(), records.end(), [](const auto& row) {
    return row.second.find("second") != std::string::npos;
  });
  ASSERT_NE(modified, records.end());
  tamper([&](engine::Batch& batch) { batch.erase(modified->first); });
  const CheckReport report = check_directory(directory_);
  ASSERT_EQ(report.problem_count, 1U);
  const std::string& problem = report.problems[0];
  EXPECT_TRUE(problem.find("is not what its last record says") != std::string::npos ||
              problem.find("is not what the record before says") != std::string::npos)
      << problem;
}

TEST_F(CheckTest, a_stream_record_in_a_wrong_shard_is_found) {
  std::vector<std::pair<std::string, std::string>> records = rows("c");
  std::erase_if(records, [](const auto& row) { return row.second.size() < 4; });
  // The shard's number follows the table's and the stream's, the version follows it.
  std::string moved = records.front().first;
  moved[1 + 8 + 4 + 3] = static_cast<char>(moved[1 + 8 + 4 + 3] == 1 ? 2 : 1);
  tamper([&](engine::Batch& batch) {
    batch.erase(records.front().first);
    batch.put(moved, records.front().second);
  });
  expect_problem("its record belongs to another shard");
}

TEST_F(CheckTest, catalog_records_that_do_not_fit_are_found) {
  std::string guard = "mg" + std::string(7, '\0') + "\x01";
  std::string stranger = "t" + std::string(7, '\0') + "\x63" + "d";
  tamper([&](engine::Batch& batch) {
    batch.erase(guard);
    batch.put(stranger + "some key", "some value");
    batch.put("mz", "unknown");
    batch.put("q", "unknown");
  });
  expect_problem("its guard is not of its schema's version");
  expect_problem("data of table number 99, which is not in the catalog");
  expect_problem("record of a kind that there is not");
  expect_problem("rows of an unknown kind: q");
}

TEST_F(CheckTest, a_backup_without_its_copy_is_found) {
  std::filesystem::remove_all(directory_ / "backups");
  expect_problem("its copy of the store is missing");
}

TEST_F(CheckTest, a_table_record_that_cannot_be_read_is_found) {
  tamper([&](engine::Batch& batch) { batch.put("mnOrders", "\x01{\"nonsense\":true}"); });
  expect_problem("the catalog, record mnOrders");
}

TEST_F(CheckTest, a_directory_without_data_or_in_use_is_refused) {
  EXPECT_THROW(check_directory(directory_ / "nothing"), engine::EngineError);
  open();
  EXPECT_THROW(check_directory(directory_), engine::EngineError);
}

}  // namespace
}  // namespace stator
