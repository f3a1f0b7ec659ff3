// What updates make of items.
#include "expr_testing.h"

namespace stator::expr::testing {
namespace {

const std::string kWrongType = "An operand in the update expression has an incorrect data type";
const std::string kNotThere =
    "The provided expression refers to an attribute that does not exist in the item";
const std::string kWrongPath =
    "The document path provided in the update expression is invalid for update";
const std::string kOverflow =
    "Number overflow. Attempting to store a number with magnitude larger than supported range";
const std::string kUnderflow =
    "Number underflow. Attempting to store a number with magnitude smaller than supported range";

Update parse(const std::string& text, const std::string& names, const std::string& values) {
  ParseCache cache(0);
  Bindings bound = bindings(names, values);
  Update update = bind_update(text, bound, cache);
  bound.check_unused();
  return update;
}

// The new item without its key, or the message.
std::string updated(const std::string& text, const std::string& values, const std::string& old) {
  const Update update = parse(text, "", values);
  const model::Item key = item("{pk: 1}");
  std::string out;
  const std::string problem = error_of([&] {
    std::optional<model::Item> made;
    if (old.empty()) {
      made = update.apply(nullptr, key);
    } else {
      model::Item before = item(old);
      before.set("pk", value("1"));
      made = update.apply(&before, key);
    }
    if (!made) {
      out = "none";
      return;
    }
    EXPECT_TRUE(made->contains("pk"));
    made->erase("pk");
    out = show(*made);
  });
  return problem.empty() ? out : problem;
}

struct Case {
  std::string text;
  std::string values;
  std::string old;
  std::string result;
};

TEST(ExprUpdate, SetAssigns) {
  const std::vector<Case> cases = {
      {"SET b = :v", ":v=4", "", "{b: 4}"},
      {"SET b = :v", ":v=4", "{}", "{b: 4}"},
      {"SET a = :v", ":v=\"x\"", "{a: 1, b: 2}", "{a: \"x\", b: 2}"},
      {"SET a = :v, b = :v", ":v=4", "{}", "{a: 4, b: 4}"},
      {"SET b = a", "", "{a: \"hello\"}", "{a: \"hello\", b: \"hello\"}"},
      {"SET a = b, b = a", "", "{a: 1, b: 2}", "{a: 2, b: 1}"},
      {"SET a = a", "", "{a: 1}", "{a: 1}"},
      {"SET c = z", "", "{a: 1}", kNotThere},
      {"SET c = z", "", "", kNotThere},
      {"SET x = :v, y = x", ":v=4", "{}", kNotThere},
      {"SET c = pk", "", "", "{c: 1}"},
      {"REMOVE a SET b = a", "", "{a: 1}", "{b: 1}"},
      {"SET z = a.c.x", "", "{a: {b: 3, c: {x: 7}}}", "{a: {b: 3, c: {x: 7}}, z: 7}"},
      // arithmetic
      {"SET b = :a + :b", ":a=4, :b=3", "", "{b: 7}"},
      {"SET b = :a - :b", ":a=4, :b=3.5", "", "{b: 0.5}"},
      {"SET a = a + :v", ":v=3", "{a: 2}", "{a: 5}"},
      {"SET a = :v - a", ":v=3", "{a: 2}", "{a: 1}"},
      {"SET a = b + a", "", "{a: 2, b: 5}", "{a: 7, b: 5}"},
      {"SET a = (a + :v)", ":v=1", "{a: 2}", "{a: 3}"},
      {"SET a = a + :v", ":v=1", "{a: \"2\"}", kWrongType},
      {"SET a = a + :v", ":v=1", "{b: 2}", kNotThere},
      {"SET b = if_not_exists(b, :a) + :b", ":a=2, :b=3", "{}", "{b: 5}"},
      {"SET b = :a + :b", ":a=9e125, :b=9e125", "", kOverflow},
      {"SET b = :a - :b", ":a=-9e125, :b=9e125", "", kOverflow},
      {"SET b = :a + :b", ":a=1e50, :b=1", "", kOverflow},
      {"SET b = :a + :b", ":a=1, :b=10000000000000000000000", "", "{b: 10000000000000000000001}"},
      {"SET b = :a - :b", ":a=1.1e-130, :b=1e-130", "", kUnderflow},
      // lists
      {"SET a = list_append(:a, :b)", ":a=[4, \"x\"], :b=[7]", "", "{a: [4, \"x\", 7]}"},
      {"SET a = list_append(a, :b)", ":b=[7]", "{a: [1]}", "{a: [1, 7]}"},
      {"SET a = list_append(:b, a)", ":b=[7]", "{a: [1]}", "{a: [7, 1]}"},
      {"SET a = list_append(a, a)", "", "{a: [1]}", "{a: [1, 1]}"},
      {"SET a = list_append(a, :b)", ":b=[7]", "{a: <1>}", kWrongType},
      {"SET a = list_append(a, :b)", ":b=[7]", "{}", kNotThere},
      {"SET a = list_append(if_not_exists(a, :e), :b)", ":e=[], :b=[7]", "{}", "{a: [7]}"},
      {"SET e = list_append(d, if_not_exists(f, :a))", ":a=[]", "{d: <1>}", kWrongType},
      // if_not_exists
      {"SET a = if_not_exists(a, :v)", ":v=2", "{}", "{a: 2}"},
      {"SET a = if_not_exists(a, :v)", ":v=2", "{a: 1}", "{a: 1}"},
      {"SET b = if_not_exists(a, :v)", ":v=2", "{a: 1}", "{a: 1, b: 1}"},
      {"SET a = if_not_exists(b, if_not_exists(c, :v))", ":v=2", "{c: 9}", "{a: 9, c: 9}"},
      {"SET a = if_not_exists(b, c)", "", "{}", kNotThere},
      // documents
      {"SET a.c = :v", ":v=7", "{a: {b: 3}}", "{a: {b: 3, c: 7}}"},
      {"SET a.b.c = :v", ":v=7", "{a: {b: {c: 1, d: 2}}}", "{a: {b: {c: 7, d: 2}}}"},
      {"SET a[1] = :v", ":v=7", "{a: [1, 2, 3]}", "{a: [1, 7, 3]}"},
      {"SET a[7] = :v", ":v=7", "{a: [1, 2, 3]}", "{a: [1, 2, 3, 7]}"},
      {"SET a[0] = :v", ":v=7", "{a: []}", "{a: [7]}"},
      {"SET a[84] = :a, a[37] = :b, a[17] = :c, a[50] = :d", ":a=1, :b=2, :c=3, :d=4", "{a: [0]}",
       "{a: [0, 3, 2, 4, 1]}"},
      {"SET a.c[1].x.y[1] = :v", ":v=9", "{a: {c: [\"hi\", {x: {y: [3, 5, 7]}}]}}",
       "{a: {c: [\"hi\", {x: {y: [3, 9, 7]}}]}}"},
      {"SET a.b = :v, a.c = :w", ":v=1, :w=2", "{a: {}}", "{a: {b: 1, c: 2}}"},
      {"SET a.x = a.y, a.y = a.x", "", "{a: {x: 1, y: 2}}", "{a: {x: 2, y: 1}}"},
      {"SET a.c = :v", ":v=7", "{a: \"hello\"}", kWrongPath},
      {"SET a.c = :v", ":v=7", "{a: [1]}", kWrongPath},
      {"SET a[0] = :v", ":v=7", "{a: {b: 1}}", kWrongPath},
      {"SET c.c = :v", ":v=7", "{a: 1}", kWrongPath},
      {"SET c.c = :v", ":v=7", "", kWrongPath},
      {"SET c[1] = pk", "", "", kWrongPath},
      {"SET a.b.c = :v", ":v=7", "{a: {x: 1}}", kWrongPath},
      {"SET a[5].c = :v", ":v=7", "{a: [{}]}", kWrongPath},
  };
  for (const Case& c : cases)
    EXPECT_EQ(updated(c.text, c.values, c.old), c.result) << c.text << " on " << c.old;
}

TEST(ExprUpdate, RemoveAddAndDelete) {
  const std::vector<Case> cases = {
      {"REMOVE a", "", "{a: 1, b: 2}", "{b: 2}"},
      {"REMOVE c", "", "{a: 1}", "{a: 1}"},
      {"REMOVE a.b", "", "{a: {b: 1, c: 2}}", "{a: {c: 2}}"},
      {"REMOVE a.b", "", "{a: {b: 1}}", "{a: {}}"},
      {"REMOVE a.y, b[7], c", "", "{a: {x: 3}, b: [\"hi\"]}", "{a: {x: 3}, b: [\"hi\"]}"},
      {"REMOVE a[0]", "", "{a: [1]}", "{a: []}"},
      {"REMOVE a[1]", "", "{a: [1, 2, 3]}", "{a: [1, 3]}"},
      {"REMOVE a[0], a[2], a[1]", "", "{a: [1, 2, 3, 4]}", "{a: [4]}"},
      {"REMOVE a[1] SET a[3] = :v", ":v=17", "{a: [2, 3, 4, 5, 6, 7]}", "{a: [2, 4, 17, 6, 7]}"},
      {"SET a[3] = :v REMOVE a[1]", ":v=17", "{a: [2, 3, 4, 5, 6, 7]}", "{a: [2, 4, 17, 6, 7]}"},
      {"REMOVE a[0] SET a[9] = :v", ":v=17", "{a: [2, 3]}", "{a: [3, 17]}"},
      {"REMOVE a[0], a[1][0], a[1][2]", "", "{a: [9, [1, 2, 3]]}", "{a: [[2]]}"},
      {"REMOVE a[0] SET a[1].x = :v", ":v=5", "{a: [9, {x: 1}]}", "{a: [{x: 5}]}"},
      {"REMOVE a.c[1].x.y[1], a.c[1].q", "", "{a: {c: [\"hi\", {x: {y: [3, 5, 7]}, q: 2}]}}",
       "{a: {c: [\"hi\", {x: {y: [3, 7]}}]}}"},
      {"REMOVE a.c", "", "{a: 1}", kWrongPath},
      {"REMOVE a[0]", "", "{a: {}}", kWrongPath},
      {"REMOVE c.c", "", "{a: 1}", kWrongPath},
      {"REMOVE b[0]", "", "{a: 1}", kWrongPath},
      // an item that does not exist is not made by removing
      {"REMOVE a", "", "", "none"},
      {"REMOVE x.y", "", "", "none"},
      {"DELETE a :v", ":v=<1>", "", "none"},
      {"REMOVE x.y SET a = :v", ":v=1", "", "{a: 1}"},
      // add
      {"ADD a :v", ":v=4", "{a: 3}", "{a: 7}"},
      {"ADD a :v", ":v=-4", "{}", "{a: -4}"},
      {"ADD a :v", ":v=4", "", "{a: 4}"},
      {"ADD a.b :v", ":v=4", "{a: {b: 1}}", "{a: {b: 5}}"},
      {"ADD a[0] :v", ":v=4", "{a: [1]}", "{a: [5]}"},
      {"ADD a :v", ":v=<\"c\", \"a\">", "{a: <\"a\", \"b\">}", "{a: <\"a\", \"b\", \"c\">}"},
      {"ADD a :v", ":v=<3, 1>", "{a: <1, 2>}", "{a: <1, 2, 3>}"},
      {"ADD a :v", ":v=<b\"x\">", "{a: <b\"y\">}", "{a: <b\"x\", b\"y\">}"},
      {"ADD a :v", ":v=<\"c\">", "{}", "{a: <\"c\">}"},
      {"ADD a :v", ":v=1", "{a: \"hi\"}", kWrongType},
      {"ADD a :v", ":v=<1>", "{a: <\"x\">}", kWrongType},
      {"ADD a :v", ":v=<1>", "{a: 1}", kWrongType},
      {"ADD a :v", ":v=<1>", "{a: [1]}", kWrongType},
      {"ADD a :v", ":v=9e125", "{a: 9e125}", kOverflow},
      {"ADD a.b :v", ":v=1", "{}", kWrongPath},
      // delete
      {"DELETE a :v", ":v=<\"a\", \"z\">", "{a: <\"a\", \"b\">}", "{a: <\"b\">}"},
      {"DELETE a :v", ":v=<\"z\">", "{a: <\"a\">}", "{a: <\"a\">}"},
      {"DELETE a :v", ":v=<1, 2>", "{a: <1, 2>, b: 1}", "{b: 1}"},
      {"DELETE a.b :v", ":v=<1>", "{a: {b: <1>}}", "{a: {}}"},
      {"DELETE a[0] :v", ":v=<1>", "{a: [<1>, 2]}", "{a: [2]}"},
      {"DELETE a :v", ":v=<1>", "{b: 1}", "{b: 1}"},
      {"DELETE a :v", ":v=<1>", "{a: <\"1\">}", kWrongType},
      {"DELETE a :v", ":v=<1>", "{a: 1}", kWrongType},
      {"DELETE y.a :v SET b = :v", ":v=<1>", "{a: 1}", kWrongPath},
      // several
      {"SET a.b = :v, a.c.d = :w, b.x = :v REMOVE a.x, b.y", ":v=10, :w=\"dog\"",
       "{a: {x: 3, y: 4, c: {y: 3}}, b: {x: 1, y: 2}}",
       "{a: {b: 10, c: {d: \"dog\", y: 3}, y: 4}, b: {x: 10}}"},
  };
  for (const Case& c : cases)
    EXPECT_EQ(updated(c.text, c.values, c.old), c.result) << c.text << " on " << c.old;
}

TEST(ExprUpdate, UpdatedAttributesAreTheTouchedParts) {
  struct Touch {
    std::string text;
    std::string values;
    std::string old;
    std::string was;
    std::string is;
  };
  const std::string nested = "{a: {b: \"dog\", c: [1, 2, 3]}, d: \"cat\"}";
  const std::vector<Touch> cases = {
      {"SET b = :v, c = :v", ":v=1", "{a: 1, b: 2}", "{b: 2}", "{b: 1, c: 1}"},
      {"REMOVE b", "", "{a: 1, b: 2}", "{b: 2}", "{}"},
      {"SET a.b = :v", ":v=1", nested, "{a: {b: \"dog\"}}", "{a: {b: 1}}"},
      {"SET a.c[1] = :v", ":v=7", nested, "{a: {c: [2]}}", "{a: {c: [7]}}"},
      {"SET a.c[1] = :v, a.b = :v", ":v=7", nested, "{a: {b: \"dog\", c: [2]}}",
       "{a: {b: 7, c: [7]}}"},
      {"REMOVE a.c[1], a.c[3]", "", nested, "{a: {c: [2]}}", "{a: {c: [3]}}"},
      {"SET a.x = :v", ":v=8", nested, "{}", "{a: {x: 8}}"},
      {"SET a.c[100] = :v", ":v=8", nested, "{}", "{}"},
  };
  for (const Touch& c : cases) {
    const Update update = parse(c.text, "", c.values);
    const model::Item before = item(c.old);
    const std::optional<model::Item> after = update.apply(&before, {});
    ASSERT_TRUE(after.has_value());
    EXPECT_EQ(show(update.updated_attributes(before)), c.was) << c.text;
    EXPECT_EQ(show(update.updated_attributes(*after)), c.is) << c.text;
  }
}

model::TableSchema table() {
  model::TableSchema table;
  table.key.partition = {{"a", model::KeyType::kString}};
  table.key.sort = {{"b", model::KeyType::kString}};
  model::Index local;
  local.name = "index1";
  local.key.partition = table.key.partition;
  local.key.sort = {{"c", model::KeyType::kString}};
  model::Index global;
  global.name = "index3";
  global.global = true;
  global.key.partition = {{"d", model::KeyType::kString}};
  table.indexes = {local, global};
  return table;
}

TEST(ExprUpdate, KeysAreProtected) {
  const auto key = [](const std::string& name) {
    return "One or more parameter values were invalid: Cannot update attribute " + name +
           ". This attribute is part of the key";
  };
  const auto scalar = [](const std::string& name) {
    return "Key attributes must be scalars; list random access '[]' and map lookup '.' are not "
           "allowed: " +
           name;
  };
  const auto mismatch = [](const std::string& name, const std::string& actual,
                           const std::string& index) {
    return "One or more parameter values were invalid: Type mismatch for Index Key " + name +
           " Expected: S Actual: " + actual + " IndexName: " + index;
  };
  const std::string blank =
      "One or more parameter values are not valid. The update expression attempted to update a "
      "secondary index key to a "
      "value that is not supported. The AttributeValue for a key attribute cannot contain an empty "
      "string value.";
  const std::vector<Case> cases = {
      {"set e = a", "", "", ""},
      {"set c = :v", ":v=\"x\"", "", ""},
      {"remove c, d", "", "", ""},
      {"add a.b :v", ":v=1", "", key("a")},
      {"delete a :v", ":v=<1>", "", key("a")},
      {"remove e set f = :v, a = :v", ":v=1", "", key("a")},
      {"set a = a.b + a[1]", "", "", key("a")},
      {"set d[1] = :v add b.b :v", ":v=1", "", key("b")},
      {"set d.a = a add c :v", ":v=1", "", mismatch("c", "N", "index1")},
      {"set e = c[1], c = e + :v", ":v=1", "", mismatch("c", "N", "index1")},
      {"set d = :v", ":v=[\"x\"]", "", mismatch("d", "L", "index3")},
      {"set d = if_not_exists(d, :v)", ":v=1", "", mismatch("d", "N", "index3")},
      {"set d = :v", ":v=\"\"", "", blank},
      {"add d.b :v", ":v=1", "", scalar("IndexKey: d")},
      {"set d[1] = :v", ":v=1", "", scalar("IndexKey: d")},
      {"set e = list_append(a, b), f = d[1]", "", "", scalar("IndexKey: d")},
      {"set e = a.x", "", "", scalar("Key: a")},
  };
  for (const Case& c : cases) {
    const Update update = parse(c.text, "", c.values);
    EXPECT_EQ(error_of([&] { update.check_keys(table()); }), c.result) << c.text;
  }
}

TEST(ExprUpdate, IndexKeysAreCheckedOnTheNewItem) {
  const Update update = parse("set c = e", "", "");
  const auto problem = [&](const std::string& old) {
    const model::Item before = item(old);
    const std::optional<model::Item> after = update.apply(&before, {});
    return error_of([&] { update.check_updated_index_keys(*after, table()); });
  };
  EXPECT_EQ(problem("{e: \"x\", d: 5}"), "");  // d was wrong before; this update does not touch it
  EXPECT_EQ(
      problem("{e: 1}"),
      "The update expression attempted to update the secondary index key to unsupported type");
  EXPECT_NE(problem("{e: \"\"}"), "");
}

TEST(ExprUpdate, StatementsAreChargedAsObserved) {
  struct Charge {
    std::string text;
    std::string values;
    size_t bytes;
  };
  const std::vector<Charge> cases = {
      {"SET b = :v", ":v=\"0123456789\"", 3 + 19 + 1 + 10},
      {"SET b = :v, c = :v", ":v=\"0123456789\"", 3 + 2 * (19 + 1 + 10)},
      {"REMOVE r", "", 3 + 2},
      {"REMOVE abcdefghij[1]", "", 3 + 1 + 10 + 5},
      {"SET d.leaf = :v", ":v=\"0\"", 3 + 19 + 1 + 8 + 1},
      {"SET d[0] = :v", ":v=\"0\"", 3 + 19 + 1 + 5 + 1},
      {"SET c = m.z", "", 3 + 19 + 1 + 1 + 15 + 15},
      {"SET c = l[10]", "", 3 + 19 + 1 + 1 + 15 + 16},
      {"SET l = list_append(l, :n)", ":n=[\"0123456789\"]", 3 + 19 + 1 + 37 + 16 + 14},
      {"SET n = n + :o", ":o=\"\"", 0},
      {"SET c = if_not_exists(c, :v)", ":v=\"v\"", 3 + 19 + 1 + 39 + 16 + 1},
      {"ADD ss :v", ":v=<\"0123456789\">", 3 + 19 + 2 + 10},
      {"DELETE ss :v", ":v=<\"0123456789\">", 3 + 1 + 2},
  };
  for (const Charge& c : cases) {
    if (c.bytes == 0) continue;
    EXPECT_EQ(parse(c.text, "", c.values).statement_size_bytes(), c.bytes) << c.text;
  }
  EXPECT_EQ(parse("SET n = n + :o", "", ":o=1").statement_size_bytes(),
            3 + 19 + 1 + 34 + 16 + model::size_bytes(value("1")));
  EXPECT_EQ(parse("SET n = n - :o", "", ":o=1").statement_size_bytes(),
            3 + 19 + 1 + 37 + 16 + model::size_bytes(value("1")));
}

}  // namespace
}  // namespace stator::expr::testing
