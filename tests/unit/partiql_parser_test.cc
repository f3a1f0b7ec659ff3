#include "partiql/parser.h"

#include <gtest/gtest.h>

#include "partiql_testing.h"

namespace stator::partiql {
namespace {

using testing::kMalformed;
using testing::parse_refusal;
using Kind = Expr::Kind;

// The tree of an expression in prefix notation.
std::string shape(const Expr& expr) {
  std::string text;
  switch (expr.kind) {
    case Kind::kAnd:
      text = "and";
      break;
    case Kind::kOr:
      text = "or";
      break;
    case Kind::kNot:
      text = "not";
      break;
    case Kind::kBetween:
      text = expr.negated ? "not_between" : "between";
      break;
    case Kind::kIn:
      text = expr.negated ? "not_in" : "in";
      break;
    case Kind::kIs:
      text = (expr.negated ? "is_not_" : "is_") + expr.text;
      break;
    case Kind::kPath:
      text = "path";
      break;
    case Kind::kList:
      text = "list";
      break;
    case Kind::kParameter:
      text = "?" + std::to_string(expr.parameter);
      break;
    default:
      text = expr.text;
      break;
  }
  if (expr.children.empty()) return text;
  text = "(" + text;
  for (const Expr& child : expr.children) text += " " + shape(child);
  return text + ")";
}

std::string shape_of(std::string_view text) {
  return shape(parse(text).root);
}

TEST(PartiqlParser, OperatorsBindByPrecedence) {
  EXPECT_EQ(shape_of("a = 1 AND b = 2 OR NOT c = 3"), "(or (and (= a 1) (= b 2)) (not (= c 3)))");
  EXPECT_EQ(shape_of("a + 1 * 2 < b - 3"), "(< (+ a (* 1 2)) (- b 3))");
  EXPECT_EQ(shape_of("a BETWEEN 1 AND 2 AND b IN [1, 2]"),
            "(and (between a 1 2) (in b (list 1 2)))");
  EXPECT_EQ(shape_of("a IS NOT NULL AND b NOT IN (1)"),
            "(and (is_not_null a) (not_in b (list 1)))");
}

TEST(PartiqlParser, AndAndOrAreFlat) {
  EXPECT_EQ(shape_of("a AND (b AND c) AND d"), "(and a b c d)");
  EXPECT_EQ(shape_of("a OR b OR (c OR d)"), "(or a b c d)");
}

TEST(PartiqlParser, SignsFoldIntoNumbers) {
  EXPECT_EQ(shape_of("- - 1"), "1");
  EXPECT_EQ(shape_of("-1 - -2"), "(- -1 -2)");
  EXPECT_EQ(shape_of("-a"), "(- a)");
}

TEST(PartiqlParser, ParametersAreNumberedFromTheLeft) {
  EXPECT_EQ(shape_of("a = ? AND b IN [?, ?]"), "(and (= a ?0) (in b (list ?1 ?2)))");
  EXPECT_EQ(parse("SELECT * FROM t WHERE a = ? AND b = ?").parameters, 2u);
}

struct Refused {
  const char* statement;
  const char* detail;
};

TEST(PartiqlParser, SaysWhatItExpected) {
  const Refused cases[] = {
      {"SELECT * FROM", "Unexpected term"},
      {"SELECT * FROM t WHERE", "Unexpected term"},
      {"SELECT * FROM t WHERE NOT", "Unexpected term"},
      {"SELECT * FROM t WHERE ()", "Unexpected term"},
      {"SELECT * FROM t WHERE a AND", "Missing right-hand side expression of infix operator"},
      {"SELECT * FROM t WHERE a AND;", "Unexpected term"},
      {"SELECT * FROM t WHERE ORDER BY a", "Unexpected keyword"},
      {"SELECT * FROM t WHERE IS NULL", "Unexpected operator"},
      {"SELECT * FROM t WHERE a = LIKE", "Unexpected operator"},
      {"SELECT * FROM t WHERE a IS foo", "Expected type name"},
      {"SELECT * FROM t WHERE a.inner = 1", "Invalid path dot component"},
      {"SELECT * FROM t WHERE (a", "Expected RIGHT_PAREN"},
      {"SELECT * FROM t WHERE a IN [1", "Expected RIGHT_BRACKET"},
      {"SELECT * FROM t WHERE a = <<1", "Expected RIGHT_DOUBLE_ANGLE_BRACKET"},
      {"SELECT * FROM t WHERE a BETWEEN 1", "Expected AND keyword"},
      {"SELECT * FROM t WHERE a BETWEEN 1 AND", "Expected expression after AND"},
      {"SELECT * FROM t ORDER a", "Expected BY"},
      {"SELECT a WHERE b = 1", "Expected FROM after SELECT list"},
      {"SELECT size FROM t", "Unexpected keyword"},
      {"SELECT value FROM t", "Expected data manipulation"},
      {"INSERT INTO t VALUE {'a' 1}", "Expected COLON"},
      {"INSERT INTO t VALUE {'a': 1", "Expected RIGHT_CURLY"},
      {"UPDATE t WHERE a = 1", "Expected data manipulation"},
      {"UPDATE t SET a WHERE b = 1", "Expected '='"},
      {"UPDATE t SET size = 1", "Expected identifier for simple path"},
      {"DELETE t", "Expected FROM after DELETE"},
      {"DELETE FROM WHERE a = 1", "Expected identifier for simple path"},
      {"DELETE FROM t RETURNING ALL *",
       "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning element."},
      {"DELETE FROM t RETURNING ALL OLD", "Unexpected term"},
      {"SLECT * FROM t WHERE a = 1", "Expected data manipulation"},
      {"SELECTT * FROMM t", "Unexpected token after expression"},
      {"FROM t SET a = 1 WHERE b = 2", "Unexpected token after expression"},
      {"UPDATE t REMOVE a, b", "Unexpected token after expression"},
      {"INSERT INTO t u VALUE {'a': 1}", "Unexpected token after expression"},
      {"SELECT * FROM t; SELECT * FROM t",
       "Unexpected token after semicolon. (Only one query is allowed.)"},
      {"", "Unexpected term"},
      {";", "Unexpected term"},
  };
  for (const Refused& refused : cases) {
    EXPECT_EQ(parse_refusal(refused.statement), std::string(kMalformed) + refused.detail)
        << refused.statement;
  }
}

std::string repeated(std::string_view text, size_t times) {
  std::string result;
  for (size_t i = 0; i < times; ++i) result += text;
  return result;
}

TEST(PartiqlParser, DeepNestingIsRefusedAndNotFollowed) {
  for (const char* opening : {"(", "[", "<<", "{'a':", "NOT ", "- ", "f(", "a[", "SELECT * FROM (",
                              "a + (", "FROM ", "SELECT "}) {
    const std::string text = repeated(opening, 8000 / std::string(opening).size());
    EXPECT_TRUE(parse_refusal(text).starts_with(kMalformed)) << opening;
  }
}

TEST(PartiqlParser, LongChainsOfOperatorsAreBounded) {
  EXPECT_EQ(parse_refusal("a" + repeated(" OR a", 1600)), "accepted");
  EXPECT_EQ(parse_refusal("a" + repeated("+a", 4000)), kMalformed);
  EXPECT_EQ(parse_refusal("a" + repeated("=a", 4000)), kMalformed);
  EXPECT_EQ(parse_refusal("a" + repeated("=a", 400)), "accepted");
}

}  // namespace
}  // namespace stator::partiql
