// What the service says of an expression's text alone.
#include "expr/parser.h"

#include "expr_testing.h"

namespace stator::expr::testing {
namespace {

struct Case {
  std::string text;
  std::string problem;  // after "Invalid <parameter>: "; "" if the text is fine
};

std::string condition_problem(const std::string& text) {
  return error_of([&] { parse_condition(text, ExpressionKind::kFilter); });
}
std::string update_problem(const std::string& text) {
  return error_of([&] { parse_update(text); });
}
std::string projection_problem(const std::string& text) {
  return error_of([&] { parse_projection(text); });
}

std::string prefixed(const std::string& prefix, const std::string& problem) {
  return problem.empty() ? "" : prefix + problem;
}

std::string syntax(const std::string& token, const std::string& near) {
  return "Syntax error; token: \"" + token + "\", near: \"" + near + "\"";
}

std::string repeat(const std::string& text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

constexpr const char* kRedundant = "The expression has redundant parentheses;";

TEST(ExprParser, ConditionsAreAcceptedOrRefusedWithTheServicesMessage) {
  const std::vector<Case> cases = {
      // fine
      {"a = :v", ""},
      {"a=:v", ""},
      {"\ta\n=\r:v ", ""},
      {"a <> b", ""},
      {"a < :v AND b <= :v AND c > :v AND d >= :v", ""},
      {"a between :x and :y", ""},
      {"a BeTwEeN :x aNd :y aNd b = c", ""},
      {"a in (:x)", ""},
      {"a IN (:x, b, size(c))", ""},
      {"NOT a = b", ""},
      {"not not a = b", ""},
      {"not (a = b)", ""},
      {"(a = b)", ""},
      {"((a = b) AND (c = d))", ""},
      {"(((a) = (b)) OR c = d)", ""},
      {"(a) = (b)", ""},
      {"(size(a)) > :v", ""},
      {"(attribute_exists(a))", ""},
      {"attribute_exists (a)", ""},
      {"attribute_exists(a.b[0].#c)", ""},
      {"a.b.c[10][2] = :v", ""},
      {"a . b [ 1 ] = :v", ""},
      {"a_1 = b__", ""},
      {"#1 = :_", ""},
      {"a = b OR c = d AND NOT e = f", ""},
      // syntax
      {"", "The expression can not be empty;"},
      {" ", syntax("<EOF>", " ")},
      {"a", syntax("<EOF>", "a")},
      {"a =", syntax("<EOF>", "=")},
      {"a = = b", syntax("=", "= = b")},
      {"= a", syntax("=", "= a")},
      {"!!!", syntax("!", "!!")},
      {"attribute_not_exists(", syntax("<EOF>", "(")},
      {"INVALID SYNTAX HERE", syntax("SYNTAX", "INVALID SYNTAX HERE")},
      {"a > 4", syntax("4", "> 4")},
      {"a AND b = c", syntax("AND", "a AND b")},
      {"(a) AND b = c", syntax("AND", ") AND b")},
      {"(a)", syntax("<EOF>", ")")},
      {"(a = b", syntax("<EOF>", "b")},
      {"a = b)", syntax(")", "b)")},
      {"a = b c", syntax("c", "b c")},
      {"a != b", syntax("!", "a !=")},
      {"attribute_exists(Pictures-RearView)", syntax("-", "Pictures-RearView")},
      {"attribute_exists(\"Pictures.RearView\")", syntax("\"", "(\"Pictures")},
      {"attribute_exists(Pictures..RearView)", syntax(".", "..RearView")},
      {"attribute_exists(Pi#ctures.RearView)", syntax("#ctures", "Pi#ctures.")},
      {"attribute_exists(asdf[a])", syntax("a", "[a]")},
      {"attribute_type()", syntax(")", "()")},
      {"a in b, c", syntax("b", "in b,")},
      {"a in ()", syntax(")", "()")},
      {"a in (b,c,)", syntax(")", ",)")},
      {"a > between", syntax("between", "> between")},
      {"a between b or c", syntax("or", "b or c")},
      {"(a)between(b.(c.d))and(c)", syntax("(", ".(c")},
      {"(a)between(b.c.d)and((c)", syntax("<EOF>", ")")},
      {"#$.b > a", syntax("#", "#$")},
      {"a > :things.stuff", syntax(".", ":things.stuff")},
      {"b[:a] > a", syntax(":a", "[:a]")},
      {"b[#_] > a", syntax("#_", "[#_]")},
      {"b[-1] > a", syntax("-", "[-1")},
      {"b[01] > a", syntax("1", "01]")},
      {"\xC3\xBC > a", syntax("\xC3\xBC", "\xC3\xBC >")},
      {"(a)between(b.c[4.5].#d)and(:a)", syntax(".", "4.5")},
      {"size(a).b > a", syntax(".", ").b")},
      {"(size(a)).b > a", syntax(".", ").b")},
      {"size(a)[0] > a", syntax("[", ")[0")},
      {"_a = b", syntax("_", "_a")},
      {"a = b + c", syntax("+", "b + c")},
      {"NOT", syntax("<EOF>", "NOT")},
      {"NOT a", syntax("<EOF>", "a")},
      {"SET a = b", syntax("a", "SET a =")},
      {"remove = b", ""},
      {"a.:b = c", syntax(":b", ".:b =")},
      // parentheses
      {"((a = b))", kRedundant},
      {"((attribute_not_exists(a)))", kRedundant},
      {"((a)) = b", kRedundant},
      {"a = ((b))", kRedundant},
      {"a=a and a > ((views))", kRedundant},
      {"(a)between(((b.c)).d)and(c)", kRedundant},
      {"a > whatever((:things), ((a)))", kRedundant},
      {"a=a AND ((a=a AND a=a)) AND a=a", kRedundant},
      {"a=a OR ((a=a OR (a=a OR a=a)))", kRedundant},
      {"not ((a = b))", kRedundant},
      // functions
      {"a=a and whatever((:things)) > a", "Invalid function name; function: whatever"},
      {"attRIbute_exIsts((views), #a)", "Invalid function name; function: attRIbute_exIsts"},
      {"if_not_exists(a, b) = c",
       "The function is not allowed in a condition expression; function: if_not_exists"},
      {"list_append(a, b) = c",
       "The function is not allowed in a condition expression; function: list_append"},
      // reserved words
      {"status = :v", "Attribute name is a reserved keyword; reserved keyword: status"},
      {"a.ADD = :v", "Attribute name is a reserved keyword; reserved keyword: ADD"},
      {"delete = :v", "Attribute name is a reserved keyword; reserved keyword: delete"},
      {":a < abOrT", "Attribute name is a reserved keyword; reserved keyword: abOrT"},
      {"a.COMMENT = :v", "Attribute name is a reserved keyword; reserved keyword: COMMENT"},
      {"attribute_exists(views, #a)",
       "Attribute name is a reserved keyword; reserved keyword: views"},
      {"begins_with(m.name, :v)", "Attribute name is a reserved keyword; reserved keyword: name"},
      // list indexes
      {"a[2147483647] = :v", ""},
      {"a[2147483648] = :v", "List index is not within the allowable range; index: [2147483648]"},
      {"a[99999999999999999999] = :v",
       "List index is not within the allowable range; index: [99999999999999999999]"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(condition_problem(c.text), prefixed("Invalid FilterExpression: ", c.problem))
        << c.text;
  }
}

TEST(ExprParser, FunctionsStandOnlyInTheirPlaces) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a=a and attribute_exists((views), (#a)) > b", "attribute_exists"},
      {"attribute_not_exists(things) > b", "attribute_not_exists"},
      {"attribute_type(things, :a) > b", "attribute_type"},
      {"begins_with(things, a) > b", "begins_with"},
      {"contains(:things, c) > b", "contains"},
      {"size(contains(a, b)) > a", "contains"},
      {"size(things)", "size"},
      {"NOT size(things)", "size"},
      {"(size(things))", "size"},
      {"a between b and attribute_exists(things)", "attribute_exists"},
      {"a in (b, attribute_exists(things))", "attribute_exists"},
  };
  for (const auto& [text, function] : cases) {
    EXPECT_EQ(condition_problem(text),
              "Invalid FilterExpression: The function is not allowed to be used this way in an "
              "expression; function: " +
                  function)
        << text;
  }
}

TEST(ExprParser, UpdatesAreAcceptedOrRefusedWithTheServicesMessage) {
  const std::string reserved = "Attribute name is a reserved keyword; reserved keyword: ";
  const auto once = [](const std::string& section) {
    return "The \"" + section + "\" section can only be used once in an update expression;";
  };
  const std::vector<Case> cases = {
      {"set a = :v", ""},
      {"SET a = :v, b.c[1] = d REMOVE e, f[0] ADD g :v DELETE h :v", ""},
      {"delete h :v add g :v remove e set a = b", ""},
      {"set a = b + c", ""},
      {"set a = b - :c", ""},
      {"set a=b+c", ""},
      {"set a = (b + c)", ""},
      {"set a = (b) + (c)", ""},
      {"set a = ((b.c.d)+(e))", ""},
      {"set a = (b)", ""},
      {"set a = if_not_exists(a, b) + b", ""},
      {"set a = if_not_exists(a, if_not_exists(c, b))", ""},
      {"set a = list_append(if_not_exists(a, :e), :v)", ""},
      {"", "The expression can not be empty;"},
      {"INVALID SYNTAX HERE", syntax("INVALID", "INVALID SYNTAX")},
      {"whatever", syntax("whatever", "whatever")},
      {"set", syntax("<EOF>", "set")},
      {"set a", syntax("<EOF>", "a")},
      {"ADD numx", syntax("<EOF>", "numx")},
      {"DELETE setx", syntax("<EOF>", "setx")},
      {"ADD numx 1", syntax("1", "numx 1")},
      {"DELETE setx a", syntax("a", "setx a")},
      {"set a=set", syntax("set", "=set")},
      {"remove a = b", syntax("=", "a = b")},
      {"add a = b", syntax("=", "a = b")},
      {"delete a if_not_exist(b)", syntax("if_not_exist", "a if_not_exist(")},
      {"remove a b", syntax("b", "a b")},
      {"set a b", syntax("b", "a b")},
      {"set :a = b", syntax(":a", "set :a =")},
      {"remove :a", syntax(":a", "remove :a")},
      {"SET numx = numx * :v", syntax("*", "numx * :v")},
      {"SET numx = numx / :v", syntax("/", "numx / :v")},
      {"set a[1] = \"eight\"", syntax("\"", "= \"eight")},
      {"set a[1] = 1", syntax("1", "= 1")},
      {"SET note = :v +", syntax("<EOF>", "+")},
      {"SET if_not_exist(a, b) = a", syntax("(", "if_not_exist(a")},
      {"set (a = (b + c))", syntax("(", "set (a")},
      {"set a = (b.c).d + e", syntax(".", ").d")},
      {"set a = (b.c)[0] + e", syntax("[", ")[0")},
      {"set a = b + c + d", syntax("+", "c + d")},
      {"set a = (b + c) + d", syntax("+", ") + d")},
      {"set a = if_not_exists(a, :b + :c)", syntax("+", ":b + :c")},
      {"SET _123 = :v", syntax("_", "SET _123")},
      {"SET a = _f(b)", syntax("_", "= _f")},
      {"SET #list[0.#comment = :value", syntax(".", "0.#comment")},
      {"set a = :v,", syntax("<EOF>", ",")},
      {"set a = ((b))", kRedundant},
      {" set #c = :c set abOrt = true ", reserved + "abOrt"},
      {" remove Absolute ", reserved + "Absolute"},
      {"set a.and = :v", reserved + "and"},
      {"SET #list[0].COMMENT = :value", reserved + "COMMENT"},
      {"set #c = if_not_exist(:c) set c = d", "Invalid function name; function: if_not_exist"},
      {"SET a = LIST_APPEND(:a, :b)", "Invalid function name; function: LIST_APPEND"},
      {"SET #r = contains(s, :n)",
       "The function is not allowed in an update expression; function: contains"},
      {"SET #r = size(s)", "The function is not allowed in an update expression; function: size"},
      {"SET #r = list_append(list_append(l, :t), :u)",
       "The function is not allowed to be used this way in an expression; function: list_append"},
      {"set a = #c set c = :d", once("SET")},
      {"remove #d set a = b remove e", once("REMOVE")},
      {"add #d :e set a = b add e :f", once("ADD")},
      {"delete #d :e set a = b delete #e :f", once("DELETE")},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(update_problem(c.text), prefixed("Invalid UpdateExpression: ", c.problem)) << c.text;
  }
}

TEST(ExprParser, ProjectionsAreAcceptedOrRefusedWithTheServicesMessage) {
  const std::vector<Case> cases = {
      {"a", ""},
      {" a  ,   b  ", ""},
      {"#a.b[0], c", ""},
      {"", "The expression can not be empty;"},
      {"a,", syntax("<EOF>", ",")},
      {",a", syntax(",", ",a")},
      {"a,,b", syntax(",", ",,b")},
      {"#list[].#comment", syntax("]", "[].")},
      {"a b", syntax("b", "a b")},
      {":a", syntax(":a", ":a")},
      {"size(a)", syntax("(", "size(a")},
      {"(a)", syntax("(", "(a")},
      {"list[0].COMMENT", "Attribute name is a reserved keyword; reserved keyword: list"},
      {"pk, status", "Attribute name is a reserved keyword; reserved keyword: status"},
      {"ADD", "Attribute name is a reserved keyword; reserved keyword: ADD"},
      {"a.and", "Attribute name is a reserved keyword; reserved keyword: and"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(projection_problem(c.text), prefixed("Invalid ProjectionExpression: ", c.problem))
        << c.text;
  }
}

TEST(ExprParser, SizeIsLimitedAndToldOnlyForConditions) {
  const std::string name(kMaxExpressionBytes, 'x');
  EXPECT_EQ(projection_problem(name), "");
  EXPECT_EQ(projection_problem(name + "x"),
            "Invalid ProjectionExpression: Expression size has exceeded the maximum allowed size;");
  EXPECT_EQ(condition_problem(repeat(" ", 4090) + "a = :v"), "");
  EXPECT_EQ(condition_problem(repeat(" ", 4091) + "a = :v"),
            "Invalid FilterExpression: Expression size has exceeded the maximum allowed size; "
            "expression size: 4097");
  EXPECT_EQ(
      error_of([&] { parse_condition(repeat("(", 15000), ExpressionKind::kKeyCondition); }),
      "Invalid KeyConditionExpression: Expression size has exceeded the maximum allowed size;");
  EXPECT_EQ(update_problem("SET " + name + " = :v"),
            "Invalid UpdateExpression: Expression size has exceeded the maximum allowed size;");
}

TEST(ExprParser, OperatorsAreLimitedTo300) {
  // Each link is one comparison and, from the second on, one OR.
  const auto chain = [](size_t links) { return "a<b" + repeat(" or a<b", links - 1); };
  EXPECT_EQ(condition_problem(chain(150)), "");
  EXPECT_EQ(
      condition_problem(chain(151)),
      "Invalid FilterExpression: The expression contains too many operators; operator count: 301");
  EXPECT_EQ(condition_problem("a<b " + repeat("or (a<b ", 149) + repeat(")", 149)), "");
  EXPECT_EQ(
      condition_problem("a<b " + repeat("or (a<b ", 454) + repeat(")", 454)),
      "Invalid FilterExpression: The expression contains too many operators; operator count: 301");
  EXPECT_EQ(condition_problem(repeat("not ", 299) + "a<b"), "");
  EXPECT_EQ(
      condition_problem(repeat("not ", 1000) + "a<b"),
      "Invalid FilterExpression: The expression contains too many operators; operator count: 301");
}

TEST(ExprParser, DeepNestingIsRefusedNotFollowed) {
  EXPECT_EQ(condition_problem(repeat("(", 4096)),
            "Invalid FilterExpression: " + syntax("<EOF>", "("));
  EXPECT_EQ(condition_problem(repeat("(", 2046) + "a<b" + repeat(")", 2046)),
            std::string("Invalid FilterExpression: ") + kRedundant);
  EXPECT_EQ(condition_problem("a < " + repeat("f(", 1355) + "b" + repeat(")", 1355)),
            "Invalid FilterExpression: Invalid function name; function: f");
  EXPECT_NE(condition_problem("a < " + repeat("size(", 680) + "b" + repeat(")", 680)), "");
  EXPECT_EQ(update_problem("SET a = " + repeat("(", 4000)),
            "Invalid UpdateExpression: " + syntax("<EOF>", "("));
  EXPECT_NE(update_problem("SET a = " + repeat("(", 2000) + "b" + repeat(")", 2000)), "");
  EXPECT_EQ(projection_problem("a" + repeat(".a", 2047)),
            "");  // its depth is checked when it is bound
}

TEST(ExprParser, AnyBytesGiveAnAnswer) {
  // Every text of up to three pieces, in each place; none may crash or be accepted as what it is
  // not.
  const std::vector<std::string> pieces = {"a",  "#n",  ":v",   "(",        ")",  "[", "]",   "1",
                                           ",",  ".",   "=",    "<>",       "<",  "+", "AND", "NOT",
                                           "IN", "SET", "size", "\xFF\xFE", "\"", "_"};
  size_t accepted = 0;
  for (const std::string& a : pieces) {
    for (const std::string& b : pieces) {
      for (const std::string& c : pieces) {
        const std::string text = a + " " + b + " " + c;
        if (condition_problem(text).empty()) ++accepted;
        update_problem(text);
        projection_problem(text);
      }
    }
  }
  EXPECT_EQ(accepted, 27U);  // three operands in two places, three comparators
}

}  // namespace
}  // namespace stator::expr::testing
