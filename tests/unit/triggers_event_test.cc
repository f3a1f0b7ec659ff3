#include "triggers/event.h"

#include <gtest/gtest.h>

#include "triggers/mapping.h"

namespace stator::triggers {
namespace {

TEST(Event, ARecordIsWhatLambdaShows) {
  json::Document document;
  ASSERT_TRUE(document.parse(
      R"({"eventID":"e","eventName":"REMOVE","eventVersion":"1.1","eventSource":"aws:dynamodb",
          "awsRegion":"us-east-1","dynamodb":{"ApproximateCreationDateTime":1.8E9,
          "Keys":{"pk":{"S":"a\"\u00e9"},"sk":{"N":"1"}},"OldImage":{"pk":{"S":"a\"\u00e9"}},
          "SequenceNumber":"100","SizeBytes":12,"StreamViewType":"OLD_IMAGE"},
          "userIdentity":{"PrincipalId":"dynamodb.amazonaws.com","Type":"Service"}})"));
  const std::vector<std::string> key = {"pk"};
  const Record record = make_record(document.root(), "arn:s", key);
  EXPECT_EQ(
      record.text,
      R"({"eventID":"e","eventName":"REMOVE","eventVersion":"1.1","eventSource":"aws:dynamodb",)"
      R"("awsRegion":"us-east-1","dynamodb":{"ApproximateCreationDateTime":1800000000,)"
      R"("Keys":{"pk":{"S":"a\"é"},"sk":{"N":"1"}},"OldImage":{"pk":{"S":"a\"é"}},)"
      R"("SequenceNumber":"100","SizeBytes":12,"StreamViewType":"OLD_IMAGE"},)"
      R"("userIdentity":{"principalId":"dynamodb.amazonaws.com","type":"Service"},)"
      R"("eventSourceARN":"arn:s"})");
  EXPECT_EQ(record.sequence_number, "100");
  EXPECT_EQ(record.created_s, 1'800'000'000);
  EXPECT_EQ(record.partition, R"({"S":"a\"é"})");
}

TEST(Event, Times) {
  EXPECT_EQ(iso_seconds(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(iso_milliseconds(1'657'720'081'007), "2022-07-13T13:48:01.007Z");
}

TEST(FunctionNames, InAllForms) {
  const auto parse = [](std::string_view text) {
    return parse_function_name(text, "us-east-1", "123456789012");
  };
  const FunctionName plain{"my-f", ""};
  EXPECT_EQ(parse("my-f"), plain);
  EXPECT_EQ(parse("function:my-f"), plain);
  EXPECT_EQ(parse("123456789012:function:my-f"), plain);
  EXPECT_EQ(parse("arn:aws:lambda:us-east-1:123456789012:function:my-f"), plain);
  EXPECT_EQ(parse("my-f:live"), (FunctionName{"my-f", "live"}));
  EXPECT_EQ(parse("my-f:$LATEST"), (FunctionName{"my-f", "$LATEST"}));
  EXPECT_EQ(parse("arn:aws:lambda:us-east-1:123456789012:function:my-f:7"),
            (FunctionName{"my-f", "7"}));
  for (const auto* wrong :
       {"", "a b", "my-f:", "a:b:c", "arn:aws:lambda:us-east-1:123456789012:layer:x",
        "arn:aws:lambda:eu-west-1:123456789012:function:my-f",
        "arn:aws:lambda:us-east-1:999999999999:function:my-f", "arn:aws:sqs:us-east-1:1:q"}) {
    EXPECT_FALSE(parse(wrong)) << wrong;
  }
  EXPECT_EQ(function_arn({"f", "live"}, "r", "1"), "arn:aws:lambda:r:1:function:f:live");
}

TEST(Mapping, SurvivesItsCodec) {
  Mapping mapping;
  mapping.uuid = "u";
  mapping.function = {"f", "live"};
  mapping.event_source_arn = "arn";
  mapping.starting_position = "LATEST";
  mapping.enabled = false;
  mapping.batch_size = 7;
  mapping.batching_window_s = 8;
  mapping.parallelization_factor = 9;
  mapping.max_retry_attempts = 10;
  mapping.max_record_age_s = 60;
  mapping.bisect_on_error = true;
  mapping.reports_item_failures = true;
  mapping.on_failure = "arn:d";
  mapping.filters = {R"({"a":["x"]})"};
  mapping.modified_ms = 1234;
  const Mapping read = decode_mapping(encode_mapping(mapping));
  EXPECT_EQ(encode_mapping(read), encode_mapping(mapping));
  EXPECT_EQ(read.patterns().size(), 1U);
  EXPECT_EQ(read.parallelization_factor, 9);
}

}  // namespace
}  // namespace stator::triggers
