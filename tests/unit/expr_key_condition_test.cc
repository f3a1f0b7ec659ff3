// Which key conditions a Query may have.
#include "expr_testing.h"

namespace stator::expr::testing {
namespace {

std::vector<KeyClause> clauses(const std::string& text, const std::string& values) {
  ParseCache cache(0);
  Bindings bound = bindings("", values);
  return key_clauses(bind_condition(text, ExpressionKind::kKeyCondition, bound, cache));
}

std::string show(const KeyCondition& key) {
  static const char* kNames[] = {"=", "<", "<=", ">", ">=", "between", "begins_with"};
  std::string out;
  for (const model::Value& value : key.partition) out += testing::show(value) + " ";
  out += "|";
  for (const model::Value& value : key.sort_equal) out += " " + testing::show(value);
  if (key.range) {
    out += std::string(" ") + kNames[static_cast<size_t>(key.range->op)];
    for (const model::Value& value : key.range->values) out += " " + testing::show(value);
  }
  return out;
}

std::string matched(const std::string& text, const std::string& values,
                    const model::KeySchema& key) {
  std::string out;
  const std::string problem = error_of([&] { out = show(match_key(clauses(text, values), key)); });
  return problem.empty() ? out : problem;
}

model::KeySchema schema(std::vector<model::KeyAttribute> partition,
                        std::vector<model::KeyAttribute> sort) {
  model::KeySchema key;
  key.partition = std::move(partition);
  key.sort = std::move(sort);
  return key;
}

struct Case {
  std::string text;
  std::string values;
  std::string result;
};

const std::string kType =
    "One or more parameter values were invalid: Condition parameter type does not match schema "
    "type";
std::string operand(const std::string& op, const std::string& type) {
  return "Invalid KeyConditionExpression: Incorrect operand type for operator or function; "
         "operator or function: " +
         op + ", operand type: " + type;
}

TEST(ExprKeyCondition, ClausesMustBeComparisonsOfKeysWithValues) {
  const std::string condition = "Invalid condition in KeyConditionExpression: ";
  const std::string several = condition + "Multiple attribute names used in one condition";
  const std::string nested = "KeyConditionExpressions cannot have conditions on nested attributes";
  const std::string operation = "KeyConditionExpressions cannot contain nested operations";
  const std::string none = condition + "No key attribute specified";
  const std::string twice = "KeyConditionExpressions must only contain one condition per key";
  const auto op = [](const std::string& name) {
    return "Invalid operator used in KeyConditionExpression: " + name;
  };
  const auto first = [&](const std::string& name) {
    return condition + name + " operator must have the key attribute as its first operand";
  };
  const std::vector<Case> cases = {
      {"a > b and size(b) > c or a > c", "", op("OR")},
      {"a in (b, size(c), d)", "", op("IN")},
      {"attribute_exists(a)", "", op("attribute_exists")},
      {"attribute_not_exists(a)", "", op("attribute_not_exists")},
      {"attribute_type(a, :a)", ":a=\"S\"", op("attribute_type")},
      {"contains(a.d, b)", "", op("contains")},
      {"not a > b", "", op("NOT")},
      {"a <> b", "", op("<>")},
      {":a between size(b) and size(a) and b > :b", ":a=\"1\", :b=\"1\"", first("BETWEEN")},
      {"begins_with(:a, b) and a > :b", ":a=\"1\", :b=\"1\"", first("begins_with")},
      {"size(b) > a AND a.b > b AND b > c", "", operation},
      {"a > size(b.d)", "", operation},
      {"a between size(b) and size(a)", "", operation},
      {"b > a.b", "", several},
      {"b between c[1] and d", "", several},
      {"a between b and size(a)", "", several},
      {"begins_with(a, b)", "", several},
      {"b.d > a AND c.d > e.f", "", nested},
      {"a.d > c", "", nested},
      {"b[0] > a", "", nested},
      {"a = :v AND :v < b.x", ":v=1", nested},
      {":b > :a AND a < :b", ":a=1, :b=1", none},
      {":a > b AND :a < :b", ":a=1, :b=1", none},
      {"b > :a AND b < :a and c = :a and d = :a", ":a=1", twice},
      {"(a > :a and b > :a) and (b > :a and c > :a)", ":a=1", twice},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(error_of([&] { clauses(c.text, c.values); }),
              "Invalid KeyConditionExpression: " + c.result)
        << c.text;
  }
}

TEST(ExprKeyCondition, ClausesMatchAKeyOfTwo) {
  const model::KeySchema strings =
      schema({{"pk", model::KeyType::kString}}, {{"sk", model::KeyType::kString}});
  const model::KeySchema numbers =
      schema({{"pk", model::KeyType::kString}}, {{"sk", model::KeyType::kNumber}});
  const model::KeySchema hash_only = schema({{"pk", model::KeyType::kString}}, {});
  const std::string none = "Query condition missed key schema element: ";
  const auto blank = [](const std::string& name) {
    return "One or more parameter values are not valid. The AttributeValue for a key attribute "
           "cannot contain an empty "
           "string value. Key: " +
           name;
  };
  const std::vector<Case> on_numbers = {
      {"pk = :p", ":p=\"x\"", "\"x\" |"},
      {"(pk = :p)", ":p=\"x\"", "\"x\" |"},
      {":p = pk", ":p=\"x\"", "\"x\" |"},
      {"pk = :p and sk = :s", ":p=\"x\", :s=1", "\"x\" | 1"},
      {"sk = :s and pk = :p", ":p=\"x\", :s=1", "\"x\" | 1"},
      {"((sk=:s) AND (pk=:p))", ":p=\"x\", :s=1", "\"x\" | 1"},
      {"pk = :p and sk < :s", ":p=\"x\", :s=1", "\"x\" | < 1"},
      {"pk = :p and sk <= :s", ":p=\"x\", :s=1", "\"x\" | <= 1"},
      {"pk = :p and sk > :s", ":p=\"x\", :s=1", "\"x\" | > 1"},
      {"pk = :p and sk >= :s", ":p=\"x\", :s=1", "\"x\" | >= 1"},
      {"pk = :p and :s < sk", ":p=\"x\", :s=1", "\"x\" | > 1"},
      {"pk = :p and :s >= sk", ":p=\"x\", :s=1", "\"x\" | <= 1"},
      {"pk = :p and sk between :s and :t", ":p=\"x\", :s=1, :t=2", "\"x\" | between 1 2"},
      {"pk = :p and begins_with(sk, :s)", ":p=\"x\", :s=1", operand("begins_with", "N")},
      {"pk = :p and begins_with(sk, :s)", ":p=\"x\", :s=\"a\"", kType},
      {"pk = :p and sk < :s", ":p=\"x\", :s=true", operand("<", "BOOL")},
      {"pk = :p and :s >= sk", ":p=\"x\", :s=true", operand(">=", "BOOL")},
      {"pk = :p and sk between :s and :t", ":p=\"x\", :s=false, :t=true",
       operand("BETWEEN", "BOOL")},
      {"pk = :p and sk = :s", ":p=\"x\", :s=true", kType},
      {"pk = :p and sk = :s", ":p=\"x\", :s=\"1\"", kType},
      {"pk = :p", ":p=1", kType},
      {"pk < :p", ":p=\"x\"", "Query key condition not supported"},
      {"begins_with(pk, :p)", ":p=\"x\"", "Query key condition not supported"},
      {"sk = :s", ":s=1", none + "pk"},
      {"foo = :s", ":s=1", none + "pk"},
      {"pk = :p and foo = :s", ":p=\"x\", :s=1", none + "sk"},
      {"pk = :p and sk > :s and sk < :t", ":p=\"x\", :s=1, :t=2",
       "Invalid KeyConditionExpression: KeyConditionExpressions must only contain one condition "
       "per key"},
      {"pk = :p and sk > :s and extra = :t", ":p=\"x\", :s=1, :t=2",
       "The number of query conditions (3) exceeds the number of key attributes defined in the "
       "schema (2)"},
      {"pk = :p", ":p=\"\"", blank("pk")},
  };
  for (const Case& c : on_numbers)
    EXPECT_EQ(matched(c.text, c.values, numbers), c.result) << c.text;
  const std::vector<Case> on_strings = {
      {"pk = :p and begins_with(sk, :s)", ":p=\"x\", :s=\"a\"", "\"x\" | begins_with \"a\""},
      {"pk = :p and begins_with(sk, :s)", ":p=\"x\", :s=true", operand("begins_with", "BOOL")},
      {"pk = :p and begins_with(sk, :s)", ":p=\"x\", :s=b\"a\"", kType},
      {"pk = :p and sk > :s", ":p=\"x\", :s=\"\"", blank("sk")},
  };
  for (const Case& c : on_strings)
    EXPECT_EQ(matched(c.text, c.values, strings), c.result) << c.text;
  EXPECT_EQ(matched("pk = :p", ":p=\"x\"", hash_only), "\"x\" |");
  EXPECT_EQ(matched("pk = :p and sk = :p", ":p=\"x\"", hash_only),
            "The number of query conditions (2) exceeds the number of key attributes defined in "
            "the schema (1)");
}

TEST(ExprKeyCondition, ClausesMatchAKeyOfMany) {
  const auto s = model::KeyType::kString;
  const model::KeySchema many =
      schema({{"h", s}, {"i", s}}, {{"a", s}, {"b", s}, {"c", s}, {"d", s}});
  const std::string values = ":v=\"x\", :w=\"y\"";
  const auto gap = [](const std::string& before, const std::string& name) {
    return "RANGE key attributes " + before +
           " must have equality conditions specified in the query because a condition is present "
           "on key attribute " +
           name;
  };
  const std::vector<Case> cases = {
      {"h = :v and i = :w", values, "\"x\" \"y\" |"},
      {"i = :w and a = :v and h = :v", values, "\"x\" \"y\" | \"x\""},
      {"h = :v and i = :w and a = :v and b = :w", values, "\"x\" \"y\" | \"x\" \"y\""},
      {"h = :v and i = :w and a = :v and b > :w", values, "\"x\" \"y\" | \"x\" > \"y\""},
      {"h = :v and i = :w and a = :v and b = :v and c = :v and begins_with(d, :w)", values,
       "\"x\" \"y\" | \"x\" \"x\" \"x\" begins_with \"y\""},
      {"h = :v and i = :w and a = :v and c = :v", values, gap("b", "c")},
      {"h = :v and i = :w and a = :v and b > :v and c = :v", values, gap("b", "c")},
      {"h = :v and i = :w and b = :v", values, gap("a", "b")},
      {"h = :v and a = :w", values, "Query condition missed key schema element: i"},
      {"h = :v and i > :w", values, "Query key condition not supported"},
  };
  for (const Case& c : cases) EXPECT_EQ(matched(c.text, c.values, many), c.result) << c.text;
}

TEST(ExprKeyCondition, SortValuesAreMatched) {
  const model::KeySchema key =
      schema({{"pk", model::KeyType::kString}},
             {{"a", model::KeyType::kNumber}, {"b", model::KeyType::kString}});
  const auto matches = [&](const std::string& text, const std::string& values, const std::string& a,
                           const std::string& b) {
    const KeyCondition condition =
        match_key(clauses("pk = :p and " + text, ":p=\"x\", " + values), key);
    const model::Value first = value(a);
    const model::Value second = value(b);
    return condition.matches_sort({&first, &second});
  };
  EXPECT_TRUE(matches("a = :v", ":v=1", "1", "\"b\""));
  EXPECT_FALSE(matches("a = :v", ":v=1", "2", "\"b\""));
  EXPECT_TRUE(matches("a between :v and :w", ":v=1, :w=3", "3", "\"b\""));
  EXPECT_FALSE(matches("a between :v and :w", ":v=1, :w=3", "3.1", "\"b\""));
  EXPECT_TRUE(matches("a < :v", ":v=1", "0", "\"b\""));
  EXPECT_FALSE(matches("a > :v", ":v=1", "1", "\"b\""));
  EXPECT_TRUE(matches("a >= :v", ":v=1", "1", "\"b\""));
  EXPECT_TRUE(matches("a <= :v", ":v=1", "1", "\"b\""));
  EXPECT_TRUE(matches("a = :v and begins_with(b, :w)", ":v=1, :w=\"b\"", "1", "\"bb\""));
  EXPECT_FALSE(matches("a = :v and begins_with(b, :w)", ":v=1, :w=\"b\"", "1", "\"ab\""));
}

TEST(ExprKeyCondition, FiltersMustNotUseTheKey) {
  const model::KeySchema key =
      schema({{"pk", model::KeyType::kString}}, {{"sk", model::KeyType::kString}});
  const auto problem = [&](const std::string& text) {
    ParseCache cache(0);
    Bindings bound = bindings("", ":v=\"x\"");
    const Condition filter = bind_condition(text, ExpressionKind::kFilter, bound, cache);
    return error_of([&] { check_filter_attributes(filter, key); });
  };
  const std::string used =
      "Filter Expression can only contain non-primary key attributes: Primary key attribute: ";
  EXPECT_EQ(problem("a = :v or not size(b) > c"), "");
  EXPECT_EQ(problem("a = :v or not size(sk) > c"), used + "sk");
  EXPECT_EQ(problem("sk = :v and pk = :v"), used + "pk");
}

}  // namespace
}  // namespace stator::expr::testing
