// What a projection leaves of an item.
#include "expr_testing.h"

namespace stator::expr::testing {
namespace {

std::string projected(const std::string& text, const std::string& names, const model::Item& from) {
  ParseCache cache(0);
  Bindings bound = bindings(names, "");
  return show(project(bind_projection(text, bound, cache), from));
}

TEST(ExprProjection, KeepsTheShapeAndClosesUpLists) {
  struct Case {
    std::string text;
    std::string names;
    std::string left;
  };
  const model::Item from = item(
      "{a: {b: [2, 4, {x: \"hi\", y: \"yo\"}], c: 5, e: {}}, b: \"hello\", l: [[1, 2], [3, 4], "
      "[]], \"x.y\": 1}");
  const std::vector<Case> cases = {
      {"b", "", "{b: \"hello\"}"},
      {"b, a", "", "{a: {b: [2, 4, {x: \"hi\", y: \"yo\"}], c: 5, e: {}}, b: \"hello\"}"},
      {"#p", "#p=x.y", "{x.y: 1}"},
      {"a.b", "", "{a: {b: [2, 4, {x: \"hi\", y: \"yo\"}]}}"},
      {"a.b[0]", "", "{a: {b: [2]}}"},
      {"a.b[2]", "", "{a: {b: [{x: \"hi\", y: \"yo\"}]}}"},
      {"a.b[2].y", "", "{a: {b: [{y: \"yo\"}]}}"},
      {"a.e", "", "{a: {e: {}}}"},
      {"x", "", "{}"},
      {"a.b[3]", "", "{}"},
      {"a.x", "", "{}"},
      {"a.x.y", "", "{}"},
      {"a.b.x", "", "{}"},
      {"a[0]", "", "{}"},
      {"a.b[0].x", "", "{}"},
      {"a.b[0][0]", "", "{}"},
      {"b.x", "", "{}"},
      {"a.b[0], a.b[1]", "", "{a: {b: [2, 4]}}"},
      {"a.b[1], a.b[0]", "", "{a: {b: [2, 4]}}"},
      {"a.b[2].y, a.b[0], a.b[2].x", "", "{a: {b: [2, {x: \"hi\", y: \"yo\"}]}}"},
      {"a.b[0], a.c", "", "{a: {b: [2], c: 5}}"},
      {"a.c, b", "", "{a: {c: 5}, b: \"hello\"}"},
      {"a.x, a.b[0], x, a.b[3].x", "", "{a: {b: [2]}}"},
      {"l[1][1], l[0][0], l[2]", "", "{l: [[1], [4], []]}"},
      {"l[2][0], l[1][5]", "", "{}"},
  };
  for (const Case& c : cases) EXPECT_EQ(projected(c.text, c.names, from), c.left) << c.text;
}

TEST(ExprProjection, KnowsItsTopLevelAttributes) {
  ParseCache cache;
  Bindings bound;
  const Projection flat = bind_projection("b, a", bound, cache);
  EXPECT_TRUE(flat.is_top_level());
  EXPECT_EQ(flat.top_level_names(), (std::vector<std::string>{"a", "b"}));
  const Projection nested = bind_projection("b.x, a, b.y", bound, cache);
  EXPECT_FALSE(nested.is_top_level());
  EXPECT_EQ(nested.top_level_names(), (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace stator::expr::testing
