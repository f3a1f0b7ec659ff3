// A lane under a clock that the test moves: batches, retries, splitting, giving up.
#include "triggers/lane.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "triggers_testing.h"

namespace stator::triggers {
namespace {

using Ids = std::vector<std::string>;
constexpr int64_t kNow_s = 1'800'000'000;

class LaneTest : public ::testing::Test {
 protected:
  LaneTest() {
    mapping().uuid = "u";
    mapping().function = {"f", ""};
    mapping().event_source_arn = "arn:stream";
  }

  Mapping& mapping() { return site_.mapping; }
  Lane& lane() {
    if (!lane_) lane_ = std::make_unique<Lane>(site_, "shard-1");
    return *lane_;
  }
  RecordPtr record(const std::string& id, int64_t age_s = 0, size_t bytes = 0) {
    auto made = std::make_shared<Record>();
    made->sequence_number = "s" + id;
    made->created_s = clock_.now_s() - age_s;
    made->text = R"({"dynamodb":{"Keys":{"id":{"S":")" + id + "\"}},\"x\":\"" +
                 std::string(bytes, 'x') + "\"}}";
    return made;
  }
  void add(const Ids& ids) {
    for (const std::string& id : ids) lane().add(record(id));
  }
  // Steps until the lane is due no more.
  void settle() {
    for (int i = 0; i < 1000 && lane().due_ms() <= clock_.now_ms(); ++i) lane().step();
  }
  void advance_ms(int64_t by) { clock_.advance_us(by * 1000); }
  std::vector<Ids> calls() const {
    std::vector<Ids> all;
    for (const auto& call : invoker_.calls()) all.push_back(call.ids);
    return all;
  }
  json::Document told(size_t i) {
    json::Document document;
    EXPECT_TRUE(document.parse(invoker_.told().at(i)));
    return document;
  }
  void fail_on(const std::string& poison) {
    invoker_.behave([poison](const Ids& ids) {
      return std::find(ids.begin(), ids.end(), poison) != ids.end() ? failed() : succeeded();
    });
  }

  ManualClock clock_{kNow_s * 1'000'000};
  FakeInvoker invoker_;
  RandomIds ids_{1};
  Ids done_;
  std::string result_;
  Counts counts_;
  LaneSite site_{.mapping = {},
                 .function_arn = "arn:f",
                 .backoff = {.first_ms = 1000, .most_ms = 8000},
                 .invoker = invoker_,
                 .clock = clock_,
                 .ids = ids_,
                 .done =
                     [this](const std::vector<RecordPtr>& records) {
                       for (const auto& one : records)
                         done_.push_back(one->sequence_number.substr(1));
                     },
                 .result = [this](std::string_view result) { result_ = result; },
                 .count = [this](const auto& change) { change(counts_); }};
  std::unique_ptr<Lane> lane_;
};

TEST_F(LaneTest, DeliversInBatchesInOrder) {
  mapping().batch_size = 2;
  EXPECT_EQ(lane().due_ms(), kNever);
  add({"1", "2", "3"});
  settle();
  EXPECT_EQ(calls(), (std::vector<Ids>{{"1", "2"}, {"3"}}));
  EXPECT_EQ(done_, (Ids{"1", "2", "3"}));
  EXPECT_EQ(result_, "OK");
  EXPECT_TRUE(lane().empty());
  EXPECT_EQ(counts_.invocations, 2U);
  EXPECT_EQ(counts_.delivered, 3U);
}

TEST_F(LaneTest, GathersForTheBatchingWindow) {
  mapping().batch_size = 3;
  mapping().batching_window_s = 5;
  add({"1"});
  advance_ms(4999);
  add({"2"});
  settle();
  EXPECT_TRUE(calls().empty());
  EXPECT_EQ(lane().due_ms(), clock_.now_ms() + 1);
  advance_ms(1);
  settle();
  EXPECT_EQ(calls(), (std::vector<Ids>{{"1", "2"}}));
  // A full batch goes at once, and so does the last one of a shard.
  add({"3", "4", "5", "6"});
  settle();
  EXPECT_EQ(calls().size(), 2U);
  lane().end();
  settle();
  EXPECT_EQ(calls().back(), (Ids{"6"}));
}

TEST_F(LaneTest, AnEventIsAtMostSixMegabytes) {
  mapping().batching_window_s = 100;
  const size_t third = kMaxEventBytes / 3;
  for (const auto* id : {"1", "2", "3", "4"}) lane().add(record(id, 0, third));
  settle();
  EXPECT_EQ(calls(), (std::vector<Ids>{{"1", "2"}}));
  for (const std::string& event : invoker_.events()) EXPECT_LE(event.size(), kMaxEventBytes);
  advance_ms(100'000);
  settle();
  EXPECT_EQ(calls().back(), (Ids{"3", "4"}));
}

TEST_F(LaneTest, AFailedBatchIsTriedAgainWithLongerAndLongerWaits) {
  invoker_.behave([](const Ids&) { return failed(); });
  add({"1", "2"});
  settle();
  EXPECT_EQ(result_, "PROBLEM: Function call failed");
  for (const int64_t wait_ms : {1000, 2000, 4000, 8000, 8000, 8000}) {
    EXPECT_EQ(lane().due_ms(), clock_.now_ms() + wait_ms);
    const size_t before = calls().size();
    advance_ms(wait_ms);
    add({"later"});
    settle();
    EXPECT_EQ(calls().size(), before + 1);
    EXPECT_EQ(calls().back(), (Ids{"1", "2"}));
  }
  EXPECT_TRUE(done_.empty());
  invoker_.behave([](const Ids&) { return succeeded(); });
  advance_ms(8000);
  settle();
  EXPECT_EQ((Ids{done_[0], done_[1], done_[2]}), (Ids{"1", "2", "later"}));
  EXPECT_EQ(result_, "OK");
}

TEST_F(LaneTest, GivesUpAfterTheRetriesAndGoesOn) {
  mapping().batch_size = 2;
  mapping().max_retry_attempts = 2;
  mapping().on_failure = "arn:aws:sqs:us-east-1:123456789012:failed";
  fail_on("1");
  add({"1", "2", "3"});
  for (int i = 0; i < 3; ++i) {
    settle();
    advance_ms(8000);
  }
  EXPECT_EQ(calls(), (std::vector<Ids>{{"1", "2"}, {"1", "2"}, {"1", "2"}, {"3"}}));
  EXPECT_EQ(done_, (Ids{"1", "2", "3"}));
  EXPECT_EQ(counts_.discarded, 2U);
  ASSERT_EQ(invoker_.told().size(), 1U);
  const json::Document record = told(0);
  const auto request = *json::member(record.root(), "requestContext");
  EXPECT_EQ(json::string_member(request, "condition"), "RetryAttemptsExhausted");
  EXPECT_EQ(json::string_member(request, "functionArn"), "arn:f");
  EXPECT_EQ(json::int_member(request, "approximateInvokeCount"), 3);
  const auto response = *json::member(record.root(), "responseContext");
  EXPECT_EQ(json::int_member(response, "statusCode"), 200);
  EXPECT_EQ(json::string_member(response, "executedVersion"), "$LATEST");
  EXPECT_EQ(json::string_member(response, "functionError"), "Unhandled");
  EXPECT_EQ(json::string_member(record.root(), "version"), "1.0");
  const auto batch = *json::member(record.root(), "DDBStreamBatchInfo");
  EXPECT_EQ(json::string_member(batch, "shardId"), "shard-1");
  EXPECT_EQ(json::string_member(batch, "startSequenceNumber"), "s1");
  EXPECT_EQ(json::string_member(batch, "endSequenceNumber"), "s2");
  EXPECT_EQ(json::int_member(batch, "batchSize"), 2);
  EXPECT_EQ(json::string_member(batch, "streamArn"), "arn:stream");
  EXPECT_EQ(json::string_member(batch, "approximateArrivalOfFirstRecord"), "2027-01-15T08:00:00Z");
}

TEST_F(LaneTest, AFunctionThatCannotBeReachedUsesUpNoRetries) {
  mapping().max_retry_attempts = 0;
  invoker_.behave([](const Ids&) { return not_reached(); });
  add({"1"});
  for (int i = 0; i < 5; ++i) {
    settle();
    advance_ms(8000);
  }
  EXPECT_TRUE(done_.empty());
  invoker_.behave([](const Ids&) { return succeeded(); });
  settle();
  EXPECT_EQ(done_, (Ids{"1"}));
  EXPECT_EQ(counts_.discarded, 0U);
}

TEST_F(LaneTest, BisectingIsolatesAPoisonedRecord) {
  mapping().batch_size = 8;
  mapping().bisect_on_error = true;
  mapping().max_retry_attempts = 1;
  mapping().on_failure = "arn:aws:sqs:us-east-1:123456789012:failed";
  fail_on("6");
  add({"1", "2", "3", "4", "5", "6", "7", "8", "9"});
  for (int i = 0; i < 3; ++i) {
    settle();
    advance_ms(8000);
  }
  EXPECT_EQ(done_, (Ids{"1", "2", "3", "4", "5", "6", "7", "8", "9"}));
  EXPECT_EQ(calls(), (std::vector<Ids>{{"1", "2", "3", "4", "5", "6", "7", "8"},
                                       {"1", "2", "3", "4"},
                                       {"5", "6", "7", "8"},
                                       {"5", "6"},
                                       {"5"},
                                       {"6"},
                                       {"6"},
                                       {"7", "8"},
                                       {"9"}}));
  ASSERT_EQ(invoker_.told().size(), 1U);
  const json::Document record = told(0);
  const auto batch = *json::member(record.root(), "DDBStreamBatchInfo");
  EXPECT_EQ(json::string_member(batch, "startSequenceNumber"), "s6");
  EXPECT_EQ(json::int_member(batch, "batchSize"), 1);
}

TEST_F(LaneTest, ReportedFailuresAreTriedAgainFromTheFirstOn) {
  mapping().reports_item_failures = true;
  mapping().max_retry_attempts = 3;
  int call = 0;
  invoker_.behave([&](const Ids&) {
    return ++call == 1 ? succeeded(R"({"batchItemFailures":[{"itemIdentifier":"s4"},
                                       {"itemIdentifier":"s3"}]})")
                       : succeeded(R"({"batchItemFailures":[]})");
  });
  add({"1", "2", "3", "4"});
  settle();
  EXPECT_EQ(done_, (Ids{"1", "2"}));
  EXPECT_EQ(result_, "PROBLEM: Function call failed");
  advance_ms(1000);
  settle();
  EXPECT_EQ(calls().back(), (Ids{"3", "4"}));
  EXPECT_EQ(done_, (Ids{"1", "2", "3", "4"}));
}

TEST_F(LaneTest, AReportThatNamesTheFirstRecordUsesUpRetries) {
  mapping().reports_item_failures = true;
  mapping().max_retry_attempts = 1;
  mapping().on_failure = "arn:aws:sqs:us-east-1:123456789012:failed";
  invoker_.behave(
      [](const Ids&) { return succeeded(R"({"batchItemFailures":[{"itemIdentifier":"s1"}]})"); });
  add({"1", "2"});
  settle();
  advance_ms(1000);
  settle();
  EXPECT_EQ(calls().size(), 2U);
  ASSERT_EQ(invoker_.told().size(), 1U);
  const json::Document record = told(0);
  const auto response = *json::member(record.root(), "responseContext");
  EXPECT_FALSE(json::member(response, "functionError"));  // null: the function itself did not fail
}

TEST_F(LaneTest, WhatAFunctionMayAnswer) {
  const std::vector<RecordPtr> records = {record("1"), record("2")};
  for (const auto* success : {"", "null", "{}", "[]", "\"\"", R"({"batchItemFailures":null})",
                              R"({"batchItemFailures":[]})", R"({"other":1})"}) {
    EXPECT_EQ(first_failed(success, records), 2U) << success;
  }
  for (const auto* failure : {R"({"batchItemFailures":[{"itemIdentifier":""}]})",
                              R"({"batchItemFailures":[{"itemIdentifier":null}]})",
                              R"({"batchItemFailures":[{"foo":"s1"}]})",
                              R"({"batchItemFailures":[{}]})", R"({"batchItemFailures":"s2"})",
                              R"({"batchItemFailures":[{"itemIdentifier":"s2"},
                                                       {"itemIdentifier":"unknown"}]})"}) {
    EXPECT_EQ(first_failed(failure, records), 0U) << failure;
  }
  EXPECT_EQ(first_failed(R"({"batchItemFailures":[{"itemIdentifier":"s2"}]})", records), 1U);
}

TEST_F(LaneTest, RecordsThatAreTooOldAreGivenUp) {
  mapping().max_record_age_s = 60;
  mapping().on_failure = "arn:aws:sqs:us-east-1:123456789012:failed";
  lane().add(record("1", 100));
  lane().add(record("2", 61));
  lane().add(record("3", 60));
  settle();
  EXPECT_EQ(calls(), (std::vector<Ids>{{"3"}}));
  EXPECT_EQ(done_, (Ids{"1", "2", "3"}));
  ASSERT_EQ(invoker_.told().size(), 1U);
  const json::Document record = told(0);
  const auto request = *json::member(record.root(), "requestContext");
  EXPECT_EQ(json::string_member(request, "condition"), "RecordAgeExceeded");
  EXPECT_EQ(json::int_member(request, "approximateInvokeCount"), 0);
  EXPECT_FALSE(json::member(record.root(), "responseContext"));
}

TEST_F(LaneTest, WithoutLimitsARecordIsTriedAsLongAsTheStreamKeepsIt) {
  invoker_.behave([](const Ids&) { return failed(); });
  add({"1"});
  settle();
  advance_ms(24LL * 60 * 60 * 1000);
  settle();
  EXPECT_TRUE(done_.empty());
  advance_ms(8000);
  settle();
  EXPECT_EQ(done_, (Ids{"1"}));
}

TEST_F(LaneTest, ADestinationThatDoesNotAnswerIsTriedAFewTimes) {
  mapping().max_retry_attempts = 0;
  mapping().on_failure = "arn:aws:sqs:us-east-1:123456789012:failed";
  invoker_.set_destination_down(true);
  fail_on("1");
  add({"1"});
  settle();
  EXPECT_TRUE(done_.empty());
  for (int i = 0; i < 4; ++i) {
    advance_ms(8000);
    settle();
  }
  EXPECT_EQ(invoker_.tells(), 5);
  EXPECT_EQ(done_, (Ids{"1"}));
}

}  // namespace
}  // namespace stator::triggers
