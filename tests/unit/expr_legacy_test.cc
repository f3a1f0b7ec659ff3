// The parameters from before expressions.
#include "expr/legacy.h"

#include "expr_testing.h"

namespace stator::expr::testing {
namespace {

const std::string kInvalid = "One or more parameter values were invalid: ";

std::vector<model::Value> list_of(const std::string& text) {
  return value("[" + text + "]").as_list();
}

LegacyCondition condition(const std::string& name, const std::string& op,
                          const std::string& values) {
  return {name, parse_comparison_operator(op).value(), list_of(values)};
}

TEST(ExprLegacy, OperatorsAreNamedAsInTheApi) {
  for (const std::string name : {"EQ", "NE", "IN", "LE", "LT", "GE", "GT", "BETWEEN", "NOT_NULL",
                                 "NULL", "CONTAINS", "NOT_CONTAINS", "BEGINS_WITH"}) {
    ASSERT_TRUE(parse_comparison_operator(name).has_value()) << name;
    EXPECT_EQ(operator_name(*parse_comparison_operator(name)), name);
  }
  EXPECT_FALSE(parse_comparison_operator("eq").has_value());
}

TEST(ExprLegacy, ArgumentsAreCounted) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"EQ", ""},
      {"NE", ""},
      {"LE", ""},
      {"LT", ""},
      {"GE", ""},
      {"GT", ""},
      {"CONTAINS", ""},
      {"IN", ""},
      {"BETWEEN", ""},
      {"BEGINS_WITH", ""},
      {"NOT_CONTAINS", ""},
      {"NULL", "1"},
      {"NOT_NULL", "1"},
      {"EQ", "1, 1"},
      {"NE", "1, 1"},
      {"LE", "1, 1"},
      {"LT", "1, 1"},
      {"GE", "1, 1"},
      {"GT", "1, 1"},
      {"CONTAINS", "1, 1"},
      {"NULL", "1, 1"},
      {"NOT_CONTAINS", "1, 1"},
      {"BETWEEN", "1"},
      {"BETWEEN", "1, 1, 1"},
      {"BEGINS_WITH", "1, 1"},
  };
  for (const auto& [op, values] : cases) {
    const std::string expected =
        kInvalid + "Invalid number of argument(s) for the " + op + " ComparisonOperator";
    EXPECT_EQ(error_of([&] { filter_condition({condition("a", op, values)}, std::nullopt); }),
              expected)
        << op;
    EXPECT_EQ(error_of([&] { key_conditions({condition("a", op, values)}); }), expected) << op;
  }
}

TEST(ExprLegacy, ArgumentTypesAreChecked) {
  struct Case {
    std::string op;
    std::string values;
    std::string problem;
  };
  const auto type = [](const std::string& op, const std::string& name) {
    return kInvalid + "ComparisonOperator " + op + " is not valid for " + name +
           " AttributeValue type";
  };
  std::vector<Case> cases = {
      {"EQ", "<\"a\">", ""},
      {"EQ", "[1]", ""},
      {"NE", "null", ""},
      {"IN", "1, 2, 3", ""},
      {"IN", "1, \"a\"",
       kInvalid + "AttributeValues inside AttributeValueList must be of same type"},
      {"BETWEEN", "1, \"a\"",
       kInvalid + "AttributeValues inside AttributeValueList must be of same type"},
      {"BETWEEN", "2, 1",
       "The BETWEEN condition was provided a range where the lower bound is greater than the upper "
       "bound"},
      {"BETWEEN", "1, 1", ""},
      {"CONTAINS", "true", ""},
      {"NOT_CONTAINS", "null", ""},
      {"BEGINS_WITH", "1", type("BEGINS_WITH", "N")},
      {"BEGINS_WITH", "b\"x\"", ""},
  };
  const std::vector<std::pair<std::string, std::string>> others = {
      {"true", "BOOL"},   {"null", "NULL"}, {"<\"a\">", "SS"}, {"<1>", "NS"},
      {"<b\"a\">", "BS"}, {"{}", "M"},      {"[]", "L"},
  };
  for (const auto& [text, name] : others) {
    for (const std::string op : {"LT", "LE", "GT", "GE", "IN", "BEGINS_WITH"})
      cases.push_back({op, text, type(op, name)});
    cases.push_back({"BETWEEN", text + ", " + text, type("BETWEEN", name)});
    if (name == "BOOL" || name == "NULL") continue;
    for (const std::string op : {"CONTAINS", "NOT_CONTAINS"})
      cases.push_back({op, text, type(op, name)});
  }
  for (const Case& c : cases) {
    EXPECT_EQ(error_of([&] { filter_condition({condition("a", c.op, c.values)}, std::nullopt); }),
              c.problem)
        << c.op << " " << c.values;
    ExpectedAttribute expected;
    expected.name = "a";
    expected.op = parse_comparison_operator(c.op);
    expected.values = list_of(c.values);
    EXPECT_EQ(error_of([&] { expected_condition({expected}, std::nullopt); }), c.problem)
        << c.op << " " << c.values;
  }
}

TEST(ExprLegacy, FiltersHoldAsInTheService) {
  struct Case {
    std::string name;
    std::string op;
    std::string values;
    bool holds;
  };
  const model::Item on =
      item("{n: 5, s: \"hello\", b: b\"hi\", ns: <2, 4>, l: [2, \"x\"], z: null, m: {a: 1}}");
  const std::vector<Case> cases = {
      {"n", "EQ", "5", true},
      {"n", "EQ", "\"5\"", false},
      {"q", "EQ", "5", false},
      {"z", "EQ", "null", true},
      {"m", "EQ", "{a: 1}", true},
      {"n", "NE", "4", true},
      {"n", "NE", "5", false},
      {"n", "NE", "\"5\"", true},
      {"q", "NE", "5", true},
      {"n", "LE", "5", true},
      {"n", "LT", "5", false},
      {"n", "GE", "5", true},
      {"n", "GT", "4", true},
      {"n", "GT", "\"4\"", false},
      {"q", "GT", "4", false},
      {"s", "LT", "\"help\"", true},
      {"n", "BETWEEN", "1, 5", true},
      {"n", "BETWEEN", "6, 7", false},
      {"q", "BETWEEN", "1, 5", false},
      {"n", "IN", "1, 5", true},
      {"n", "IN", "1, 2", false},
      {"ns", "IN", "2, 4", false},
      {"n", "NOT_NULL", "", true},
      {"z", "NOT_NULL", "", true},
      {"q", "NOT_NULL", "", false},
      {"q", "NULL", "", true},
      {"z", "NULL", "", false},
      {"s", "CONTAINS", "\"ell\"", true},
      {"s", "CONTAINS", "1", false},
      {"ns", "CONTAINS", "4", true},
      {"l", "CONTAINS", "\"x\"", true},
      {"q", "CONTAINS", "1", false},
      {"b", "CONTAINS", "b\"i\"", true},
      {"s", "NOT_CONTAINS", "\"ell\"", false},
      {"s", "NOT_CONTAINS", "\"elk\"", true},
      {"s", "NOT_CONTAINS", "1", true},
      {"ns", "NOT_CONTAINS", "3", true},
      {"q", "NOT_CONTAINS", "1", false},
      {"s", "BEGINS_WITH", "\"he\"", true},
      {"n", "BEGINS_WITH", "\"5\"", false},
      {"q", "BEGINS_WITH", "\"5\"", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(evaluate(filter_condition({condition(c.name, c.op, c.values)}, std::nullopt), on),
              c.holds)
        << c.name << " " << c.op << " " << c.values;
  }
  const auto two = [&](std::optional<ConditionalOperator> op) {
    return evaluate(
        filter_condition({condition("n", "EQ", "5"), condition("s", "EQ", "\"x\"")}, op), on);
  };
  EXPECT_FALSE(two(std::nullopt));
  EXPECT_FALSE(two(ConditionalOperator::kAnd));
  EXPECT_TRUE(two(ConditionalOperator::kOr));
  EXPECT_TRUE(evaluate(filter_condition({}, std::nullopt), on));
}

TEST(ExprLegacy, ExpectedIsChecked) {
  struct Case {
    std::optional<std::string> op;
    std::optional<std::string> values;
    std::optional<std::string> one;
    std::optional<bool> exists;
    std::string problem;
  };
  const std::vector<Case> cases = {
      {{}, {}, "1", {}, ""},
      {{}, {}, "1", true, ""},
      {{}, {}, {}, false, ""},
      {"EQ", "1", {}, {}, ""},
      {"EQ", {}, "1", {}, ""},
      {"NULL", {}, {}, {}, ""},
      {"NOT_NULL", "", {}, {}, ""},
      {{}, {}, {}, {}, "Value must be provided when Exists is null for Attribute: a"},
      {{}, {}, {}, true, "Value must be provided when Exists is true for Attribute: a"},
      {{}, {}, "1", false, "Value cannot be used when Exists is false for Attribute: a"},
      {{}, "1", "1", {}, "Value and AttributeValueList cannot be used together for Attribute: a"},
      {"EQ",
       {},
       {},
       {},
       "Value or AttributeValueList must be used with ComparisonOperator: EQ for Attribute: a"},
      {"EQ",
       "1",
       {},
       true,
       "Exists and ComparisonOperator cannot be used together for Attribute: a"},
      {{},
       "1",
       {},
       {},
       "AttributeValueList can only be used with a ComparisonOperator for Attribute: a"},
      {"BETWEEN", {}, "1", {}, "Invalid number of argument(s) for the BETWEEN ComparisonOperator"},
      {"EQ", "", {}, {}, "Invalid number of argument(s) for the EQ ComparisonOperator"},
  };
  for (const Case& c : cases) {
    ExpectedAttribute expected;
    expected.name = "a";
    if (c.op) expected.op = parse_comparison_operator(*c.op);
    if (c.values) expected.values = list_of(*c.values);
    if (c.one) expected.value = value(*c.one);
    expected.exists = c.exists;
    EXPECT_EQ(error_of([&] { expected_condition({expected}, std::nullopt); }),
              c.problem.empty() ? "" : kInvalid + c.problem);
  }
}

TEST(ExprLegacy, ExpectedHoldsAsInTheService) {
  const model::Item on = item("{a: 1}");
  const auto holds = [&](const std::string& name, std::optional<std::string> wanted,
                         std::optional<bool> exists) {
    ExpectedAttribute expected;
    expected.name = name;
    if (wanted) expected.value = value(*wanted);
    expected.exists = exists;
    return evaluate(expected_condition({expected}, std::nullopt), on);
  };
  EXPECT_TRUE(holds("a", "1", {}));
  EXPECT_TRUE(holds("a", "1", true));
  EXPECT_FALSE(holds("a", "2", {}));
  EXPECT_FALSE(holds("b", "1", {}));
  EXPECT_FALSE(holds("a", {}, false));
  EXPECT_TRUE(holds("b", {}, false));
}

TEST(ExprLegacy, ConditionalOperatorNeedsTwo) {
  EXPECT_EQ(error_of([] { check_conditional_operator(std::nullopt, 0); }), "");
  EXPECT_EQ(error_of([] { check_conditional_operator(ConditionalOperator::kAnd, 2); }), "");
  EXPECT_EQ(
      error_of([] { check_conditional_operator(ConditionalOperator::kAnd, 1); }),
      "ConditionalOperator can only be used when Filter or Expected has two or more elements");
  EXPECT_EQ(error_of([] { check_conditional_operator(ConditionalOperator::kOr, 0); }),
            "ConditionalOperator cannot be used without Filter or Expected");
}

TEST(ExprLegacy, UpdatesPutAddAndDelete) {
  using Action = AttributeUpdate::Action;
  struct Case {
    std::optional<Action> action;
    std::optional<std::string> operand;
    std::string old;
    std::string result;
  };
  const std::string mismatch = "Type mismatch for attribute to update";
  const std::vector<Case> cases = {
      {{}, "1", "{}", "{a: 1}"},
      {Action::kPut, "[]", "{a: 1, b: 2}", "{a: [], b: 2}"},
      {Action::kPut,
       {},
       "{}",
       kInvalid + "Only DELETE action is allowed when no attribute value is specified"},
      {{},
       {},
       "{}",
       kInvalid + "Only DELETE action is allowed when no attribute value is specified"},
      {Action::kAdd, "2", "{a: 1}", "{a: 3}"},
      {Action::kAdd, "2", "{}", "{a: 2}"},
      {Action::kAdd, "<2>", "{a: <1>}", "{a: <1, 2>}"},
      {Action::kAdd, "[2]", "{a: [1, 2]}", "{a: [1, 2, 2]}"},
      {Action::kAdd, "[2]", "{}", "{a: [2]}"},
      {Action::kAdd, "\"x\"", "{}", kInvalid + "ADD action is not supported for the type S"},
      {Action::kAdd, "{}", "{}", kInvalid + "ADD action is not supported for the type M"},
      {Action::kAdd, "<1>", "{a: <\"1\">}", mismatch},
      {Action::kAdd, "1", "{a: <1>}", mismatch},
      {Action::kDelete, {}, "{a: 1, b: 2}", "{b: 2}"},
      {Action::kDelete, {}, "{b: 2}", "{b: 2}"},
      {Action::kDelete, "<1>", "{a: <1, 2>}", "{a: <2>}"},
      {Action::kDelete, "<1>", "{a: <1>}", "{}"},
      {Action::kDelete, "<1>", "{}", "{}"},
      {Action::kDelete, "<1>", "{a: <\"1\">}", mismatch},
      {Action::kDelete, "<1>", "{a: 1}", mismatch},
      {Action::kDelete, "\"x\"", "{}",
       kInvalid + "DELETE action with value is not supported for the type S"},
      {Action::kDelete, "[1]", "{}",
       kInvalid + "DELETE action with value is not supported for the type L"},
  };
  for (const Case& c : cases) {
    AttributeUpdate update;
    update.name = "a";
    update.action = c.action;
    if (c.operand) update.value = value(*c.operand);
    std::string result;
    const model::Item old = item(c.old);
    const std::string problem = error_of(
        [&] { result = testing::show(attribute_updates({update}).apply(&old, {}).value()); });
    EXPECT_EQ(problem.empty() ? result : problem, c.result);
  }
}

TEST(ExprLegacy, UpdatesThatOnlyDeleteMakeNoItem) {
  const model::Item key = item("{pk: 1}");
  AttributeUpdate remove;
  remove.name = "a";
  remove.action = AttributeUpdate::Action::kDelete;
  EXPECT_FALSE(attribute_updates({remove}).apply(nullptr, key).has_value());
  EXPECT_EQ(testing::show(attribute_updates({}).apply(nullptr, key).value()), "{pk: 1}");
}

TEST(ExprLegacy, KeyConditionsAreMatched) {
  model::KeySchema key;
  key.partition = {{"pk", model::KeyType::kString}};
  key.sort = {{"sk", model::KeyType::kNumber}};
  const auto problem = [&](std::vector<LegacyCondition> conditions) {
    return error_of([&] { match_key(key_conditions(std::move(conditions)), key); });
  };
  const LegacyCondition pk = condition("pk", "EQ", "\"x\"");
  EXPECT_EQ(problem({pk}), "");
  for (const std::string op : {"EQ", "LE", "LT", "GE", "GT"})
    EXPECT_EQ(problem({pk, condition("sk", op, "1")}), "");
  EXPECT_EQ(problem({pk, condition("sk", "BETWEEN", "1, 2")}), "");
  for (const std::string op : {"NE", "IN", "CONTAINS", "NOT_CONTAINS"}) {
    EXPECT_EQ(problem({pk, condition("sk", op, "1")}),
              "Attempted conditional constraint is not an indexable operation");
  }
  EXPECT_EQ(problem({pk, condition("sk", "NULL", "")}),
            "Attempted conditional constraint is not an indexable operation");
  EXPECT_EQ(problem({pk, condition("sk", "BEGINS_WITH", "\"1\"")}),
            kInvalid + "Condition parameter type does not match schema type");
  EXPECT_EQ(problem({condition("pk", "GT", "\"x\"")}), "Query key condition not supported");
  EXPECT_EQ(problem({condition("sk", "EQ", "1")}), "Query condition missed key schema element: pk");
  EXPECT_EQ(problem({pk, condition("z", "EQ", "1")}),
            "Query condition missed key schema element: sk");
  EXPECT_EQ(problem({}), "Conditions can be of length 1 or 2 only");
}

TEST(ExprLegacy, AttributesToGetAreUnique) {
  EXPECT_EQ(error_of([] {
              attributes_to_get({"a", "b", "a"});
            }),
            kInvalid + "Duplicate value in attribute name: a");
  EXPECT_EQ(testing::show(project(attributes_to_get({"b", "a", "q"}), item("{a: 1, b: 2, c: 3}"))),
            "{a: 1, b: 2}");
}

// As many as are put into the item at once instead of one by one.
TEST(ExprLegacy, ManyUpdatesInAnyOrder) {
  model::Item old;
  for (int i = 0; i < 300; i += 3) old.set("a" + std::to_string(i), model::Value::boolean(false));
  old.set("b", model::Value::null());
  model::Item expected = old;
  std::vector<AttributeUpdate> updates;
  for (int i = 299; i >= 0; --i) {
    AttributeUpdate update;
    update.name = "a" + std::to_string(i);
    if (i % 2 == 0) {
      update.action = AttributeUpdate::Action::kPut;
      update.value = model::Value::number(model::Number::from_int(i));
      expected.set(update.name, *update.value);
    } else {
      update.action = AttributeUpdate::Action::kDelete;
      expected.erase(update.name);
    }
    updates.push_back(std::move(update));
  }
  const auto result = attribute_updates(std::move(updates)).apply(&old, {});
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(*result == expected);
}

}  // namespace
}  // namespace stator::expr::testing
