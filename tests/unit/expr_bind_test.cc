// What the service says of an expression together with its names and values.
#include "expr_testing.h"

namespace stator::expr::testing {
namespace {

struct Case {
  std::string text;
  std::string names;
  std::string values;
  std::string problem;  // after "Invalid <parameter>: "; "" if it is fine
};

ParseCache& cache() {
  static ParseCache one;
  return one;
}

const std::string kNoName =
    "An expression attribute name used in the document path is not defined; attribute name: ";
const std::string kNoValue =
    "An expression attribute value used in expression is not defined; attribute value: ";

std::string arity(const std::string& function, int count) {
  return "Incorrect number of operands for operator or function; operator or function: " +
         function + ", number of operands: " + std::to_string(count);
}
std::string wrong_type(const std::string& op, const std::string& type) {
  return "Incorrect operand type for operator or function; operator or function: " + op +
         ", operand type: " + type;
}
std::string same(const std::string& op, const std::string& path) {
  return "The first operand must be distinct from the remaining operands for this operator or "
         "function; operator: " +
         op + ", first operand: " + path;
}
std::string needs_path(const std::string& function) {
  return "Operator or function requires a document path; operator or function: " + function;
}
std::string bounds(const std::string& what, const std::string& lower, const std::string& upper) {
  return "The BETWEEN operator requires " + what + "; lower bound operand: AttributeValue: {" +
         lower + "}, upper bound operand: AttributeValue: {" + upper + "}";
}

void expect_condition(const Case& c, ExpressionKind kind, const std::string& prefix,
                      Wording wording = Wording::kCurrent) {
  Bindings bound = bindings(c.names, c.values, wording);
  EXPECT_EQ(error_of([&] { bind_condition(c.text, kind, bound, cache()); }),
            c.problem.empty() ? "" : prefix + c.problem)
      << c.text;
}

TEST(ExprBind, ConditionsAreCheckedClauseByClause) {
  const std::string order = "upper bound to be greater than or equal to lower bound";
  const std::string type = "same data type for lower and upper bounds";
  const std::vector<Case> cases = {
      {"a = :v", "", ":v=1", ""},
      {":a > :a", "", ":a=1", ""},
      {"#n.b[0] = :v", "#n=x", ":v=1", ""},
      {"attribute_type(:a, :b)", "", ":a=1, :b=\"N\"", ""},
      {"contains(a, :b)", "", ":b={x: 1}", ""},
      {"a in (:a, :b)", "", ":a=1, :b=\"x\"", ""},
      {"size(a) = :s", "", ":s=\"dog\"", ""},
      {"a between :x and :y", "", ":x=5, :y=5", ""},
      // names and values
      {"attribute_exists(#Pictures.RearView, :a) and a=a", "", "", kNoName + "#Pictures"},
      {"begins_with(Pictures.#RearView)", "", "", kNoName + "#RearView"},
      {"(#P between :lo and :hi) and (#PC in (:cat1, :cat2))", "", "", kNoName + "#P"},
      {"#4g > a", "", "", kNoName + "#4g"},
      {"(a)between(b.c[45].#d)and(:a)", "", "", kNoName + "#d"},
      {"begins_with(:hello, #a, #b)", "", "", kNoValue + ":hello"},
      {":a < :b", "", "", kNoValue + ":a"},
      {"a = :v", "", ":w=1", kNoValue + ":v"},
      // number of operands
      {"attribute_exists(things, a) and a=a", "", "", arity("attribute_exists", 2)},
      {"attribute_not_exists(things, b)", "", "", arity("attribute_not_exists", 2)},
      {"attribute_type(things)", "", "", arity("attribute_type", 1)},
      {"begins_with(things)", "", "", arity("begins_with", 1)},
      {"begins_with(things, size(a), b)", "", "", arity("begins_with", 3)},
      {"contains(things)", "", "", arity("contains", 1)},
      {"size(things, a) > b", "", "", arity("size", 2)},
      // an attribute and itself
      {"a = a AND #a = b AND :views > a", "#a=a", "", same("=", "[a]")},
      {"#a <> a", "#a=a", "", same("<>", "[a]")},
      {"a > #a", "#a=a", "", same(">", "[a]")},
      {"((a=a) OR (a=a))", "", "", same("=", "[a]")},
      {"contains(ab.bc[1].a, ab.bc[1].#a)", "#a=a", "", same("contains", "[ab, bc, [1], a]")},
      {"attribute_type(ab.bc[1].#a, ab.bc[1].a)", "#a=a", "",
       same("attribute_type", "[ab, bc, [1], a]")},
      {"begins_with(ab.bc[1].a, ab.bc[1].#a)", "#a=a", "", same("begins_with", "[ab, bc, [1], a]")},
      {"a between b and a", "", "", same("BETWEEN", "[a]")},
      {"a in (b, a)", "", "", same("IN", "[a]")},
      // types
      {"begins_with(a, :v)", "", ":v=1", wrong_type("begins_with", "N")},
      {"begins_with(:v, a)", "", ":v=true", wrong_type("begins_with", "BOOL")},
      {"begins_with(a, size(b))", "", "", wrong_type("begins_with", "N")},
      {"begins_with(a, :v)", "", ":v=b\"x\"", ""},
      {"size(:a) > a", "", ":a=true", wrong_type("size", "BOOL")},
      {"size(:a) > a", "", ":a=null", wrong_type("size", "NULL")},
      {"size(:a) > a", "", ":a=1", wrong_type("size", "N")},
      {"size(:a) > a", "", ":a=<1>", ""},
      {"size(size(a)) > :a", "", ":a=1", wrong_type("size", "N")},
      {"attribute_not_exists(size(:a))", "", ":a=1", wrong_type("size", "N")},
      {"attribute_not_exists(size(:a))", "", ":a=\"1\"", needs_path("attribute_not_exists")},
      {"attribute_exists(:a) and a=a", "", ":a=\"1\"", needs_path("attribute_exists")},
      {"attribute_type(a, :a)", "", ":a=1", wrong_type("attribute_type", "N")},
      {"attribute_type(a, :a)", "", ":a=<b\"x\">", wrong_type("attribute_type", "BS")},
      {"attribute_type(a, size(b))", "", "", wrong_type("attribute_type", "N")},
      {"attribute_type(a, S)", "", "",
       wrong_type("attribute_type",
                  "{S,SS,N,NS,B,BS,BOOL,NULL,L,M,HD,DOUBLE,FLOAT,HDS,FS,DOUBLESET,DICT,DECIMAL,INT,"
                  "DECIMALSET,INTSET}")},
      {"attribute_type(a, :a)", "", ":a=\"STRING\"",
       "Invalid attribute type name found; type: STRING, valid types: "
       "{S,SS,N,NS,B,BS,BOOL,NULL,L,M}"},
      {"size(s) > :v", "", ":v=true", wrong_type(">", "BOOL")},
      {"a between :a and :b", "", ":a=true, :b=false", wrong_type("BETWEEN", "BOOL")},
      {"a between :a and :b", "", ":a=1, :b=\"dog\"", bounds(type, "N:1", "S:dog")},
      {"a between :a and :b", "", ":a=5, :b=4", bounds(order, "N:5", "N:4")},
      {"a between :a and :b", "", ":a=\"z\", :b=\"a\"", bounds(order, "S:z", "S:a")},
      {"a between :a and :b", "", ":a=b\"z\", :b=b\"a\"", bounds(order, "B:eg==", "B:YQ==")},
      {"a between b and :b", "", ":b=4", ""},
      // the first clause with a problem is the one reported
      {"a = :missing AND begins_with(b, :n)", "", ":n=1", kNoValue + ":missing"},
      {"begins_with(b, :n) AND a = :missing", "", ":n=1", wrong_type("begins_with", "N")},
      {"a = :v AND begins_with(b, :n) AND c = :missing", "", ":v=1, :n=1",
       wrong_type("begins_with", "N")},
      {"NOT (a > :b)", "", ":b=true", wrong_type(">", "BOOL")},
  };
  for (const Case& c : cases)
    expect_condition(c, ExpressionKind::kFilter, "Invalid FilterExpression: ");
}

TEST(ExprBind, OrderComparisonsTakeScalarsOnly) {
  const std::vector<std::pair<std::string, std::string>> values = {
      {"true", "BOOL"},   {"null", "NULL"}, {"<\"a\">", "SS"}, {"<1>", "NS"},
      {"<b\"a\">", "BS"}, {"[1]", "L"},     {"{a: 1}", "M"},
  };
  for (const auto& [text, type] : values) {
    for (const std::string op : {"<", "<=", ">", ">="}) {
      expect_condition({"n " + op + " :v", "", ":v=" + text, wrong_type(op, type)},
                       ExpressionKind::kCondition, "Invalid ConditionExpression: ");
      expect_condition({":v " + op + " n", "", ":v=" + text, wrong_type(op, type)},
                       ExpressionKind::kKeyCondition, "Invalid KeyConditionExpression: ");
    }
    for (const std::string op : {"=", "<>"}) {
      expect_condition({"n " + op + " :v", "", ":v=" + text, ""}, ExpressionKind::kCondition, "");
    }
  }
}

TEST(ExprBind, OlderWordingDiffers) {
  expect_condition(
      {"attribute_type(a, :a)", "", ":a=\"1\"",
       "Invalid attribute type name found; type: 1, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}"},
      ExpressionKind::kFilter, "Invalid FilterExpression: ", Wording::kOlder);
  expect_condition({"attribute_type(a, SS)", "", "",
                    wrong_type("attribute_type", "{NS,SS,L,BS,N,M,B,BOOL,NULL,S}")},
                   ExpressionKind::kFilter, "Invalid FilterExpression: ", Wording::kOlder);
}

TEST(ExprBind, InTakesAHundredChoices) {
  std::string text = "a in (:v";
  for (int i = 1; i < 100; ++i) text += ", :v";
  expect_condition({text + ")", "", ":v=1", ""}, ExpressionKind::kFilter, "");
  expect_condition({text + ", :v)", "", ":v=1",
                    "The IN operator is provided with too many operands; number of operands: 101"},
                   ExpressionKind::kFilter, "Invalid FilterExpression: ");
}

TEST(ExprBind, PathsGo32LevelsDeep) {
  std::string path = "a";
  for (int i = 1; i < 32; ++i) path += ".b";
  expect_condition({path + " = :v", "", ":v=1", ""}, ExpressionKind::kFilter, "");
  expect_condition({path + "[0] = :v", "", ":v=1",
                    "The document path has too many nesting levels; nesting levels: 33"},
                   ExpressionKind::kFilter, "Invalid FilterExpression: ");
}

TEST(ExprBind, UpdatesAreChecked) {
  const auto overlap = [](const std::string& one, const std::string& two) {
    return "Two document paths overlap with each other; must remove or rewrite one of these paths; "
           "path one: " +
           one + ", path two: " + two;
  };
  const auto conflict = [](const std::string& one, const std::string& two) {
    return "Two document paths conflict with each other; must remove or rewrite one of these "
           "paths; path one: " +
           one + ", path two: " + two;
  };
  const auto action = [](const std::string& op, const std::string& type) {
    return "Incorrect operand type for operator or function; operator: " + op +
           ", operand type: " + type + ", typeSet: ALLOWED_FOR_ADD_OPERAND";
  };
  const std::vector<Case> cases = {
      {"set a = :v remove b add c :v delete d :s", "", ":v=1, :s=<1>", ""},
      {"add a :v", "", ":v=<\"a\">", ""},
      {"set a.b = :v, a.c = :v, a.d[0] = :v, a.d[1] = :v", "", ":v=1", ""},
      {"set a = a + :v", "", ":v=1", ""},
      {"SET a = list_append(a, a)", "", "", ""},
      {"SET #c = if_not_exists(:c)", "#a=a", "", kNoName + "#c"},
      {"SET #a = if_not_exists(:c)", "#a=a", ":a=1", kNoValue + ":c"},
      {"set a = if_not_exists(c)", "", "", arity("if_not_exists", 1)},
      {"set a = list_append(c)", "", "", arity("list_append", 1)},
      {"set a = list_append(c, d, e)", "", "", arity("list_append", 3)},
      {"set a = if_not_exists(:a, c)", "", ":a=1", needs_path("if_not_exists")},
      {"set a = if_not_exists(if_not_exists(a, b), c)", "", "", needs_path("if_not_exists")},
      {"set d[1] = a, d.b = a, c[1].a = a, #c = if_not_exists(a)", "#c=c", "",
       overlap("[c, [1], a]", "[c]")},
      {"set #c[3].#d = a, #c[3] = a", "#c=c, #d=[3]", "", overlap("[c, [3], [3]]", "[c, [3]]")},
      {"set a = :v remove a", "", ":v=1", overlap("[a]", "[a]")},
      {"SET mapx = :m, mapx.num = :n", "", ":m={}, :n=2", overlap("[mapx]", "[mapx, num]")},
      {"SET lst[0] = :v, lst[0].ok = :v", "", ":v=1", overlap("[lst, [0]]", "[lst, [0], ok]")},
      {"SET #attribute = :v, fieldx = :v", "#attribute=fieldx", ":v=1",
       overlap("[fieldx]", "[fieldx]")},
      {"remove a.#c set a[1] = #d", "#c=c, #d=d", "", conflict("[a, c]", "[a, [1]]")},
      {"set #c[3].#d = a, #c.#d[3] = if_not_exists(a)", "#c=c, #d=[3]", "",
       conflict("[c, [3], [3]]", "[c, [3], [3]]")},
      {"set a = list_append(:a, a)", "", ":a=\"a\"", wrong_type("list_append", "S")},
      {"set a = list_append(a, :a)", "", ":a=<1>", wrong_type("list_append", "NS")},
      {"set a = a + :a", "", ":a=\"a\"", wrong_type("+", "S")},
      {"set a = :a + :c", "", ":a=\"a\", :c=b\"x\"", wrong_type("+", "S")},
      {"set a = a - :a", "", ":a=[]", wrong_type("-", "L")},
      {"add a.b :a", "", ":a=\"a\"", action("ADD", "STRING")},
      {"add a.b :a", "", ":a=null", action("ADD", "NULL")},
      {"add a.b :a", "", ":a=true", action("ADD", "BOOL")},
      {"add a.b :a", "", ":a=b\"a\"", action("ADD", "BINARY")},
      {"add a.b :a", "", ":a={}", action("ADD", "MAP")},
      {"add a.b :a", "", ":a=[]", action("ADD", "LIST")},
      {"delete a.b :a", "", ":a=1", action("DELETE", "NUMBER")},
      {"set b = list_append(:a, a), c = if_not_exists(a) add a.b :a", "", ":a=\"a\"",
       action("ADD", "STRING")},
  };
  for (const Case& c : cases) {
    Bindings bound = bindings(c.names, c.values);
    EXPECT_EQ(error_of([&] { bind_update(c.text, bound, cache()); }),
              c.problem.empty() ? "" : "Invalid UpdateExpression: " + c.problem)
        << c.text;
  }
}

TEST(ExprBind, ProjectionsMustNotOverlap) {
  const auto overlap = [](const std::string& one, const std::string& two) {
    return "Invalid ProjectionExpression: Two document paths overlap with each other; must remove "
           "or rewrite one of "
           "these paths; path one: " +
           one + ", path two: " + two;
  };
  const std::vector<Case> cases = {
      {"a, b", "", "", ""},
      {"a.b, a.c", "", "", ""},
      {"a[1], a[2], a[0].x, a[0].y", "", "", ""},
      {"a, a", "", "", overlap("[a]", "[a]")},
      {"a, a.b", "", "", overlap("[a]", "[a, b]")},
      {"a.b, a", "", "", overlap("[a, b]", "[a]")},
      {"alist[0], alist", "", "", overlap("[alist, [0]]", "[alist]")},
      {"#p, #p.#q", "#p=a, #q=b", "", overlap("[a]", "[a, b]")},
      {"x, a.b, a", "", "", overlap("[a, b]", "[a]")},
      {"a.b.d.e, a.b", "", "", overlap("[a, b, d, e]", "[a, b]")},
      {"a.b, a[1]", "", "",
       "Invalid ProjectionExpression: Two document paths conflict with each other; must remove or "
       "rewrite one of these "
       "paths; path one: [a, b], path two: [a, [1]]"},
      {"a.#u", "", "", "Invalid ProjectionExpression: " + kNoName + "#u"},
  };
  for (const Case& c : cases) {
    Bindings bound = bindings(c.names, c.values);
    EXPECT_EQ(error_of([&] { bind_projection(c.text, bound, cache()); }), c.problem) << c.text;
  }
}

TEST(ExprBind, ManyPathsAreCheckedQuickly) {
  std::string text = "a0";
  for (int i = 1; text.size() < 4090; ++i) text += ",a" + std::to_string(i);
  Bindings bound;
  for (int i = 0; i < 200; ++i) bind_projection(text, bound, cache());
}

TEST(ExprBind, HostileTextsGiveAnAnswer) {
  // Sentences with random tokens put in, left out or cut off; whatever is accepted must run.
  const std::vector<std::string> sentences = {
      "a.c [ 0 ] = :n AND NOT ( size ( b ) > :n OR b [ 1 ] . c IN ( :n , :s ) )",
      "#n BETWEEN :n AND :n OR contains ( a , :l ) AND attribute_type ( b , :s )",
      "SET a.c [ 7 ] = list_append ( if_not_exists ( b , :l ) , :l ) , x = #n + :n REMOVE b [ 0 ]",
      "ADD y :set , #n :n DELETE z :set SET a.d = ( b [ 0 ] - :n ) REMOVE a.c [ 1 ]",
      "a.c [ 1 ] , b [ 0 ] , #n , b [ 1 ] . c",
  };
  const std::vector<std::string> strays = {"a",  "(",    ")", ",", ".",   "[", "]",       "#n",
                                           ":n", ":set", "=", "+", "AND", "!", "\xE2\x82"};
  const model::Item on = item("{a: {c: [1, 2]}, b: [1, {c: 5}], n: 5}");
  uint64_t state = 1;
  const auto random = [&state](size_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>(state >> 33) % below;
  };
  size_t accepted = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text;
    const std::string& sentence = sentences[random(sentences.size())];
    for (size_t at = 0; at < sentence.size();) {
      const size_t end = std::min(sentence.find(' ', at), sentence.size());
      if (random(40) == 0) text += strays[random(strays.size())] + " ";
      if (random(60) != 0) text += sentence.substr(at, end - at) + " ";
      at = end + 1;
    }
    if (random(8) == 0) text.resize(random(text.size() + 1));
    Bindings bound = bindings("#n=n", ":n=1, :s=\"N\", :l=[1], :set=<1>");
    const auto run = [&](const std::function<void()>& task) {
      accepted += error_of(task).empty() ? 1 : 0;
    };
    run([&] { evaluate(bind_condition(text, ExpressionKind::kFilter, bound, cache()), on); });
    run([&] {
      const Update update = bind_update(text, bound, cache());
      update.statement_size_bytes();
      update.updated_attributes(update.apply(&on, {}).value());
    });
    run([&] { project(bind_projection(text, bound, cache()), on); });
  }
  EXPECT_GT(accepted, 500U);
}

TEST(ExprBind, UnusedPlaceholdersAreFoundOverAllExpressions) {
  Bindings bound = bindings("#a=a, #b=b, #c=c", ":x=1, :y=2");
  EXPECT_EQ(error_of([&] { bound.check_unused(); }),
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#c, #a, #b}");
  bind_condition("#a = :x", ExpressionKind::kFilter, bound, cache());
  EXPECT_EQ(error_of([&] { bound.check_unused(); }),
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#c, #b}");
  bind_projection("#b, #c", bound, cache());
  EXPECT_EQ(error_of([&] { bound.check_unused(); }),
            "Value provided in ExpressionAttributeValues unused in expressions: keys: {:y}");
  bind_condition("a = :y", ExpressionKind::kKeyCondition, bound, cache());
  EXPECT_EQ(error_of([&] { bound.check_unused(); }), "");
}

TEST(ExprBindings, MapsAreCheckedEntryByEntry) {
  const auto names = [](std::string placeholder, std::string attribute) {
    Bindings::Names map;
    map.emplace_back(std::move(placeholder), std::move(attribute));
    return error_of([&] { Bindings(std::move(map), std::nullopt).check_names(); });
  };
  const auto values = [](std::string placeholder) {
    Bindings::Values map;
    map.emplace_back(std::move(placeholder), model::Value::null());
    return error_of([&] { Bindings(std::nullopt, std::move(map)).check_values(); });
  };
  const std::string bad_name = "ExpressionAttributeNames contains invalid key: ";
  const std::string bad_value = "ExpressionAttributeValues contains invalid key: ";
  const std::string too_long = "The expression attribute map contains a key that is too long;";
  EXPECT_EQ(error_of([] { Bindings().check_names(); }), "");
  EXPECT_EQ(error_of([] { Bindings(Bindings::Names(), std::nullopt).check_names(); }),
            "ExpressionAttributeNames must not be empty");
  EXPECT_EQ(error_of([] { Bindings(std::nullopt, Bindings::Values()).check_values(); }),
            "ExpressionAttributeValues must not be empty");
  EXPECT_EQ(names("#a_1", "x"), "");
  EXPECT_EQ(names("a", "x"), bad_name + "Syntax error; key: \"a\"");
  EXPECT_EQ(names("#", "x"), bad_name + "Syntax error; key: \"#\"");
  EXPECT_EQ(names("#a-b", "x"), bad_name + "Syntax error; key: \"#a-b\"");
  EXPECT_EQ(names("#" + std::string(254, 'a'), "x"), "");
  EXPECT_EQ(names("#" + std::string(255, 'a'), "x"), bad_name + too_long + " size of key: 256");
  EXPECT_EQ(names("#" + std::string(255, 'a') + "-x", "x"),
            bad_name + too_long + " size of key: 258");
  EXPECT_EQ(names("#a", ""),
            "ExpressionAttributeNames contains invalid value: Empty attribute name for key #a");
  EXPECT_EQ(values(":1"), "");
  EXPECT_EQ(values(":"), bad_value + "Syntax error; key: \":\"");
  EXPECT_EQ(values("#a"), bad_value + "Syntax error; key: \"#a\"");
  EXPECT_EQ(values(":" + std::string(255, 'a')), bad_value + too_long);
}

TEST(ExprBindings, ManyPlaceholdersAreFound) {
  Bindings::Values map;
  for (int i = 0; i < 1000; ++i)
    map.emplace_back(":v" + std::to_string(i), model::Value::boolean(i % 2 == 0));
  Bindings bound(std::nullopt, std::move(map));
  for (int i = 0; i < 1000; ++i) {
    const ValuePtr found = bound.use_value(":v" + std::to_string(i));
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->as_bool(), i % 2 == 0);
  }
  EXPECT_EQ(bound.use_value(":v1000"), nullptr);
  bound.check_unused();
}

TEST(ExprBindings, ExpressionAndLegacyParametersDoNotMix) {
  const auto mixed = [](std::vector<Parameter> legacy, std::vector<Parameter> expressions) {
    return error_of([&] { check_not_mixed(legacy, expressions); });
  };
  EXPECT_EQ(mixed({{"Expected", false}}, {{"ConditionExpression", true}}), "");
  EXPECT_EQ(mixed({{"Expected", true}}, {{"ConditionExpression", false}}), "");
  EXPECT_EQ(
      mixed({{"AttributeUpdates", true}, {"Expected", true}, {"ConditionalOperator", true}},
            {{"UpdateExpression", true}, {"ConditionExpression", true}}),
      "Can not use both expression and non-expression parameters in the same request: "
      "Non-expression parameters: "
      "{AttributeUpdates, Expected, ConditionalOperator} Expression parameters: {UpdateExpression, "
      "ConditionExpression}");
  EXPECT_EQ(mixed({{"KeyConditions", true}},
                  {{"FilterExpression", true}, {"KeyConditionExpression", false}}),
            "");
  EXPECT_EQ(mixed({{"KeyConditions", true}},
                  {{"FilterExpression", true}, {"KeyConditionExpression", true}}),
            "Can not use both expression and non-expression parameters in the same request: "
            "Non-expression parameters: "
            "{KeyConditions} Expression parameters: {FilterExpression, KeyConditionExpression}");
}

TEST(ExprBindings, PlaceholdersNeedAnExpression) {
  const std::vector<Parameter> none = {{"ProjectionExpression", false},
                                       {"FilterExpression", false}};
  const std::vector<Parameter> projection = {{"ProjectionExpression", true},
                                             {"FilterExpression", false}};
  const std::vector<Parameter> query = {{"ProjectionExpression", false},
                                        {"FilterExpression", false},
                                        {"KeyConditionExpression", false}};
  const auto problem = [](const Bindings& bound, const std::vector<Parameter>& expressions) {
    return error_of([&] { check_placeholders_allowed(bound, expressions); });
  };
  EXPECT_EQ(problem(bindings("", ""), none), "");
  EXPECT_EQ(problem(bindings("#a=a", ""), none),
            "ExpressionAttributeNames can only be specified when using expressions");
  EXPECT_EQ(problem(bindings("#a=a", ""), projection), "");
  EXPECT_EQ(problem(bindings("", ":a=1"), projection),
            "ExpressionAttributeValues can only be specified when using expressions");
  EXPECT_EQ(problem(bindings("", ":a=1", Wording::kOlder), projection),
            "ExpressionAttributeValues can only be specified when using expressions: "
            "FilterExpression is null");
  EXPECT_EQ(problem(bindings("", ":a=1", Wording::kOlder), query),
            "ExpressionAttributeValues can only be specified when using expressions: "
            "FilterExpression and "
            "KeyConditionExpression are null");
}

TEST(ExprParseCache, IsBoundedAndForgetsTheOldest) {
  ParseCache small(16);
  for (int i = 0; i < 1000; ++i) small.projection("a" + std::to_string(i));
  EXPECT_LE(small.size(), 16U);
  const auto once = small.condition("a = :v", ExpressionKind::kFilter);
  EXPECT_EQ(small.condition("a = :v", ExpressionKind::kCondition), once);
  EXPECT_NE(error_of([&] { small.condition("a =", ExpressionKind::kFilter); }), "");
  ParseCache off(0);
  off.projection("a");
  EXPECT_EQ(off.size(), 0U);
}

}  // namespace
}  // namespace stator::expr::testing
