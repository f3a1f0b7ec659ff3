// JSON requests through the whole database: the first line names the operation, the rest is the
// body. Whatever it is, the answer is JSON, and never a failure of the server.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

#include "common/task.h"
#include "database/database.h"
#include "json/reader.h"
#include "replay_main.h"

namespace {

using namespace stator;

constexpr std::string_view kServices[] = {"DynamoDB_20120810", "DynamoDBStreams_20120810",
                                          "AnyScaleFrontendService"};
constexpr std::string_view kTable = R"({"TableName": "Tab", "BillingMode": "PAY_PER_REQUEST",
  "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
  "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"},
                           {"AttributeName": "g", "AttributeType": "B"}],
  "GlobalSecondaryIndexes": [{"IndexName": "Gsi", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                              "Projection": {"ProjectionType": "ALL"}}],
  "LocalSecondaryIndexes": [{"IndexName": "Lsi", "Projection": {"ProjectionType": "KEYS_ONLY"}, "KeySchema": [
    {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "g", "KeyType": "RANGE"}]}]})";
// So that what one input left behind does not grow without end.
constexpr int kInputsOfADatabase = 500;

class Subject;
Subject& subject();

class Subject {
 public:
  void close() { database_.reset(); }
  Answer execute(std::string_view operation, std::string_view body) {
    if (database_ == nullptr || used_++ == kInputsOfADatabase) open();
    const auto service =
        std::find_if(std::begin(kServices), std::end(kServices),
                     [&](std::string_view name) { return database_->knows(name, operation); });
    if (service == std::end(kServices)) {
      Answer nothing;
      nothing.body = "{}";
      return nothing;
    }
    return run_blocking(
        database_->execute(*service, operation, std::string(body), Caller{"key", "request"}));
  }

 private:
  void open() {
    database_.reset();
    DatabaseOptions options;
    options.durability = engine::Durability::kMemory;
    options.block_cache_bytes = 1 << 20;
    database_ = Database::open(std::move(options));
    fuzz::before_end([] { subject().close(); });
    used_ = 0;
    if (run("CreateTable", kTable).status != 200) std::abort();
    run("PutItem",
        R"({"TableName": "Tab", "Item": {"pk": {"S": "a"}, "sk": {"N": "1"}, "n": {"N": "7"},
                       "g": {"B": "AAA="}, "l": {"L": [{"S": "x"}]}}})");
  }
  Answer run(std::string_view operation, std::string_view body) {
    return run_blocking(
        database_->execute(kServices[0], operation, std::string(body), Caller{"key", "request"}));
  }

  std::unique_ptr<Database> database_;
  int used_ = 0;
};

// Never destroyed itself, but its threads have to end before RocksDB's statics do.
Subject& subject() {
  static Subject& only = *new Subject;
  return only;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(input.find('\n'), input.size());
  const std::string_view body = input.substr(std::min(line + 1, input.size()));
  const Answer answer = subject().execute(input.substr(0, line), body);
  json::Document document;
  // Some answers of success have no body.
  const bool is_json = answer.body.empty() || document.parse(answer.body);
  if (answer.status < 200 || answer.status >= 500 || !is_json) {
    std::cerr << answer.status << " " << answer.body << "\n";
    std::abort();
  }
  return 0;
}
