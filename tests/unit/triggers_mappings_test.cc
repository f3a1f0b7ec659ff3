// Mappings on a database, through Lambda's API, with functions that the test plays.
#include "triggers/mappings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <thread>

#include <unistd.h>

#include "triggers/api.h"
#include "triggers_testing.h"

namespace stator::triggers {
namespace {

using Ids = std::vector<std::string>;
using net::Method;

constexpr const char* kPath = "/2015-03-31/event-source-mappings/";

class MappingsTest : public ::testing::Test {
 protected:
  MappingsTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("stator_mappings_" + std::to_string(getpid()))) {
    std::filesystem::remove_all(directory_);
    open();
  }
  ~MappingsTest() override {
    close();
    std::filesystem::remove_all(directory_);
  }

  void open(Clock* clock = nullptr) {
    DatabaseOptions options;
    options.clock = clock;
    options.directory = directory_;
    options.durability = engine::Durability::kOs;
    database_ = Database::open(options);
    invoker_ = std::make_unique<FakeInvoker>();
    MappingsOptions mappings;
    mappings.backoff = {.first_ms = 1, .most_ms = 4};
    mappings_ = std::make_unique<Mappings>(*database_, *invoker_,
                                           clock != nullptr ? *clock : clock_, mappings);
    mappings_->start();
  }
  void close() {
    mappings_.reset();
    database_.reset();
  }

  std::string must(std::string_view operation, std::string body) {
    Answer answer =
        run_blocking(database_->execute("DynamoDB_20120810", operation, std::move(body), Caller{}));
    EXPECT_EQ(answer.status, 200) << operation << ": " << answer.body;
    return std::move(answer.body);
  }
  // Creates a table with a stream and gives the stream's ARN.
  std::string create_table(const std::string& name) {
    json::Document answer;
    EXPECT_TRUE(answer.parse(
        must("CreateTable", R"({"TableName":")" + name + R"(","BillingMode":"PAY_PER_REQUEST",
           "AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
           "KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
           "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"}})")));
    return std::string(
        *json::string_member(*json::member(answer.root(), "TableDescription"), "LatestStreamArn"));
  }
  void put(const std::string& table, const std::string& id, int n) {
    must("PutItem", R"({"TableName":")" + table + R"(","Item":{"id":{"S":")" + id +
                        R"("},"n":{"N":")" + std::to_string(n) + "\"}}}");
  }
  ApiAnswer call(Method method, const std::string& path, std::string body = {},
                 std::string query = {}) {
    return run_blocking(answer_api(*mappings_, method, path, std::move(query), std::move(body)));
  }
  // A new mapping's UUID.
  std::string map(const std::string& arn, const std::string& more = {},
                  const std::string& function = "f") {
    const ApiAnswer answer = call(Method::kPost, kPath,
                                  R"({"FunctionName":")" + function + R"(","EventSourceArn":")" +
                                      arn + R"(","StartingPosition":"TRIM_HORIZON")" + more + "}");
    EXPECT_EQ(answer.status, 202) << answer.body;
    return text(answer.body, "UUID");
  }
  static std::string text(const std::string& body, std::string_view member) {
    json::Document document;
    EXPECT_TRUE(document.parse(body)) << body;
    return std::string(json::string_member(document.root(), member).value_or(""));
  }
  template <typename Condition>
  static bool eventually(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }
  bool eventually_seen(size_t count, const std::string& function = {}) {
    return eventually([&] { return invoker_->seen(function).size() >= count; });
  }

  SystemClock clock_;
  ManualClock moved_{clock_.now_us()};
  const std::filesystem::path directory_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<FakeInvoker> invoker_;
  std::unique_ptr<Mappings> mappings_;
};

TEST_F(MappingsTest, EveryChangeReachesTheFunctionOnce) {
  const std::string arn = create_table("Items");
  for (int i = 0; i < 50; ++i) put("Items", "before" + std::to_string(i), 1);
  map(arn);
  for (int i = 0; i < 50; ++i) put("Items", "after" + std::to_string(i), 1);
  ASSERT_TRUE(eventually_seen(100));
  Ids seen = invoker_->seen();
  EXPECT_EQ(seen.size(), 100U);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

TEST_F(MappingsTest, LatestBeginsWithTheAnswer) {
  const std::string arn = create_table("Items");
  for (int i = 0; i < 20; ++i) put("Items", "before" + std::to_string(i), 1);
  const ApiAnswer answer =
      call(Method::kPost, kPath,
           R"({"FunctionName":"f","EventSourceArn":")" + arn + R"(","StartingPosition":"LATEST"})");
  ASSERT_EQ(answer.status, 202);
  put("Items", "first", 1);
  ASSERT_TRUE(eventually_seen(1));
  for (int i = 0; i < 20; ++i) put("Items", "after" + std::to_string(i), 1);
  ASSERT_TRUE(eventually_seen(21));
  for (const std::string& id : invoker_->seen()) EXPECT_FALSE(id.starts_with("before")) << id;
}

TEST_F(MappingsTest, LatestIsStillTheMomentOfCreationAfterARestart) {
  const std::string arn = create_table("Items");
  put("Items", "before", 1);
  ASSERT_EQ(call(Method::kPost, kPath,
                 R"({"FunctionName":"f","EventSourceArn":")" + arn +
                     R"(","StartingPosition":"LATEST","Enabled":false})")
                .status,
            202);
  put("Items", "after", 1);
  close();
  open();
  const std::string uuid = mappings_->list().at(0).mapping.uuid;
  EXPECT_EQ(call(Method::kPut, kPath + uuid, R"({"Enabled":true})").status, 202);
  ASSERT_TRUE(eventually_seen(1));
  EXPECT_EQ(invoker_->seen(), (Ids{"after"}));
}

TEST_F(MappingsTest, CheckpointsSurviveARestart) {
  const std::string arn = create_table("Items");
  const std::string uuid = map(arn);
  for (int i = 0; i < 20; ++i) put("Items", "a" + std::to_string(i), 1);
  ASSERT_TRUE(eventually_seen(20));
  close();
  open();
  EXPECT_EQ(text(call(Method::kGet, kPath + uuid).body, "LastProcessingResult"), "OK");
  put("Items", "b", 1);
  ASSERT_TRUE(eventually_seen(1));
  EXPECT_EQ(invoker_->seen(), (Ids{"b"}));
}

TEST_F(MappingsTest, AFunctionThatFailedForAWhileGetsEverythingInOrder) {
  const std::string arn = create_table("Items");
  invoker_->behave([](const Ids&) { return failed(); });
  const std::string uuid = map(arn, R"(,"BatchSize":3)");
  for (int i = 0; i < 10; ++i) put("Items", "same", i);
  ASSERT_TRUE(eventually([&] { return invoker_->calls().size() > 5; }));
  EXPECT_TRUE(eventually([&] {
    return text(call(Method::kGet, kPath + uuid).body, "LastProcessingResult") ==
           "PROBLEM: Function call failed";
  }));
  const size_t before = invoker_->events().size();
  std::atomic<int> taken = 0;
  invoker_->behave([&](const Ids& ids) {
    taken += static_cast<int>(ids.size());
    return succeeded();
  });
  ASSERT_TRUE(eventually([&] { return taken == 10; }));
  std::string all;
  const auto events = invoker_->events();
  for (size_t i = before; i < events.size(); ++i) all += events[i];
  size_t at = 0;
  for (int i = 0; i < 10; ++i) {
    at = all.find(R"("NewImage":{"id":{"S":"same"},"n":{"N":")" + std::to_string(i) + "\"}", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(MappingsTest, AFunctionThatHangsHoldsUpNobodyElse) {
  const std::string arn = create_table("Items");
  invoker_->hold("f");
  map(arn, R"(,"BatchSize":1)");
  map(arn, {}, "g");
  for (int i = 0; i < 100; ++i) put("Items", std::to_string(i), 1);
  EXPECT_TRUE(eventually_seen(100, "g"));
  EXPECT_TRUE(invoker_->seen("f").empty());
  invoker_->release("f");
  EXPECT_TRUE(eventually_seen(100, "f"));
}

TEST_F(MappingsTest, FilteredRecordsCountAsDone) {
  const std::string arn = create_table("Items");
  const std::string uuid = map(
      arn,
      R"(,"FilterCriteria":{"Filters":[{"Pattern":"{\"dynamodb\":{\"Keys\":{\"id\":{\"S\":[{\"prefix\":\"yes\"}]}}}}"}]})");
  for (int i = 0; i < 10; ++i) {
    put("Items", "yes" + std::to_string(i), 1);
    put("Items", "no" + std::to_string(i), 1);
  }
  ASSERT_TRUE(eventually_seen(10));
  for (const std::string& id : invoker_->seen()) EXPECT_TRUE(id.starts_with("yes"));
  EXPECT_TRUE(eventually([&] {
    return mappings_->report().find(R"("records_filtered":10)") != std::string::npos;
  })) << mappings_->report();
  // Without the filter only what comes next is seen: the rest is behind the checkpoint.
  EXPECT_EQ(call(Method::kPut, kPath + uuid, R"({"FilterCriteria":{}})").status, 202);
  put("Items", "no-more", 1);
  ASSERT_TRUE(eventually_seen(11));
  EXPECT_EQ(invoker_->seen().back(), "no-more");
}

TEST_F(MappingsTest, InParallelTheOrderOfAKeyIsKept) {
  const std::string arn = create_table("Items");
  std::map<std::string, Ids> by_id;
  for (int n = 0; n < 20; ++n) {
    for (int id = 0; id < 8; ++id) put("Items", std::to_string(id), n);
  }
  map(arn, R"(,"ParallelizationFactor":10,"BatchSize":5)");
  ASSERT_TRUE(eventually_seen(160));
  for (const std::string& event : invoker_->events()) {
    json::Document document;
    ASSERT_TRUE(document.parse(event));
    const auto list = json::array_member(document.root(), "Records");
    ASSERT_TRUE(list);
    for (const json::Element record : *list) {
      const auto change = *json::member(record, "dynamodb");
      const auto id = *json::member(*json::member(change, "Keys"), "id");
      const auto n = *json::member(*json::member(change, "NewImage"), "n");
      by_id[std::string(*json::string_member(id, "S"))].emplace_back(*json::string_member(n, "N"));
    }
  }
  EXPECT_EQ(by_id.size(), 8U);
  for (const auto& [id, numbers] : by_id) {
    ASSERT_EQ(numbers.size(), 20U) << id;
    for (int n = 0; n < 20; ++n) EXPECT_EQ(numbers[static_cast<size_t>(n)], std::to_string(n));
  }
}

TEST_F(MappingsTest, ADisabledMappingGoesOnWhereItStood) {
  const std::string arn = create_table("Items");
  const std::string uuid = map(arn);
  put("Items", "1", 1);
  ASSERT_TRUE(eventually_seen(1));
  EXPECT_EQ(text(call(Method::kPut, kPath + uuid, R"({"Enabled":false})").body, "State"),
            "Disabling");
  EXPECT_EQ(text(call(Method::kGet, kPath + uuid).body, "State"), "Disabled");
  put("Items", "2", 1);
  EXPECT_EQ(text(call(Method::kPut, kPath + uuid, R"({"Enabled":true})").body, "State"),
            "Enabling");
  ASSERT_TRUE(eventually_seen(2));
  EXPECT_EQ(invoker_->seen(), (Ids{"1", "2"}));
}

TEST_F(MappingsTest, ADeletedMappingIsGone) {
  const std::string arn = create_table("Items");
  const std::string uuid = map(arn);
  put("Items", "1", 1);
  ASSERT_TRUE(eventually_seen(1));
  const ApiAnswer answer = call(Method::kDelete, kPath + uuid);
  EXPECT_EQ(answer.status, 202);
  EXPECT_EQ(text(answer.body, "State"), "Deleting");
  const ApiAnswer again = call(Method::kDelete, kPath + uuid);
  EXPECT_EQ(again.status, 404);
  EXPECT_EQ(again.error_type, "ResourceNotFoundException");
  EXPECT_EQ(again.body,
            R"({"Type":"User","Message":"The resource you requested does not exist."})");
  close();
  open();
  EXPECT_TRUE(mappings_->list().empty());
  EXPECT_TRUE(run_blocking(database_->kept("triggers/")).empty());
}

TEST_F(MappingsTest, TheRecordsOfADeletedTableStillArrive) {
  const std::string arn = create_table("Items");
  invoker_->behave([](const Ids&) { return failed(); });
  map(arn);
  for (int i = 0; i < 5; ++i) put("Items", std::to_string(i), 1);
  must("DeleteTable", R"({"TableName":"Items"})");
  std::atomic<int> taken = 0;
  invoker_->behave([&](const Ids& ids) {
    taken += static_cast<int>(ids.size());
    return succeeded();
  });
  EXPECT_TRUE(eventually([&] { return taken == 5; }));
}

TEST_F(MappingsTest, AMappingEndsWithItsStream) {
  close();
  open(&moved_);
  const std::string arn = create_table("Items");
  const std::string uuid = map(arn);
  put("Items", "1", 1);
  ASSERT_TRUE(eventually_seen(1));
  must("DeleteTable", R"({"TableName":"Items"})");
  EXPECT_EQ(text(call(Method::kGet, kPath + uuid).body, "State"), "Enabled");
  moved_.advance_us(25LL * 3600 * 1'000'000);
  EXPECT_TRUE(eventually(
      [&] { return text(call(Method::kGet, kPath + uuid).body, "State") == "Disabled"; }));
  EXPECT_TRUE(eventually([&] {
    return text(call(Method::kGet, kPath + uuid).body, "LastProcessingResult") ==
           "PROBLEM: Stream not found";
  }));
  EXPECT_EQ(call(Method::kDelete, kPath + uuid).status, 202);
}

TEST_F(MappingsTest, TheChildrenOfAShardComeAfterIt) {
  close();
  open(&moved_);
  const std::string arn = create_table("Items");
  map(arn);
  for (int i = 0; i < 20; ++i) put("Items", "same", i);
  moved_.advance_us(5LL * 3600 * 1'000'000);
  // Shards close after four hours, when the background comes to it.
  const auto shards = [&] {
    const StreamInfo stream = run_blocking(describe_stream(*database_, arn));
    return stream.shards.size();
  };
  ASSERT_TRUE(eventually([&] { return shards() == 8; }));
  for (int i = 20; i < 40; ++i) put("Items", "same", i);
  ASSERT_TRUE(eventually_seen(40));
  EXPECT_EQ(invoker_->seen().size(), 40U);
  std::string all;
  for (const std::string& event : invoker_->events()) all += event;
  size_t at = 0;
  for (int i = 0; i < 40; ++i) {
    at = all.find(R"("NewImage":{"id":{"S":"same"},"n":{"N":")" + std::to_string(i) + "\"}", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST_F(MappingsTest, WhatTheApiShows) {
  const std::string arn = create_table("Items");
  const ApiAnswer created =
      call(Method::kPost, kPath,
           R"({"FunctionName":"arn:aws:lambda:us-east-1:123456789012:function:f:live",
               "EventSourceArn":")" +
               arn + R"(","StartingPosition":"LATEST","BatchSize":10,
               "MaximumRetryAttempts":3,"MaximumRecordAgeInSeconds":60,"Enabled":false,
               "BisectBatchOnFunctionError":true,"MaximumBatchingWindowInSeconds":2,
               "FunctionResponseTypes":["ReportBatchItemFailures"],
               "DestinationConfig":{"OnFailure":{"Destination":
                 "arn:aws:sqs:us-east-1:123456789012:failed"}}})");
  EXPECT_EQ(created.status, 202);
  const std::string uuid = text(created.body, "UUID");
  EXPECT_EQ(text(created.body, "State"), "Creating");
  EXPECT_EQ(text(created.body, "FunctionArn"),
            "arn:aws:lambda:us-east-1:123456789012:function:f:live");
  const ApiAnswer shown = call(Method::kGet, kPath + uuid);
  EXPECT_EQ(shown.status, 200);
  json::Document document;
  ASSERT_TRUE(document.parse(shown.body));
  const auto root = document.root();
  EXPECT_EQ(json::string_member(root, "State"), "Disabled");
  EXPECT_EQ(json::string_member(root, "StateTransitionReason"), "User action");
  EXPECT_EQ(json::string_member(root, "LastProcessingResult"), "No records processed");
  EXPECT_EQ(json::string_member(root, "EventSourceArn"), arn);
  EXPECT_EQ(json::string_member(root, "EventSourceMappingArn"),
            "arn:aws:lambda:us-east-1:123456789012:event-source-mapping:" + uuid);
  EXPECT_EQ(json::int_member(root, "BatchSize"), 10);
  EXPECT_EQ(json::int_member(root, "MaximumRetryAttempts"), 3);
  EXPECT_EQ(json::int_member(root, "ParallelizationFactor"), 1);
  EXPECT_EQ(json::int_member(root, "TumblingWindowInSeconds"), 0);
  EXPECT_EQ(json::bool_member(root, "BisectBatchOnFunctionError"), true);
  EXPECT_NE(shown.body.find(R"("FunctionResponseTypes":["ReportBatchItemFailures"])"),
            std::string::npos);
  EXPECT_NE(shown.body.find(
                R"({"OnFailure":{"Destination":"arn:aws:sqs:us-east-1:123456789012:failed"}})"),
            std::string::npos);
}

TEST_F(MappingsTest, ListsByFunctionAndSourceInPages) {
  const std::string first = create_table("First");
  const std::string second = create_table("Second");
  map(first);
  map(first, {}, "g");
  map(second);
  const auto count = [&](const std::string& query) {
    json::Document document;
    EXPECT_TRUE(document.parse(call(Method::kGet, kPath, {}, query).body));
    return json::array_member(document.root(), "EventSourceMappings")->size();
  };
  EXPECT_EQ(count(""), 3U);
  EXPECT_EQ(count("FunctionName=f"), 2U);
  EXPECT_EQ(count("FunctionName=arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Afunction%3Ag"), 1U);
  EXPECT_EQ(count("FunctionName=unknown"), 0U);
  std::string escaped = first;
  for (size_t at = 0; (at = escaped.find(':', at)) != std::string::npos;)
    escaped.replace(at, 1, "%3A");
  EXPECT_EQ(count("EventSourceArn=" + escaped), 2U);
  EXPECT_EQ(count("EventSourceArn=" + escaped + "&FunctionName=g"), 1U);
  const ApiAnswer page = call(Method::kGet, kPath, {}, "MaxItems=2");
  const std::string marker = text(page.body, "NextMarker");
  EXPECT_FALSE(marker.empty());
  EXPECT_EQ(count("MaxItems=2&Marker=" + marker), 1U);
}

TEST_F(MappingsTest, WhatIsRefused) {
  const std::string arn = create_table("Items");
  const std::string uuid = map(arn);
  const auto refuse = [&](const std::string& body, int status, std::string_view type,
                          const std::string& message) {
    const ApiAnswer answer = call(Method::kPost, kPath, body);
    EXPECT_EQ(answer.status, status) << body;
    EXPECT_EQ(answer.error_type, type) << body;
    EXPECT_NE(answer.body.find(message), std::string::npos) << answer.body;
  };
  const std::string start =
      R"({"FunctionName":"g","EventSourceArn":")" + arn + R"(","StartingPosition":"LATEST")";
  const std::string_view invalid = "InvalidParameterValueException";
  refuse(R"({"FunctionName":"f","EventSourceArn":")" + arn + R"(","StartingPosition":"LATEST"})",
         409, "ResourceConflictException",
         "provided mapping already exists. Please update or "
         "delete the existing mapping with UUID " +
             uuid);
  refuse(R"({"FunctionName":"g"})", 400, invalid,
         R"({"Type":"User","message":"Unrecognized event source."})");
  refuse(R"({"FunctionName":"g","EventSourceArn":")" + arn + "\"}", 400, invalid,
         "Value null at 'startingPosition'");
  refuse(R"({"FunctionName":"g","EventSourceArn":")" + arn + R"(","StartingPosition":"NOW"})", 400,
         "ValidationException",
         "Value 'NOW' at 'startingPosition' failed to satisfy constraint: Member must satisfy enum "
         "value set: [LATEST, AT_TIMESTAMP, TRIM_HORIZON]");
  refuse(
      R"({"FunctionName":"g","EventSourceArn":")" + arn + R"(","StartingPosition":"AT_TIMESTAMP"})",
      400, invalid, "Unsupported starting position for arn type: " + arn);
  refuse(
      R"({"FunctionName":"unknown","EventSourceArn":")" + arn + R"(","StartingPosition":"LATEST"})",
      400, invalid, "Function does not exist");
  refuse(
      R"({"FunctionName":"g","EventSourceArn":"arn:aws:dynamodb:us-east-1:123456789012:table/X/stream/2020-01-01T00:00:00.000","StartingPosition":"LATEST"})",
      400, invalid, "Stream not found: arn:aws:dynamodb:us-east-1:123456789012:table/X/stream/");
  refuse(start + R"(,"BatchSize":0})", 400, "ValidationException",
         "Value '0' at 'batchSize' failed to satisfy constraint: Member must have value greater "
         "than or equal to 1");
  refuse(start + R"(,"BatchSize":10001})", 400, "ValidationException",
         "less than or equal to 10000");
  refuse(start + R"(,"ParallelizationFactor":11})", 400, "ValidationException",
         "'parallelizationFactor'");
  refuse(start + R"(,"MaximumRecordAgeInSeconds":59})", 400, invalid, "MaximumRecordAgeInSeconds");
  refuse(start + R"(,"MaximumRetryAttempts":-2})", 400, "ValidationException",
         "'maximumRetryAttempts'");
  refuse(start + R"(,"TumblingWindowInSeconds":10})", 400, invalid, "TumblingWindowInSeconds");
  refuse(start + R"(,"FilterCriteria":{"Filters":[{"Pattern":"no"}]}})", 400, invalid,
         R"("message":"Invalid filter pattern definition.")");
  refuse(
      start +
          R"(,"DestinationConfig":{"OnFailure":{"Destination":"arn:aws:sqs:us-east-1:123456789012:other"}}})",
      400, invalid, "has no address");
  refuse(start + R"(,"FunctionResponseTypes":["X"]})", 400, "ValidationException",
         "ReportBatchItemFailures");
  refuse(start + R"(,"BatchSize":"many"})", 400, "SerializationException", "BatchSize");
  refuse("not JSON", 400, "InvalidRequestContentException", "Could not parse request body");
  EXPECT_EQ(call(Method::kPut, std::string(kPath) + "nothing", "{}").status, 404);
  EXPECT_EQ(call(Method::kGet, std::string(kPath) + "nothing").status, 404);
  EXPECT_EQ(call(Method::kPut, kPath + uuid, R"({"BatchSize":0})").error_type,
            "ValidationException");
  EXPECT_EQ(call(Method::kPut, kPath + uuid, R"({"FunctionName":"unknown"})").error_type, invalid);
}

}  // namespace
}  // namespace stator::triggers
