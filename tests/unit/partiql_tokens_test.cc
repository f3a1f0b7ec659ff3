#include "partiql/tokens.h"

#include <gtest/gtest.h>

#include "partiql_testing.h"

namespace stator::partiql {
namespace {

using testing::kMalformed;
using testing::refusal;
using Kind = Token::Kind;

std::string texts(std::string_view statement) {
  std::string result;
  for (const Token& token : tokenize(statement)) {
    if (token.is(Kind::kEnd)) break;
    result += (result.empty() ? "" : "|") + token.text;
  }
  return result;
}

TEST(PartiqlTokens, CommentsAreBlanks) {
  EXPECT_EQ(texts("a/* x */b -- rest\nc"), "a|b|c");
  EXPECT_EQ(texts("n--1"), "n");
  EXPECT_EQ(texts("'a--b /*c*/'"), "a--b /*c*/");
}

TEST(PartiqlTokens, DoubledQuotesStandForOne) {
  EXPECT_EQ(texts("'it''s'"), "it's");
  EXPECT_EQ(texts(R"("a""b")"), R"(a"b)");
}

TEST(PartiqlTokens, WordsThatBelongTogetherAreOneToken) {
  EXPECT_EQ(texts("not in is not INSERT  INTO all old left outer join"),
            "not_in|is_not|insert_into|all_old|join");
}

TEST(PartiqlTokens, KeywordsFoldCaseAndNamesDoNot) {
  const auto tokens = tokenize("SeLeCt Abc");
  EXPECT_TRUE(tokens[0].is_keyword("select"));
  EXPECT_EQ(tokens[1].text, "Abc");
}

TEST(PartiqlTokens, PositionsCountCharactersAndLines) {
  const auto tokens = tokenize("a \"\xC3\xA9\xC3\xA9\" b\r\nc");
  EXPECT_EQ(tokens[0].at.to_string(), "1:1:1");
  EXPECT_EQ(tokens[1].at.to_string(), "1:3:4");
  EXPECT_EQ(tokens[2].at.to_string(), "1:8:1");
  EXPECT_EQ(tokens[3].at.to_string(), "2:1:1");
}

TEST(PartiqlTokens, NumbersKeepTheirText) {
  EXPECT_EQ(texts("1 1. .5 1.5e-3 7E+2"), "1|1.|.5|1.5e-3|7E+2");
  EXPECT_EQ(texts("1 e5"), "1|e5");
}

TEST(PartiqlTokens, WhatCannotBeReadHasNoDetail) {
  for (const char* text : {"'open", "\"open", "/* open", "#", "1e", "1 ! 2", "a | b", "\xC3\xA9",
                           "1e2147483648", "1.5e-2147483647", "^", "\\", "~", "&"}) {
    EXPECT_EQ(refusal([&] { tokenize(text); }), kMalformed) << text;
  }
  EXPECT_EQ(texts("1e2147483647"), "1e2147483647");
}

TEST(PartiqlTokens, AStatementHasAtMost8192Characters) {
  EXPECT_EQ(tokenize(std::string(8192, 'x')).size(), 2u);
  EXPECT_EQ(refusal([] { tokenize(std::string(8193, 'x')); }), kMalformed);
}

}  // namespace
}  // namespace stator::partiql
