#include "triggers/filter.h"

#include <gtest/gtest.h>

namespace stator::triggers {
namespace {

bool valid(std::string_view pattern) {
  return FilterPattern::parse(pattern).has_value();
}

bool matches(std::string_view pattern, std::string record) {
  const auto parsed = FilterPattern::parse(pattern);
  EXPECT_TRUE(parsed) << pattern;
  json::Document document;
  EXPECT_TRUE(document.parse(std::move(record)));
  return parsed && parsed->matches(document.root());
}

TEST(Filter, ComparesValuesOfEveryType) {
  EXPECT_TRUE(matches(R"({"a":["x"]})", R"({"a":"x"})"));
  EXPECT_FALSE(matches(R"({"a":["x"]})", R"({"a":"X"})"));
  EXPECT_FALSE(matches(R"({"a":["1"]})", R"({"a":1})"));
  EXPECT_TRUE(matches(R"({"a":[1]})", R"({"a":1.0})"));
  EXPECT_TRUE(matches(R"({"a":[true]})", R"({"a":true})"));
  EXPECT_FALSE(matches(R"({"a":[true]})", R"({"a":false})"));
  EXPECT_TRUE(matches(R"({"a":[null]})", R"({"a":null})"));
  EXPECT_FALSE(matches(R"({"a":[null]})", R"({})"));
  EXPECT_TRUE(matches(R"({"a":[""]})", R"({"a":""})"));
  EXPECT_FALSE(matches(R"({"a":[""]})", R"({"a":" "})"));
}

TEST(Filter, OneRuleOfAFieldAndAllFields) {
  const auto pattern = R"({"a":["x","y"],"b":[1]})";
  EXPECT_TRUE(matches(pattern, R"({"a":"y","b":1,"c":2})"));
  EXPECT_FALSE(matches(pattern, R"({"a":"z","b":1})"));
  EXPECT_FALSE(matches(pattern, R"({"a":"x","b":2})"));
  EXPECT_FALSE(matches(pattern, R"({"a":"x"})"));
}

TEST(Filter, LooksIntoTheRecordAsLambdaSeesIt) {
  const std::string record =
      R"({"eventName":"MODIFY","dynamodb":{"Keys":{"id":{"S":"1"}},
          "NewImage":{"id":{"S":"1"},"n":{"N":"12"},"tags":{"SS":["a","b"]},
                      "list":{"L":[{"S":"p"},{"N":"3"}]},"map":{"M":{"k":{"BOOL":true}}}}},
          "userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"}})";
  EXPECT_TRUE(matches(R"({"eventName":["INSERT","MODIFY"]})", record));
  EXPECT_TRUE(matches(R"({"dynamodb":{"Keys":{"id":{"S":["1"]}}}})", record));
  EXPECT_TRUE(matches(R"({"dynamodb":{"NewImage":{"n":{"N":["12"]}}}})", record));
  EXPECT_TRUE(matches(R"({"dynamodb":{"NewImage":{"map":{"M":{"k":{"BOOL":[true]}}}}}})", record));
  EXPECT_TRUE(matches(R"({"userIdentity":{"type":["Service"]}})", record));
  EXPECT_FALSE(matches(R"({"dynamodb":{"OldImage":{"n":{"N":["12"]}}}})", record));
  // A number of an item is a text in the record.
  EXPECT_FALSE(matches(R"({"dynamodb":{"NewImage":{"n":{"N":[{"numeric":[">",1]}]}}}})", record));
  EXPECT_FALSE(matches(R"({"dynamodb":{"NewImage":{"n":{"N":[12]}}}})", record));
}

TEST(Filter, OfAListOneValueMustMatch) {
  EXPECT_TRUE(matches(R"({"t":["b","z"]})", R"({"t":["a","b"]})"));
  EXPECT_FALSE(matches(R"({"t":["z"]})", R"({"t":["a","b"]})"));
  EXPECT_TRUE(matches(R"({"t":["b"]})", R"({"t":[["a"],["b"]]})"));
  EXPECT_TRUE(matches(R"({"L":{"S":["p"]}})", R"({"L":[{"N":"3"},{"S":"p"}]})"));
  EXPECT_FALSE(matches(R"({"L":{"S":["q"]}})", R"({"L":[{"N":"3"},{"S":"p"}]})"));
  // Both fields in one and the same element.
  EXPECT_FALSE(matches(R"({"L":{"a":[1],"b":[2]}})", R"({"L":[{"a":1,"b":1},{"a":2,"b":2}]})"));
}

TEST(Filter, Prefix) {
  EXPECT_TRUE(matches(R"({"a":[{"prefix":"us-"}]})", R"({"a":"us-east-1"})"));
  EXPECT_FALSE(matches(R"({"a":[{"prefix":"us-"}]})", R"({"a":"us"})"));
  EXPECT_FALSE(matches(R"({"a":[{"prefix":"1"}]})", R"({"a":12})"));
  EXPECT_TRUE(
      matches(R"({"a":[{"prefix":{"equals-ignore-case":"US-"}}]})", R"({"a":"us-east-1"})"));
}

TEST(Filter, Suffix) {
  EXPECT_TRUE(matches(R"({"a":[{"suffix":".png"}]})", R"({"a":"x.png"})"));
  EXPECT_FALSE(matches(R"({"a":[{"suffix":".png"}]})", R"({"a":"x.png "})"));
  EXPECT_TRUE(matches(R"({"a":[{"suffix":{"equals-ignore-case":".PNG"}}]})", R"({"a":"x.png"})"));
}

TEST(Filter, EqualsIgnoreCase) {
  EXPECT_TRUE(matches(R"({"a":[{"equals-ignore-case":"Alice"}]})", R"({"a":"aLICE"})"));
  EXPECT_FALSE(matches(R"({"a":[{"equals-ignore-case":"Alice"}]})", R"({"a":"alic"})"));
}

TEST(Filter, AnythingBut) {
  EXPECT_TRUE(matches(R"({"a":[{"anything-but":["x","y"]}]})", R"({"a":"z"})"));
  EXPECT_FALSE(matches(R"({"a":[{"anything-but":["x","y"]}]})", R"({"a":"y"})"));
  EXPECT_FALSE(matches(R"({"a":[{"anything-but":"x"}]})", R"({"a":"x"})"));
  EXPECT_FALSE(matches(R"({"a":[{"anything-but":[1,2]}]})", R"({"a":2})"));
  EXPECT_TRUE(matches(R"({"a":[{"anything-but":[1,2]}]})", R"({"a":"2"})"));
  EXPECT_FALSE(matches(R"({"a":[{"anything-but":"x"}]})", R"({})"));
  EXPECT_TRUE(matches(R"({"a":[{"anything-but":"x"}]})", R"({"a":["x","y"]})"));
  EXPECT_TRUE(matches(R"({"a":[{"anything-but":{"prefix":"in"}}]})", R"({"a":"out"})"));
  EXPECT_FALSE(matches(R"({"a":[{"anything-but":{"prefix":"in"}}]})", R"({"a":"init"})"));
  EXPECT_FALSE(matches(R"({"a":[{"anything-but":{"prefix":["in","ou"]}}]})", R"({"a":"out"})"));
  EXPECT_FALSE(matches(R"({"a":[{"anything-but":{"suffix":".x"}}]})", R"({"a":"f.x"})"));
  EXPECT_FALSE(matches(R"({"a":[{"anything-but":{"equals-ignore-case":"X"}}]})", R"({"a":"x"})"));
}

TEST(Filter, Numeric) {
  const auto range = R"({"a":[{"numeric":[">",10,"<=",20]}]})";
  EXPECT_FALSE(matches(range, R"({"a":10})"));
  EXPECT_TRUE(matches(range, R"({"a":10.5})"));
  EXPECT_TRUE(matches(range, R"({"a":20})"));
  EXPECT_FALSE(matches(range, R"({"a":20.001})"));
  EXPECT_TRUE(matches(R"({"a":[{"numeric":["=",100]}]})", R"({"a":1e2})"));
  EXPECT_FALSE(matches(R"({"a":[{"numeric":["<",-1.5]}]})", R"({"a":-1.5})"));
  EXPECT_TRUE(matches(R"({"a":[{"numeric":[">=",-1.5]}]})", R"({"a":-1.5})"));
  EXPECT_FALSE(matches(R"({"a":[{"numeric":[">",0]}]})", R"({"a":"5"})"));
}

TEST(Filter, ExistsAsksForAValue) {
  const auto there = R"({"d":{"a":{"S":[{"exists":true}]}}})";
  EXPECT_TRUE(matches(there, R"({"d":{"a":{"S":""}}})"));
  EXPECT_TRUE(matches(there, R"({"d":{"a":{"S":null}}})"));
  EXPECT_FALSE(matches(there, R"({"d":{"a":{"N":"1"}}})"));
  EXPECT_FALSE(matches(there, R"({})"));
  const auto not_there = R"({"d":{"a":{"S":[{"exists":false}]}}})";
  EXPECT_FALSE(matches(not_there, R"({"d":{"a":{"S":"x"}}})"));
  EXPECT_TRUE(matches(not_there, R"({"d":{"a":{"N":"1"}}})"));
  EXPECT_TRUE(matches(not_there, R"({"d":{}})"));
  EXPECT_TRUE(matches(not_there, R"({})"));
  // Not of what has a structure itself.
  EXPECT_FALSE(matches(R"({"d":{"a":[{"exists":true}]}})", R"({"d":{"a":{"S":"x"}}})"));
  EXPECT_TRUE(matches(R"({"a":[{"exists":false},"x"]})", R"({"a":"x"})"));
}

TEST(Filter, OrOverFields) {
  const auto pattern = R"({"$or":[{"a":["x"]},{"b":{"c":[{"numeric":[">",5]}]}}],"k":[1]})";
  EXPECT_TRUE(matches(pattern, R"({"k":1,"a":"x"})"));
  EXPECT_TRUE(matches(pattern, R"({"k":1,"a":"y","b":{"c":6}})"));
  EXPECT_FALSE(matches(pattern, R"({"k":1,"a":"y","b":{"c":5}})"));
  EXPECT_FALSE(matches(pattern, R"({"k":2,"a":"x"})"));
  EXPECT_TRUE(matches(R"({"d":{"$or":[{"a":[1]},{"b":[1]}]}})", R"({"d":{"b":1}})"));
  // With one pattern it is a field like any other.
  EXPECT_TRUE(matches(R"({"$or":["x"]})", R"({"$or":"x"})"));
}

TEST(Filter, WhatIsNoPattern) {
  for (const auto* pattern : {"",
                              "x",
                              "[]",
                              "{}",
                              "null",
                              R"("a")",
                              R"({"a":"x"})",
                              R"({"a":1})",
                              R"({"a":[]})",
                              R"({"a":{}})",
                              R"({"a":null})",
                              R"({"a":[{}]})",
                              R"({"a":[["x"]]})",
                              R"({"a":[{"prefix":1}]})",
                              R"({"a":[{"prefix":["x"]}]})",
                              R"({"a":[{"exists":"true"}]})",
                              R"({"a":[{"numeric":[]}]})",
                              R"({"a":[{"numeric":[">"]}]})",
                              R"({"a":[{"numeric":["!",1]}]})",
                              R"({"a":[{"numeric":[">","1"]}]})",
                              R"({"a":[{"numeric":["<",1,">",2]}]})",
                              R"({"a":[{"numeric":[">",2,"<",1]}]})",
                              R"({"a":[{"anything-but":[]}]})",
                              R"({"a":[{"anything-but":[null]}]})",
                              R"({"a":[{"anything-but":{"numeric":["=",1]}}]})",
                              R"({"a":[{"like":"x"}]})",
                              R"({"a":[{"prefix":"x","suffix":"y"}]})",
                              R"({"$or":[{"a":["x"]},{}]})",
                              R"({"eventName": ["INSERT"=123}])"}) {
    EXPECT_FALSE(valid(pattern)) << pattern;
  }
}

TEST(Filter, OneOfSeveralPatternsIsEnough) {
  json::Document record;
  ASSERT_TRUE(record.parse(R"({"a":"x"})"));
  std::vector<FilterPattern> patterns;
  EXPECT_TRUE(passes(patterns, record.root()));
  patterns.push_back(*FilterPattern::parse(R"({"a":["y"]})"));
  EXPECT_FALSE(passes(patterns, record.root()));
  patterns.push_back(*FilterPattern::parse(R"({"a":["x"]})"));
  EXPECT_TRUE(passes(patterns, record.root()));
}

}  // namespace
}  // namespace stator::triggers
