#include "partiql/compile.h"

#include <gtest/gtest.h>

#include "partiql_testing.h"

namespace stator::partiql {
namespace {

using model::Value;
using testing::compile_refusal;
using testing::compiled;
using testing::number;
using testing::string;
using testing::where;

model::Item item_of(std::initializer_list<std::pair<std::string, Value>> attributes) {
  model::Item item;
  for (const auto& [name, value] : attributes) item.set(name, value);
  return item;
}

TEST(PartiqlCompile, ColumnsAreNamedByTheirLastElement) {
  const auto select = std::get<Select>(compiled("SELECT m.k, tags[1], m.l[0] FROM \"t\".\"i\""));
  EXPECT_EQ(select.from.table, "t");
  EXPECT_EQ(select.from.index, "i");
  ASSERT_EQ(select.columns->size(), 3u);
  EXPECT_EQ((*select.columns)[0].name, "k");
  EXPECT_EQ((*select.columns)[1].name, "tags[1]");
  EXPECT_EQ((*select.columns)[2].name, "l[0]");
}

TEST(PartiqlCompile, InsertTakesLiteralsAndParameters) {
  const auto insert = std::get<Insert>(
      compiled("INSERT INTO t VALUE {'pk': ?, 'n': -1.50, 's': <<'b', 'a'>>, 'l': [null, true]}",
               {string("x")}));
  EXPECT_EQ(insert.table, "t");
  EXPECT_EQ(*insert.item.find("pk"), string("x"));
  EXPECT_EQ(insert.item.find("n")->as_number().to_string(), "-1.5");
  EXPECT_EQ(insert.item.find("s")->as_string_set(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(insert.item.find("l")->as_list(), (model::List{Value::null(), Value::boolean(true)}));
}

TEST(PartiqlCompile, UpdateBecomesActions) {
  const auto update = std::get<Update>(compiled(
      "UPDATE t SET a = a + 1, b = list_append(b, [1]) SET s = set_add(s, <<'x'>>) REMOVE c.d "
      "WHERE pk = 'x' RETURNING MODIFIED NEW *"));
  ASSERT_EQ(update.update.actions().size(), 4u);
  EXPECT_EQ(update.update.actions()[2].kind, expr::UpdateAction::Kind::kAdd);
  EXPECT_EQ(update.update.actions()[3].kind, expr::UpdateAction::Kind::kRemove);
  EXPECT_FALSE(update.returning->all);
  EXPECT_FALSE(update.returning->old);
}

TEST(PartiqlCompile, FromFirstIsAnUpdate) {
  const auto update = std::get<Update>(compiled("FROM t WHERE pk = 'x' SET a = 1 REMOVE b"));
  EXPECT_EQ(update.table, "t");
  EXPECT_EQ(update.update.actions().size(), 2u);
  EXPECT_TRUE(update.where);
}

TEST(PartiqlCompile, ExistsHoldsASelect) {
  const auto exists =
      std::get<Exists>(compiled("EXISTS(SELECT * FROM t WHERE pk = 'x' AND a IS MISSING)"));
  EXPECT_EQ(exists.select.from.table, "t");
}

TEST(PartiqlCompile, ConditionsAreValues) {
  const model::Item item = item_of({{"n", number(1)}, {"flag", Value::boolean(true)}});
  const auto holds = [&](std::string_view condition) {
    return expr::evaluate(*where(condition), item);
  };
  EXPECT_TRUE(holds("attribute_exists(n) = true"));
  EXPECT_TRUE(holds("attribute_exists(x) = false"));
  EXPECT_TRUE(holds("true = attribute_exists(n)"));
  EXPECT_TRUE(holds("attribute_exists(n) <> 1"));
  EXPECT_FALSE(holds("attribute_exists(n) = 1"));
  EXPECT_TRUE(holds("attribute_exists(x) IN [true, false]"));
  EXPECT_TRUE(holds("attribute_exists(n) = attribute_exists(flag)"));
  EXPECT_FALSE(holds("attribute_exists(n) = attribute_exists(x)"));
  EXPECT_TRUE(holds("attribute_exists(n) = flag"));
  EXPECT_FALSE(holds("attribute_exists(n) = n"));
  EXPECT_FALSE(holds("NOT attribute_exists(n) = true"));
  EXPECT_TRUE(holds("(n BETWEEN 0 AND 5) = true"));
}

TEST(PartiqlCompile, ComparedConditionsDoNotGrowWithoutBound) {
  std::string text = "SELECT * FROM t WHERE a = 1";
  for (int i = 0; i < 200; ++i) text += " = b";
  EXPECT_EQ(compile_refusal(text), "Expression size has exceeded the maximum allowed size");
}

TEST(PartiqlCompile, TypeTests) {
  const model::Item item = item_of({{"nul", Value::null()}, {"s", string("x")}});
  const auto holds = [&](std::string_view condition) {
    return expr::evaluate(*where(condition), item);
  };
  EXPECT_TRUE(holds("nul IS NULL"));
  EXPECT_FALSE(holds("x IS NULL"));
  EXPECT_TRUE(holds("x IS NOT NULL"));
  EXPECT_TRUE(holds("x IS MISSING"));
  EXPECT_TRUE(holds("nul IS NOT MISSING"));
  EXPECT_TRUE(holds("s IS STRING"));
  EXPECT_FALSE(holds("s IS BOOL"));
}

struct Refused {
  const char* statement;
  const char* message;
};

TEST(PartiqlCompile, RefusesWhatTheServiceRefuses) {
  const Refused cases[] = {
      {"SELECT * FROM t u", "Aliasing is not supported"},
      {"UPDATE t u SET a = 1", "Aliasing is not supported"},
      {"SELECT a AS b FROM t", "Aliasing is not supported"},
      {"SELECT * FROM \"\"", "Path component cannot be an empty string"},
      {"SELECT * FROM a.b.c", "A path may contain at most 2 components in the FROM clause"},
      {"UPDATE t.i SET a = 1", "This operation is not supported on an index"},
      {"INSERT INTO abcdefgh.idx VALUE {'pk':'a'}",
       "FROM clause may only contain a single table name in data manipulation statements at "
       "1:13:8"},
      {"SELECT pk, COUNT(*) FROM t", "Unexpected path component at 1:12:5"},
      {"SELECT id FROM t LIMIT 5", "Unsupported clause: LIMIT at 1:24:1"},
      {"SELECT a.z, b.z FROM t", "Duplicate identifiers in select clause: z"},
      {"SELECT l[-1] FROM t",
       "List index is not within the allowable range; index: [-1] at 1:11:1"},
      {"SELECT * FROM t ORDER BY a",
       "Must have WHERE clause in the statement when using ORDER BY clause."},
      {"SELECT * FROM t WHERE EXISTS(a)", "Unrecognized function: exists at 1:23:6"},
      {"SELECT * FROM t WHERE attribute_exists('a')",
       "Operator or function requires a document path; operator or function: attribute_exists"},
      {"SELECT * FROM t WHERE attribute_exists()",
       "Incorrect number of operands for operator or function; operator or function: "
       "attribute_exists, number of operands: 0"},
      {"SELECT * FROM t WHERE a < true",
       "Incorrect operand type for operator or function; operator or function: <, operand type: "
       "BOOL"},
      {"SELECT * FROM t WHERE a BETWEEN null AND 1",
       "Incorrect operand type for operator or function; operator or function: BETWEEN, operand "
       "type: NULL"},
      {"SELECT * FROM t WHERE a = 5 + 5",
       "Unsupported operator in Condition Expression. Operator: +"},
      {"SELECT * FROM t WHERE a = -b",
       "Incorrect number of operands for operator or function; operator or function: -, number of "
       "operands: 1"},
      {"SELECT * FROM t WHERE a = ?", "Number of parameters in request and statement don't match."},
      {"SELECT * FROM t WHERE a = 1e126",
       "Number overflow. Attempting to store a number with magnitude larger than supported range "
       "under root"},
      {"INSERT INTO t VALUE {'l': [1, 1e-131]}",
       "Number underflow. Attempting to store a number with magnitude smaller than supported "
       "range under root[1]"},
      {"INSERT INTO t VALUE {'s': <<>>}", "Empty bags are not supported"},
      {"INSERT INTO t VALUE {'s': <<1, 'a'>>}",
       "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags"},
      {"INSERT INTO t VALUE {'s': <<'a', 'a'>>}",
       "One or more parameter values were invalid: Input collection [a, a] contains duplicates."},
      {"INSERT INTO t VALUE {'s': <<2, 2.0>>}",
       "One or more parameter values were invalid: Input collection [2, 2.0] contains duplicates! "
       "under root"},
      {"UPDATE t SET n = 'a' + 1",
       "Incorrect operand type for operator or function; operator or function: +, operand type: S"},
      {"UPDATE t SET a = set_add(b, <<'x'>>)",
       "The first argument to SET_ADD must equal the assignment value at 1:18:7"},
      {"UPDATE t SET a = set_delete(a, 'x')",
       "The second argument to SET_DELETE must be a value with type SET at 1:29:1"},
      {"UPDATE t SET a = set_add(a)", "SET_ADD must have exactly two arguments at 1:18:7"},
      {"DELETE FROM t WHERE pk = 'x' RETURNING MODIFIED OLD *",
       "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is allowed in "
       "DELETE statements."},
      {"x IS INT4", "Unsupported operation: IsType"},
  };
  for (const Refused& refused : cases) {
    EXPECT_EQ(compile_refusal(refused.statement), refused.message) << refused.statement;
  }
}

TEST(PartiqlCompile, ParametersDoNotStandInsideCollections) {
  EXPECT_EQ(compile_refusal("UPDATE t SET x = [?]", {string("v")}),
            "Unsupported data type: Parameter under key root[0] at 1:19:1");
  EXPECT_EQ(compile_refusal("INSERT INTO t VALUE {'m': {'k': ?}}", {string("v")}),
            "Unsupported data type: Parameter under key root.k at 1:33:1");
  EXPECT_EQ(compile_refusal("SELECT * FROM t WHERE a IN [?]", {string("v")}), "accepted");
}

TEST(PartiqlCompile, LiteralsNest31Levels) {
  const auto statement = [](size_t levels) {
    return "UPDATE t SET d = " + std::string(levels, '[') + "1" + std::string(levels, ']');
  };
  EXPECT_EQ(compile_refusal(statement(31)), "accepted");
  std::string path = "root";
  for (int i = 0; i < 32; ++i) path += "[0]";
  EXPECT_EQ(compile_refusal(statement(32)),
            "Nesting Levels have exceeded supported limits under " + path);
}

TEST(PartiqlCompile, InTakesAHundredOperands) {
  const auto statement = [](size_t count) {
    std::string list;
    for (size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + std::to_string(i);
    return "SELECT * FROM t WHERE a IN [" + list + "]";
  };
  EXPECT_EQ(compile_refusal(statement(100)), "accepted");
  EXPECT_EQ(compile_refusal(statement(101)),
            "The IN operator is provided with too many operands; number of operands: 101");
}

}  // namespace
}  // namespace stator::partiql
