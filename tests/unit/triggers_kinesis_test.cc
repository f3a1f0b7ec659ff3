#include "triggers/kinesis.h"

#include <gtest/gtest.h>

namespace stator::triggers {
namespace {

json::Document parse(std::string text) {
  json::Document document;
  EXPECT_TRUE(document.parse(std::move(text)));
  return document;
}

constexpr const char* kRecord =
    R"({"eventID":"0123456789abcdef0123456789abcdef","eventName":"MODIFY","eventVersion":"1.1",
        "eventSource":"aws:dynamodb","awsRegion":"us-east-1","dynamodb":{
        "ApproximateCreationDateTimeMicros":1800000000123456,
        "ApproximateCreationDateTime":1800000000,"Keys":{"pk":{"S":"a"}},
        "NewImage":{"pk":{"S":"a"},"n":{"N":"2"}},"OldImage":{"pk":{"S":"a"}},
        "SequenceNumber":"100","SizeBytes":12,"StreamViewType":"NEW_AND_OLD_IMAGES"},
        "eventSourceARN":"arn:aws:dynamodb:us-east-1:123456789012:table/Orders/stream/hidden-1"})";

TEST(Kinesis, ARecordIsWhatDynamoDbSends) {
  const json::Document document = parse(kRecord);
  const KinesisRecord record = make_kinesis_record(document.root(), "MILLISECOND");
  EXPECT_EQ(
      record.data,
      R"({"awsRegion":"us-east-1","eventID":"01234567-89ab-cdef-0123-456789abcdef",)"
      R"("eventName":"MODIFY","userIdentity":null,"recordFormat":"application/json",)"
      R"("tableName":"Orders","dynamodb":{"ApproximateCreationDateTime":1800000000123,)"
      R"("Keys":{"pk":{"S":"a"}},"NewImage":{"pk":{"S":"a"},"n":{"N":"2"}},)"
      R"("OldImage":{"pk":{"S":"a"}},"SizeBytes":12,)"
      R"("ApproximateCreationDateTimePrecision":"MILLISECOND"},"eventSource":"aws:dynamodb"})");
  EXPECT_EQ(record.sequence_number, "100");
  EXPECT_EQ(record.partition_key.size(), 32U);
}

TEST(Kinesis, MicrosecondsAndWhoDeleted) {
  std::string text = kRecord;
  text.insert(text.rfind('}'),
              R"(,"userIdentity":{"principalId":"dynamodb.amazonaws.com","type":"Service"})");
  const json::Document document = parse(text);
  const KinesisRecord record = make_kinesis_record(document.root(), "MICROSECOND");
  EXPECT_NE(record.data.find(R"("ApproximateCreationDateTime":1800000000123456,)"),
            std::string::npos);
  EXPECT_NE(record.data.find(R"("ApproximateCreationDateTimePrecision":"MICROSECOND")"),
            std::string::npos);
  EXPECT_NE(record.data.find(
                R"("userIdentity":{"principalId":"dynamodb.amazonaws.com","type":"Service"})"),
            std::string::npos);
}

TEST(Kinesis, TheChangesOfAnItemHaveOnePartitionKey) {
  std::string other = kRecord;
  other.replace(other.find("MODIFY"), 6, "REMOVE");
  std::string another = kRecord;
  another.replace(another.find(R"("Keys":{"pk":{"S":"a")"), 21, R"("Keys":{"pk":{"S":"b")");
  const json::Document first = parse(kRecord);
  const json::Document same = parse(other);
  const json::Document different = parse(another);
  const auto key = [](const json::Document& document) {
    return make_kinesis_record(document.root(), "MILLISECOND").partition_key;
  };
  EXPECT_EQ(key(first), key(same));
  EXPECT_NE(key(first), key(different));
}

}  // namespace
}  // namespace stator::triggers
