#include "moving/typed_json.h"

#include <gtest/gtest.h>

namespace stator::moving {
namespace {

TEST(TypedJson, PlainValuesGetTheirTypesAndNumbersKeepTheirDigits) {
  EXPECT_EQ(
      typed_item(
          R"({"s":"a\"é","n":123456789012345678901234567890.12345678,"i": -5 ,"t":true,"z":null,"l":[1,"x",[]],"m":{"k":{}}})"),
      R"({"s":{"S":"a\"é"},"n":{"N":"123456789012345678901234567890.12345678"},"i":{"N":"-5"},)"
      R"("t":{"BOOL":true},"z":{"NULL":true},"l":{"L":[{"N":"1"},{"S":"x"},{"L":[]}]},)"
      R"("m":{"M":{"k":{"M":{}}}}})");
}

TEST(TypedJson, WhatIsNoObjectIsRefused) {
  EXPECT_THROW(typed_item("[1]"), std::runtime_error);
  EXPECT_THROW(typed_item("{\"a\":1} x"), std::runtime_error);
  EXPECT_THROW(typed_item("{\"a\":"), std::runtime_error);
  EXPECT_THROW(typed_item(""), std::runtime_error);
}

TEST(TypedJson, ItemsWithTypesAreRecognized) {
  const auto typed = [](const char* text) {
    json::Document document;
    EXPECT_TRUE(document.parse(text));
    return is_typed_item(document.root());
  };
  EXPECT_TRUE(typed(R"({"a":{"S":"x"},"b":{"M":{}}})"));
  EXPECT_FALSE(typed(R"({"a":{"S":"x"},"b":1})"));
  EXPECT_FALSE(typed(R"({"a":{"X":"x"}})"));
  EXPECT_FALSE(typed(R"({"a":{"S":"x","N":"1"}})"));
  EXPECT_FALSE(typed("{}"));
}

TEST(TypedJson, ADescriptionBecomesARequest) {
  json::Document document;
  ASSERT_TRUE(document.parse(
      R"({"TableName":"T","AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],)"
      R"("KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],)"
      R"("ProvisionedThroughput":{"ReadCapacityUnits":3,"WriteCapacityUnits":4,"NumberOfDecreasesToday":0},)"
      R"("GlobalSecondaryIndexes":[{"IndexName":"I","IndexStatus":"ACTIVE","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],)"
      R"("Projection":{"ProjectionType":"ALL"},"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":2}}]})"));
  EXPECT_EQ(
      create_request_of(document.root()),
      R"({"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"S"}],)"
      R"("KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"BillingMode":"PROVISIONED",)"
      R"("ProvisionedThroughput":{"ReadCapacityUnits":3,"WriteCapacityUnits":4},)"
      R"("GlobalSecondaryIndexes":[{"IndexName":"I","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],)"
      R"("Projection":{"ProjectionType":"ALL"},"ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":2}}]})");
}

}  // namespace
}  // namespace stator::moving
