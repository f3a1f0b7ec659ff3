#include "ops/shape.h"

#include <gtest/gtest.h>

#include "model/error.h"

namespace stator::ops {
namespace {

const Shape& shape_of(std::string_view operation) {
  for (const auto& known : data_operation_shapes()) {
    if (known.operation == operation) return *known.input;
  }
  throw std::runtime_error("no such operation");
}

class Body {
 public:
  explicit Body(std::string text) {
    if (!document_.parse(std::move(text))) throw std::runtime_error("not JSON");
  }
  json::Element root() const { return document_.root(); }

 private:
  json::Document document_;
};

// The message of the SerializationException, or "" if the types are fine.
std::string type_error(std::string_view operation, std::string text) {
  const Body body(std::move(text));
  try {
    check_types(body.root(), shape_of(operation));
  } catch (const ApiError& error) {
    EXPECT_EQ(error.type(), "SerializationException");
    return error.message();
  }
  return "";
}

std::vector<std::string> violations(std::string_view operation, std::string text,
                                    std::span<const std::string_view> skip = {}) {
  const Body body(std::move(text));
  std::vector<std::string> texts;
  for (const auto& violation : find_violations(body.root(), shape_of(operation), skip)) {
    texts.push_back(violation.text);
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(CheckTypes, Strings) {
  const auto table_name = [](const std::string& value) {
    return type_error("GetItem", R"({"TableName":)" + value + "}");
  };
  EXPECT_EQ(table_name("\"a\""), "");
  EXPECT_EQ(table_name("null"), "");
  EXPECT_EQ(table_name("true"), "TRUE_VALUE cannot be converted to String");
  EXPECT_EQ(table_name("false"), "FALSE_VALUE cannot be converted to String");
  EXPECT_EQ(table_name("23"), "NUMBER_VALUE cannot be converted to String");
  EXPECT_EQ(table_name("-2.5"), "DECIMAL_VALUE cannot be converted to String");
  EXPECT_EQ(table_name("[]"), "Unrecognized collection type class java.lang.String");
  EXPECT_EQ(table_name("{}"), "Start of structure or map found where not expected");
}

TEST(CheckTypes, Booleans) {
  const auto consistent = [](const std::string& value) {
    return type_error("GetItem", R"({"ConsistentRead":)" + value + "}");
  };
  EXPECT_EQ(consistent("true"), "");
  EXPECT_EQ(consistent("\"YES\""), "");
  EXPECT_EQ(consistent("\"0\""), "");
  EXPECT_EQ(consistent("\"maybe\""), "Unexpected token received from parser");
  EXPECT_EQ(consistent("1"), "NUMBER_VALUE cannot be converted to Boolean");
  EXPECT_EQ(consistent("1.5"), "DECIMAL_VALUE cannot be converted to Boolean");
  EXPECT_EQ(consistent("[]"), "Unrecognized collection type class java.lang.Boolean");
  EXPECT_EQ(consistent("{}"), "Start of structure or map found where not expected");
}

TEST(CheckTypes, Numbers) {
  const auto limit = [](const std::string& value) {
    return type_error("Query", R"({"Limit":)" + value + "}");
  };
  EXPECT_EQ(limit("1"), "");
  EXPECT_EQ(limit("1.9"), "");
  EXPECT_EQ(limit("true"), "TRUE_VALUE cannot be converted to Integer");
  EXPECT_EQ(limit("\"1\""), "STRING_VALUE cannot be converted to Integer");
  EXPECT_EQ(limit("[]"), "Unrecognized collection type class java.lang.Integer");
  EXPECT_EQ(limit("{}"), "Start of structure or map found where not expected");
  EXPECT_EQ(type_error("CreateTable", R"({"ProvisionedThroughput":{"ReadCapacityUnits":"1"}})"),
            "STRING_VALUE cannot be converted to Long");
}

TEST(CheckTypes, Blobs) {
  const auto binary = [](const std::string& value) {
    return type_error("PutItem", R"({"Item":{"a":{"B":)" + value + "}}}");
  };
  EXPECT_EQ(binary("\"\""), "");
  EXPECT_EQ(binary("\"abcd\""), "");
  EXPECT_EQ(binary("\"AAA=\""), "");
  EXPECT_EQ(binary("\"AA==\""), "");
  EXPECT_EQ(binary("\"abc\""),
            "Base64 encoded length is expected a multiple of 4 bytes but found: 3");
  EXPECT_EQ(binary("\"AB==\""), "Invalid last non-pad Base64 character dectected");
  EXPECT_EQ(binary("\"A===\""), "Invalid last non-pad Base64 character dectected");
  EXPECT_EQ(binary("\"ab$d\""), "Invalid last non-pad Base64 character dectected");
  EXPECT_EQ(binary("1"), "only base-64-encoded strings are convertible to bytes");
  EXPECT_EQ(binary("true"), "only base-64-encoded strings are convertible to bytes");
  EXPECT_EQ(binary("[]"), "Unrecognized collection type class java.nio.ByteBuffer");
  EXPECT_EQ(binary("{}"), "Start of structure or map found where not expected");
}

TEST(CheckTypes, Collections) {
  EXPECT_EQ(type_error("GetItem", R"({"AttributesToGet":"a"})"), "Unexpected field type");
  EXPECT_EQ(type_error("GetItem", R"({"AttributesToGet":{}})"),
            "Start of structure or map found where not expected");
  EXPECT_EQ(type_error("GetItem", R"({"Key":1})"), "Unexpected field type");
  EXPECT_EQ(type_error("GetItem", R"({"Key":[]})"),
            "Unrecognized collection type java.util.Map<java.lang.String, "
            "com.amazonaws.dynamodb.v20120810.AttributeValue>");
  EXPECT_EQ(type_error("GetItem", R"({"ExpressionAttributeNames":[]})"),
            "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>");
  EXPECT_EQ(type_error("BatchWriteItem", R"({"RequestItems":[]})"),
            "Unrecognized collection type java.util.Map<java.lang.String, "
            "java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>>");
}

TEST(CheckTypes, StructuresByTheirPlace) {
  EXPECT_EQ(type_error("PutItem", R"({"Item":{"a":"x"}})"), "Unexpected value type in payload");
  EXPECT_EQ(type_error("PutItem", R"({"Item":{"a":[]}})"),
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue");
  EXPECT_EQ(type_error("PutItem", R"({"Item":{"a":{"L":["x"]}}})"),
            "Unexpected value type in payload");
  EXPECT_EQ(type_error("PutItem", R"({"Item":{"a":{"L":[null]}}})"), "");
  EXPECT_EQ(type_error("CreateTable", R"({"ProvisionedThroughput":"x"})"), "Unexpected field type");
  EXPECT_EQ(type_error("CreateTable", R"({"KeySchema":["x"]})"),
            "Unexpected value type in payload");
}

TEST(CheckTypes, GenericTypesInsideGenericTypes) {
  const std::string cast =
      "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
      "java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and "
      "java.lang.Class are in module java.base of loader 'bootstrap')";
  EXPECT_EQ(type_error("BatchGetItem", R"({"RequestItems":{"t":{"Keys":["x"]}}})"), cast);
  EXPECT_EQ(type_error("BatchWriteItem", R"({"RequestItems":{"t":1}})"), cast);
  EXPECT_EQ(type_error("BatchWriteItem", R"({"RequestItems":{"t":{}}})"),
            "Start of structure or map found where not expected");
}

TEST(CheckTypes, UnknownMembersAreIgnoredAndNestingIsNoProblem) {
  EXPECT_EQ(type_error("GetItem", R"({"Whatever":[1,{"a":null}]})"), "");
  std::string deep = R"({"S":1})";
  for (int i = 0; i < 200; ++i) deep = R"({"L":[)" + deep + "]}";
  EXPECT_EQ(type_error("PutItem", R"({"Item":{"a":)" + deep + "}}"),
            "NUMBER_VALUE cannot be converted to String");
}

TEST(FindViolations, NothingWrong) {
  EXPECT_TRUE(violations("GetItem", R"({"TableName":"ab","Key":{"a":{"S":""}}})").empty());
  EXPECT_TRUE(
      violations("GetItem",
                 R"({"TableName":"arn:aws:dynamodb:us-east-1:000000000000:table/ab","Key":{}})")
          .empty());
}

TEST(FindViolations, MissingMembersInTheServicesOrder) {
  EXPECT_EQ(
      violations("GetItem", R"({"ReturnConsumedCapacity":"X","AttributesToGet":[]})"),
      (Texts{
          "Value 'X' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy "
          "enum value set: [INDEXES, TOTAL, NONE]",
          "Value '[]' at 'attributesToGet' failed to satisfy constraint: Member must have length "
          "greater than or equal to 1",
          "Value null at 'tableName' failed to satisfy constraint: Member must not be null",
          "Value null at 'key' failed to satisfy constraint: Member must not be null"}));
  const std::array<std::string_view, 2> skip = {"TableName", "Key"};
  EXPECT_TRUE(violations("GetItem", "{}", skip).empty());
}

TEST(FindViolations, TableNames) {
  const auto of = [](const std::string& name) {
    return violations("DescribeTable", R"({"TableName":")" + name + "\"}");
  };
  EXPECT_EQ(of(""),
            Texts{"Value '' at 'tableName' failed to satisfy constraint: Member must have length "
                  "greater than or equal to 1"});
  EXPECT_EQ(of("a b"),
            Texts{"Value 'a b' at 'tableName' failed to satisfy constraint: Member must satisfy "
                  "regular expression pattern: [a-zA-Z0-9_.-]+"});
  const std::string longest(255, 'a');
  EXPECT_TRUE(of(longest).empty());
  EXPECT_EQ(of(longest + "a"),
            Texts{"Value '" + longest +
                  "a' at 'tableName' failed to satisfy constraint: Member must have "
                  "length less than or equal to 255"});
  const auto short_name = table_name_violations("a;", 3);
  ASSERT_EQ(short_name.size(), 2U);
  EXPECT_EQ(short_name[1].text,
            "Value 'a;' at 'tableName' failed to satisfy constraint: Member must have length "
            "greater than "
            "or equal to 3");
}

TEST(FindViolations, ListsAndStructuresBelow) {
  EXPECT_EQ(
      violations("CreateTable",
                 R"({"TableName":"abc","AttributeDefinitions":[{"AttributeType":"X"}],
        "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"},{}],
        "ProvisionedThroughput":{"ReadCapacityUnits":0}})"),
      (Texts{
          "Value null at 'attributeDefinitions.1.member.attributeName' failed to satisfy "
          "constraint: "
          "Member must not be null",
          "Value 'X' at 'attributeDefinitions.1.member.attributeType' failed to satisfy "
          "constraint: "
          "Member must satisfy enum value set: [B, N, S]",
          "Value null at 'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: "
          "Member "
          "must not be null",
          "Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: "
          "Member "
          "must have value greater than or equal to 1",
          "Value '[KeySchemaElement(attributeName=pk, keyType=HASH), "
          "KeySchemaElement(attributeName=sk, keyType=RANGE), "
          "KeySchemaElement(attributeName=null, keyType=null)]' at 'keySchema' failed to satisfy "
          "constraint: Member must have length less than or equal to 2",
          "Value null at 'keySchema.3.member.attributeName' failed to satisfy constraint: Member "
          "must not "
          "be null",
          "Value null at 'keySchema.3.member.keyType' failed to satisfy constraint: Member must "
          "not be "
          "null"}));
}

TEST(FindViolations, GlobalIndexesMayHaveLongKeysAndComeFirst) {
  const std::string five =
      R"("KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"},
         {"AttributeName":"c","KeyType":"RANGE"}])";
  const auto texts = violations("CreateTable", R"({"TableName":"abc","AttributeDefinitions":[],
        "KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],
        "LocalSecondaryIndexes":[{"IndexName":"l1","Projection":{},)" +
                                                   five + R"(}],
        "GlobalSecondaryIndexes":[{"IndexName":"g1","Projection":{},)" +
                                                   five + "}]}");
  ASSERT_EQ(texts.size(), 3U);
  EXPECT_EQ(texts[0],
            "Value 'g1' at 'globalSecondaryIndexes.1.member.indexName' failed to satisfy "
            "constraint: Member "
            "must have length greater than or equal to 3");
  EXPECT_TRUE(texts[1].starts_with("Value 'l1' at 'localSecondaryIndexes.1.member.indexName'"));
  EXPECT_TRUE(texts[2].ends_with("less than or equal to 2"));
}

TEST(FindViolations, NullInAListIsNoMember) {
  EXPECT_EQ(
      violations("CreateTable", R"({"TableName":"abc","AttributeDefinitions":[null],
        "KeySchema":[{"AttributeName":"a","KeyType":"HASH"}]})"),
      Texts{
          "Value null at 'attributeDefinitions.1.member' failed to satisfy constraint: Member must "
          "not be null"});
}

TEST(FindViolations, Maps) {
  EXPECT_EQ(
      violations("PutItem",
                 R"({"TableName":"abc","Item":{},"Expected":{"a":{"ComparisonOperator":"X"}}})"),
      Texts{"Value 'X' at 'expected.a.member.comparisonOperator' failed to satisfy constraint: "
            "Member "
            "must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, "
            "NE, "
            "LE, BEGINS_WITH, GE, CONTAINS]"});
  EXPECT_EQ(
      violations("BatchWriteItem", R"({"RequestItems":{"abc":[]}})"),
      Texts{
          "Value '{abc=[]}' at 'requestItems' failed to satisfy constraint: Map value must satisfy "
          "constraint: [Member must have length less than or equal to 25, Member must have length "
          "greater than or equal to 1]"});
  const auto names = violations(
      "BatchWriteItem", R"({"RequestItems":{"b!d":[{"PutRequest":{"Item":{"pk":{"S":"x"}}}}]}})");
  EXPECT_EQ(
      names,
      Texts{"Value '{b!d=[WriteRequest(putRequest=PutRequest(item={pk=AttributeValue(s=x, n=null, "
            "b=null, iNT=null, dECIMAL=null, dOUBLE=null, sS=null, nS=null, bS=null, iNTSET=null, "
            "dECIMALSET=null, dOUBLESET=null, m=null, l=null, nULL=null, bOOL=null)}, "
            "workloadProfileName=null), deleteRequest=null)]}' at 'requestItems' failed to satisfy "
            "constraint: Map keys must satisfy constraint: [Member must have length less than or "
            "equal to 255, Member must have length greater than or equal to 3, Member must satisfy "
            "regular expression pattern: [a-zA-Z0-9_.-]+]"});
}

TEST(FindViolations, LengthsAreCountedAsJavaDoes) {
  const auto token = [](const std::string& text) {
    return violations("TransactWriteItems",
                      R"({"TransactItems":[{}],"ClientRequestToken":")" + text + "\"}")
        .size();
  };
  std::string umlauts;
  for (int i = 0; i < 36; ++i) umlauts += "\xC3\xA4";
  EXPECT_EQ(token(umlauts), 0U);
  std::string emojis;
  for (int i = 0; i < 18; ++i) emojis += "\xF0\x9F\x98\x80";
  EXPECT_EQ(token(emojis), 0U);
  EXPECT_EQ(token(emojis + "a"), 1U);
}

TEST(FindViolations, StopsAtTen) {
  const auto texts =
      violations("CreateTable", R"({"TableName":"abc","AttributeDefinitions":[{},{},{},{},{},{}],
        "KeySchema":[{},{},{}]})");
  EXPECT_EQ(texts.size(), kMaxViolations);
}

TEST(Violations, AreJoined) {
  EXPECT_EQ(join_violations({"a"}), "1 validation error detected: a");
  EXPECT_EQ(join_violations({"a", "b"}), "2 validation errors detected: a; b");
}

}  // namespace
}  // namespace stator::ops
