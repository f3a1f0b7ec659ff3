// Whether conditions hold for items.
#include "expr_testing.h"

namespace stator::expr::testing {
namespace {

struct Case {
  std::string text;
  std::string values;
  bool holds;
};

constexpr const char* kItem =
    "{n: 5, s: \"hello\", b: b\"hi there\", t: true, z: null, ss: <\"x\", \"y\">, ns: <1, 2.5>, "
    "bs: <b\"x\", b\"y\">, "
    "l: [1, \"two\", <1, 2>, [3, 4], {k: 1}], m: {a: 1, b: [10, {c: \"deep\"}], e: {}}, n2: 7, "
    "five: 5, blank: \"\"}";

bool holds(const std::string& text, const std::string& values, const model::Item& on) {
  ParseCache cache(0);
  Bindings bound = bindings("", values);
  return evaluate(bind_condition(text, ExpressionKind::kCondition, bound, cache), on);
}

TEST(ExprEvaluate, ConditionsHoldAsInTheService) {
  const std::vector<Case> cases = {
      // equality
      {"n = :v", ":v=5", true},
      {"n = :v", ":v=5.0", true},
      {"n = :v", ":v=\"5\"", false},
      {"n = five", "", true},
      {"n = n2", "", false},
      {"t = :v", ":v=true", true},
      {"z = :v", ":v=null", true},
      {"l[2] = :v", ":v=<2, 1>", true},
      {"l[3] = :v", ":v=[3, 4]", true},
      {"m.e = :v", ":v={}", true},
      {"ss = :v", ":v=<\"y\", \"x\">", true},
      {"gone = :v", ":v=1", false},
      {"gone = away", "", false},
      {"n <> :v", ":v=4", true},
      {"n <> :v", ":v=5", false},
      {"n <> :v", ":v=\"5\"", true},
      {"gone <> :v", ":v=1", true},
      {"gone <> away", "", true},
      // order
      {"n < :v", ":v=6", true},
      {"n < :v", ":v=5", false},
      {"n <= :v", ":v=5", true},
      {"n > :v", ":v=4.999", true},
      {"n >= :v", ":v=5", true},
      {"n < :v", ":v=\"9\"", false},
      {"s < :v", ":v=\"help\"", true},
      {"s > :v", ":v=\"Hello\"", true},
      {"b < :v", ":v=b\"hj\"", true},
      {"gone < :v", ":v=1", false},
      {":v < gone", ":v=1", false},
      {"gone >= away", "", false},
      {"t < :v", ":v=1", false},
      {"l < :v", ":v=1", false},
      {"t > n", "", false},
      {"ss >= n", "", false},
      {"blank < s", "", true},
      // between
      {"n between :a and :b", ":a=5, :b=5", true},
      {"n between :a and :b", ":a=1, :b=4", false},
      {"n between :a and :b", ":a=\"1\", :b=\"9\"", false},
      {"n between :a and n2", ":a=1", true},
      {"n between n2 and :a", ":a=1", false},
      {"n between l and :a", ":a=9", false},
      {"gone between :a and :b", ":a=1, :b=2", false},
      {"n between gone and :b", ":b=9", false},
      {"size(s) between :a and :b", ":a=5, :b=5", true},
      // in
      {"n in (:a, :b)", ":a=\"dog\", :b=5", true},
      {"n in (:a)", ":a=4", false},
      {"n in (n2, five)", "", true},
      {"gone in (:a)", ":a=1", false},
      {"n in (gone, :a)", ":a=5", true},
      {"l[2] in (:a)", ":a=<1, 2>", true},
      // existence and type
      {"attribute_exists(n)", "", true},
      {"attribute_exists(z)", "", true},
      {"attribute_exists(gone)", "", false},
      {"attribute_exists(m.b[1].c)", "", true},
      {"attribute_exists(m.b[2])", "", false},
      {"attribute_exists(m[0])", "", false},
      {"attribute_exists(n.x)", "", false},
      {"attribute_exists(l.x)", "", false},
      {"attribute_not_exists(gone)", "", true},
      {"attribute_not_exists(n)", "", false},
      {"attribute_type(n, :t)", ":t=\"N\"", true},
      {"attribute_type(n, :t)", ":t=\"S\"", false},
      {"attribute_type(s, :t)", ":t=\"S\"", true},
      {"attribute_type(b, :t)", ":t=\"B\"", true},
      {"attribute_type(t, :t)", ":t=\"BOOL\"", true},
      {"attribute_type(z, :t)", ":t=\"NULL\"", true},
      {"attribute_type(ss, :t)", ":t=\"SS\"", true},
      {"attribute_type(ns, :t)", ":t=\"NS\"", true},
      {"attribute_type(bs, :t)", ":t=\"BS\"", true},
      {"attribute_type(l, :t)", ":t=\"L\"", true},
      {"attribute_type(m, :t)", ":t=\"M\"", true},
      {"attribute_type(gone, :t)", ":t=\"NULL\"", false},
      {"attribute_type(:v, :t)", ":v=1, :t=\"N\"", true},
      // begins_with
      {"begins_with(s, :v)", ":v=\"hell\"", true},
      {"begins_with(s, :v)", ":v=\"hello!\"", false},
      {"begins_with(s, :v)", ":v=\"\"", true},
      {"begins_with(b, :v)", ":v=b\"hi\"", true},
      {"begins_with(s, :v)", ":v=b\"hell\"", false},
      {"begins_with(n, :v)", ":v=\"5\"", false},
      {"begins_with(gone, :v)", ":v=\"\"", false},
      {"begins_with(:v, s)", ":v=\"hellohi\"", true},
      // contains
      {"contains(s, :v)", ":v=\"ell\"", true},
      {"contains(s, :v)", ":v=\"elk\"", false},
      {"contains(s, :v)", ":v=1", false},
      {"contains(b, :v)", ":v=b\"the\"", true},
      {"contains(ss, :v)", ":v=\"x\"", true},
      {"contains(ss, :v)", ":v=\"z\"", false},
      {"contains(ns, :v)", ":v=2.50", true},
      {"contains(ns, :v)", ":v=\"1\"", false},
      {"contains(bs, :v)", ":v=b\"y\"", true},
      {"contains(l, :v)", ":v=\"two\"", true},
      {"contains(l, :v)", ":v=<2, 1>", true},
      {"contains(l, :v)", ":v=[3, 4]", true},
      {"contains(l, :v)", ":v={k: 1}", true},
      {"contains(l, :v)", ":v=2", false},
      {"contains(m, :v)", ":v=\"a\"", false},
      {"contains(n, :v)", ":v=5", false},
      {"contains(gone, :v)", ":v=5", false},
      {"contains(ns, l[0])", "", true},
      // size
      {"size(s) = :v", ":v=5", true},
      {"size(b) = :v", ":v=8", true},
      {"size(ss) = :v", ":v=2", true},
      {"size(ns) = :v", ":v=2", true},
      {"size(bs) = :v", ":v=2", true},
      {"size(l) = :v", ":v=5", true},
      {"size(m) = :v", ":v=3", true},
      {"size(m.e) = :v", ":v=0", true},
      {"size(blank) = :v", ":v=0", true},
      {"size(n) > :v", ":v=0", false},
      {"size(t) > :v", ":v=0", false},
      {"size(z) > :v", ":v=0", false},
      {"size(n) <> :v", ":v=0", true},
      {"size(gone) = :v", ":v=0", false},
      {"size(s) = n", "", true},
      {"size(s) = size(l)", "", true},
      {"size(s) = :v", ":v=\"5\"", false},
      // logic
      {"n = :v and s = :w", ":v=5, :w=\"hello\"", true},
      {"n = :v and s = :w", ":v=4, :w=\"hello\"", false},
      {"n = :v or s = :w", ":v=4, :w=\"hello\"", true},
      {"not n = :v", ":v=4", true},
      {"not n = :v or n = :v", ":v=5", true},
      {"n = :f or n = :v and n = :f", ":v=5, :f=4", false},
      {"n = :v or n = :v and n = :f", ":v=5, :f=4", true},
      {"(n = :v or n = :v) and n = :f", ":v=5, :f=4", false},
      {"not (n = :v and n = :f)", ":v=5, :f=4", true},
      {"not not n = :v", ":v=5", true},
      {"not gone < :v", ":v=1", true},
  };
  const model::Item on = item(kItem);
  for (const Case& c : cases)
    EXPECT_EQ(holds(c.text, c.values, on), c.holds) << c.text << " with " << c.values;
}

TEST(ExprEvaluate, AMissingItemIsAnEmptyOne) {
  EXPECT_TRUE(holds("attribute_not_exists(pk)", "", {}));
  EXPECT_FALSE(holds("attribute_exists(pk)", "", {}));
  EXPECT_TRUE(holds("pk <> :v", ":v=1", {}));
}

TEST(ExprEvaluate, TreesCanBeBuiltByHand) {
  const model::Item on = item(kItem);
  const Condition condition = Condition::all_of({
      Condition::compare(Condition::Kind::kEqual, Operand::of_path(Path("n")),
                         Operand::of_value(value("5"))),
      Condition::negation(Condition::not_exists(Path("s"))),
      Condition::has_type(Path("z"), model::Type::kNull),
      Condition::between(Operand::of_path(Path("n")), Operand::of_value(value("1")),
                         Operand::of_value(value("9"))),
      Condition::any_of({Condition::always(false), Condition::in(Operand::of_path(Path("n2")),
                                                                 {Operand::of_value(value("7"))})}),
      Condition::begins_with(Operand::of_path(Path("s")), Operand::of_value(value("\"he\""))),
      Condition::contains(Operand::of_path(Path("ss")), Operand::of_value(value("\"x\""))),
      Condition::exists(
          Path({PathElement::of_name("m"), PathElement::of_name("b"), PathElement::of_index(1)})),
  });
  EXPECT_TRUE(evaluate(condition, on));
  std::vector<std::string> seen;
  for_each_path(condition, [&](const Path& path) { seen.push_back(path.to_string()); });
  EXPECT_EQ(seen, (std::vector<std::string>{"[n]", "[s]", "[z]", "[n]", "[n2]", "[s]", "[ss]",
                                            "[m, b, [1]]"}));
}

}  // namespace
}  // namespace stator::expr::testing
