// The machine stops while a database is written to, and the disk keeps of what was not flushed
// whatever it likes. Then every acknowledged write is there, nothing is half there, and check finds
// indexes, counters, catalog and streams as the items imply. STATOR_ROUNDS and STATOR_CRASH_SEED
// prolong or repeat a run.
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "database/check.h"
#include "database/database.h"
#include "support/engine_fragile_files.h"

namespace stator {
namespace {

constexpr int kWriters = 4;
constexpr int kKeysOfAWriter = 12;
constexpr uint64_t kRoundsOfADirectory = 20;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

constexpr const char* kTable = R"({
  "TableName": "Tab",
  "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
  "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"},
                           {"AttributeName": "sk", "AttributeType": "S"},
                           {"AttributeName": "g", "AttributeType": "S"},
                           {"AttributeName": "v", "AttributeType": "N"}],
  "GlobalSecondaryIndexes": [{"IndexName": "ByG", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                              "Projection": {"ProjectionType": "ALL"}}],
  "LocalSecondaryIndexes": [{"IndexName": "ByL", "Projection": {"ProjectionType": "KEYS_ONLY"},
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "v", "KeyType": "RANGE"}]}],
  "StreamSpecification": {"StreamEnabled": true, "StreamViewType": "NEW_AND_OLD_IMAGES"},
  "BillingMode": "PAY_PER_REQUEST"
})";

// One more index, which comes and goes.
constexpr const char* kCreateIndex = R"({"TableName": "Tab", "AttributeDefinitions": [
    {"AttributeName": "g", "AttributeType": "S"}, {"AttributeName": "v", "AttributeType": "N"}],
  "GlobalSecondaryIndexUpdates": [{"Create": {"IndexName": "ByGV", "KeySchema": [
    {"AttributeName": "g", "KeyType": "HASH"}, {"AttributeName": "v", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "ALL"}}}]})";
constexpr const char* kDeleteIndex =
    R"({"TableName": "Tab", "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "ByGV"}}]})";

Answer ask(Database& database, std::string_view operation, std::string body) {
  return run_blocking(database.execute("DynamoDB_20120810", operation, std::move(body), Caller{}));
}

// Keys of its own, and what each must hold: a version, or 0 for no item.
class Writer {
 public:
  Writer(int number, uint64_t seed) : name_("w" + std::to_string(number)), random_(seed) {}

  void run(Database& database) {
    while (write(database)) {
    }
  }

  // After the restart: takes over what the interrupted request did.
  void check(Database& database) {
    std::map<std::string, int64_t> found;
    for (int i = 0; i < kKeysOfAWriter; ++i) {
      const std::string key = std::to_string(i);
      found[key] = version_in(database, key);
      const int64_t wanted = acknowledged_[key];
      const bool was_asked = asked_.contains(key) && asked_[key] == found[key];
      EXPECT_TRUE(found[key] == wanted || was_asked)
          << name_ << "/" << key << ": acknowledged " << wanted << ", found " << found[key];
    }
    // Pairs are written together; both have what the interrupted request asked for, or neither.
    if (asked_together_) {
      std::set<bool> done;
      for (const auto& [key, version] : asked_) {
        if (acknowledged_[key] != version) done.insert(found[key] == version);
      }
      EXPECT_LE(done.size(), 1U) << name_ << ": half a transaction";
    }
    acknowledged_ = found;
    asked_.clear();
  }

  uint64_t writes() const { return writes_; }

 private:
  std::string key_json(const std::string& key) const {
    return R"({"pk": {"S": ")" + name_ + R"("}, "sk": {"S": ")" + key + "\"}}";
  }
  std::string item_json(const std::string& key, int64_t version) {
    std::string item = R"({"pk": {"S": ")" + name_ + R"("}, "sk": {"S": ")" + key +
                       R"("}, "v": {"N": ")" + std::to_string(version) + "\"}";
    if (version % 3 != 0) item += R"(, "g": {"S": "g)" + std::to_string(version % 5) + "\"}";
    return item + R"(, "filler": {"S": ")" + std::string(random_() % 1500, 'x') + "\"}}";
  }

  bool write(Database& database) {
    const int64_t version = ++version_;
    const std::string first = std::to_string(random_() % kKeysOfAWriter);
    const std::string second = std::to_string(random_() % kKeysOfAWriter);
    asked_together_ = false;
    asked_ = {{first, version}};
    std::string operation = "PutItem";
    std::string body = R"({"TableName": "Tab", "Item": )" + item_json(first, version) + "}";
    switch (random_() % 5) {
      case 0:
        operation = "DeleteItem";
        body = R"({"TableName": "Tab", "Key": )" + key_json(first) + "}";
        asked_[first] = 0;
        break;
      case 1:
        operation = "UpdateItem";
        body = R"({"TableName": "Tab", "Key": )" + key_json(first) +
               R"(, "UpdateExpression": "SET v = :v, g = :g", "ExpressionAttributeValues":
                 {":v": {"N": ")" +
               std::to_string(version) + R"("}, ":g": {"S": "updated"}}})";
        break;
      case 2:
        if (first == second) break;
        operation = "BatchWriteItem";
        asked_[second] = 0;
        body = R"({"RequestItems": {"Tab": [{"PutRequest": {"Item": )" + item_json(first, version) +
               R"(}}, {"DeleteRequest": {"Key": )" + key_json(second) + "}}]}}";
        break;
      case 3:
        if (first == second) break;
        operation = "TransactWriteItems";
        asked_together_ = true;
        asked_[second] = version;
        body = R"({"TransactItems": [{"Put": {"TableName": "Tab", "Item": )" +
               item_json(first, version) + R"(}}, {"Put": {"TableName": "Tab", "Item": )" +
               item_json(second, version) + "}}]}";
        break;
      default:
        break;
    }
    const Answer answer = ask(database, operation, std::move(body));
    if (answer.status != 200) {
      EXPECT_EQ(answer.error, "InternalServerError") << operation << ": " << answer.body;
      return false;
    }
    for (const auto& [key, asked] : asked_) acknowledged_[key] = asked;
    asked_.clear();
    ++writes_;
    return true;
  }

  int64_t version_in(Database& database, const std::string& key) const {
    const Answer answer =
        ask(database, "GetItem",
            R"({"TableName": "Tab", "ConsistentRead": true, "ProjectionExpression": "v", "Key": )" +
                key_json(key) + "}");
    EXPECT_EQ(answer.status, 200) << answer.body;
    const size_t at = answer.body.find(R"("N":")");
    return at == std::string::npos ? 0 : std::atoll(answer.body.c_str() + at + 5);
  }

  const std::string name_;
  std::mt19937_64 random_;
  int64_t version_ = 0;
  uint64_t writes_ = 0;
  std::map<std::string, int64_t> acknowledged_;
  std::map<std::string, int64_t> asked_;  // by the request that is under way
  bool asked_together_ = false;
};

class DatabasePowerLoss : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 ("stator-power-loss-" + std::to_string(::getpid()));
    std::filesystem::remove_all(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Database> open(std::shared_ptr<engine::FragileFiles> files) {
    DatabaseOptions options;
    options.directory = directory_;
    options.block_cache_bytes = 1024 * 1024;
    options.write_buffer_bytes = 256 * 1024;  // files are written and logs end all the time
    options.file_system = std::move(files);
    return Database::open(options);
  }

  void create_table() {
    const std::unique_ptr<Database> database = open(nullptr);
    ASSERT_EQ(ask(*database, "CreateTable", kTable).status, 200);
  }

  // Looks at what the last loss left, then writes until the next one.
  void lose_power(std::vector<Writer>& writers, std::mt19937_64& random) {
    const auto files = std::make_shared<engine::FragileFiles>();
    {
      const std::unique_ptr<Database> database = open(files);
      for (Writer& writer : writers) writer.check(*database);
      std::vector<std::thread> threads;
      for (Writer& writer : writers) threads.emplace_back([&] { writer.run(*database); });
      threads.emplace_back([&] {
        // Refused while the index is being made; the end is that of the machine.
        for (bool create = true;; create = !create) {
          const Answer answer = ask(*database, "UpdateTable", create ? kCreateIndex : kDeleteIndex);
          if (answer.error == "InternalServerError") return;
        }
      });
      std::this_thread::sleep_for(std::chrono::microseconds(20'000 + random() % 150'000));
      files->stop_machine();
      for (std::thread& thread : threads) thread.join();
    }
    files->lose_unsynced(random);
  }

  void expect_no_problem() {
    const CheckReport report = check_directory(directory_);
    for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
    EXPECT_EQ(report.problem_count, 0U);
  }

  std::filesystem::path directory_;
};

TEST_F(DatabasePowerLoss, what_was_acknowledged_is_there_and_everything_fits_together) {
  const uint64_t seed = from_environment("STATOR_CRASH_SEED", std::random_device()());
  std::mt19937_64 random(seed);
  SCOPED_TRACE("STATOR_CRASH_SEED=" + std::to_string(seed));
  const uint64_t rounds = from_environment("STATOR_ROUNDS", 20);
  uint64_t writes = 0;
  for (uint64_t left = rounds; left > 0 && !HasFailure();) {
    // Everything is looked at after each loss, so that a long run begins anew now and then.
    std::filesystem::remove_all(directory_);
    std::vector<Writer> writers;
    for (int i = 0; i < kWriters; ++i) writers.emplace_back(i, random());
    create_table();
    for (uint64_t round = 0; round < kRoundsOfADirectory && left > 0 && !HasFailure();
         ++round, --left) {
      lose_power(writers, random);
      expect_no_problem();
    }
    const std::unique_ptr<Database> database = open(nullptr);
    for (Writer& writer : writers) {
      writer.check(*database);
      writes += writer.writes();
    }
  }
  EXPECT_GT(writes, rounds * kWriters) << "too few writes to mean anything";
  std::printf("%llu losses of power, %llu acknowledged writes\n",
              static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(writes));
}

}  // namespace
}  // namespace stator
