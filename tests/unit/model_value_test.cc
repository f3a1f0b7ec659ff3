#include "model/value.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace stator::model {
namespace {

Value n(std::string_view text) {
  return Value::number(*Number::parse(text));
}
Value s(std::string text) {
  return Value::string(std::move(text));
}

Map map_of(std::initializer_list<std::pair<std::string, Value>> members) {
  Map map;
  for (const auto& [name, value] : members) map.set(name, value);
  return map;
}

std::vector<std::string> names(const Map& map) {
  std::vector<std::string> result;
  for (const Attribute& attribute : map) result.push_back(attribute.name);
  return result;
}

TEST(Value, HasTheTypeItWasMadeWithAndItsContent) {
  struct Case {
    Value value;
    Type type;
    std::string name;
    bool set;
  };
  const std::vector<Case> cases = {
      {s("a"), Type::kString, "S", false},
      {n("1"), Type::kNumber, "N", false},
      {Value::binary("b"), Type::kBinary, "B", false},
      {Value::boolean(true), Type::kBool, "BOOL", false},
      {Value::null(), Type::kNull, "NULL", false},
      {Value::map({}), Type::kMap, "M", false},
      {Value::list({}), Type::kList, "L", false},
      {Value::string_set({"a"}), Type::kStringSet, "SS", true},
      {Value::number_set({Number()}), Type::kNumberSet, "NS", true},
      {Value::binary_set({"a"}), Type::kBinarySet, "BS", true},
  };
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(cases[i].value.type(), cases[i].type);
    EXPECT_TRUE(cases[i].value.is(cases[i].type));
    EXPECT_EQ(type_name(cases[i].type), cases[i].name);
    EXPECT_EQ(cases[i].value.is_set(), cases[i].set) << cases[i].name;
    // Values of different types are different.
    for (size_t k = 0; k < cases.size(); ++k) EXPECT_EQ(cases[i].value == cases[k].value, i == k);
  }
  EXPECT_EQ(s("text").as_string(), "text");
  EXPECT_EQ(Value::binary(std::string("\0x", 2)).as_binary(), std::string("\0x", 2));
  EXPECT_TRUE(Value::boolean(true).as_bool());
  EXPECT_FALSE(Value::boolean(false).as_bool());
  EXPECT_EQ(n("1.50").as_number(), *Number::parse("1.5"));
  EXPECT_TRUE(Value().is(Type::kNull));
}

TEST(Value, KeepsSetsSortedSoThatTheirOrderDoesNotMatter) {
  EXPECT_EQ(Value::string_set({"b", "", "a", "ab"}).as_string_set(),
            (std::vector<std::string>{"", "a", "ab", "b"}));
  EXPECT_EQ(Value::binary_set({"\xFF", std::string("\0", 1), "a"}).as_binary_set(),
            (std::vector<std::string>{std::string("\0", 1), "a", "\xFF"}));
  const auto number = [](const char* text) { return *Number::parse(text); };
  EXPECT_EQ(
      Value::number_set({number("10"), number("9"), number("-1"), number("0.5")}).as_number_set(),
      (std::vector<Number>{number("-1"), number("0.5"), number("9"), number("10")}));
  EXPECT_EQ(Value::string_set({"a", "b"}), Value::string_set({"b", "a"}));
  EXPECT_EQ(Value::number_set({number("1.0"), number("2")}),
            Value::number_set({number("2.00"), number("1")}));
  EXPECT_FALSE(Value::string_set({"a"}) == Value::string_set({"a", "b"}));
  EXPECT_FALSE(Value::string_set({"a"}) == Value::binary_set({"a"}));
}

TEST(Value, ComparesListsInOrderAndMapsByName) {
  EXPECT_EQ(Value::list({s("a"), n("1.0")}), Value::list({s("a"), n("1")}));
  EXPECT_FALSE(Value::list({s("a"), s("b")}) == Value::list({s("b"), s("a")}));
  EXPECT_EQ(Value::map(map_of({{"a", s("1")}, {"b", s("2")}})),
            Value::map(map_of({{"b", s("2")}, {"a", s("1")}})));
  EXPECT_FALSE(Value::map(map_of({{"a", s("1")}})) == Value::map(map_of({{"a", n("1")}})));
  EXPECT_FALSE(Value::map(map_of({{"a", s("1")}})) == Value::map(map_of({{"b", s("1")}})));
}

TEST(Value, IsCopiedDeep) {
  Value original = Value::map(map_of({{"list", Value::list({s("a")})}}));
  const Value copy = original;
  original.as_map().find("list")->as_list().push_back(s("b"));
  EXPECT_EQ(copy.as_map().find("list")->as_list().size(), 1U);
  EXPECT_EQ(original.as_map().find("list")->as_list().size(), 2U);
}

TEST(CompareScalars, OrdersBytesUnsignedAndNumbersByValue) {
  struct Case {
    Value smaller;
    Value larger;
  };
  const std::vector<Case> cases = {
      {s(""), s("a")},
      {s("a"), s("b")},
      {s("a"), s("aa")},
      {s("Z"), s("a")},
      {s("10"), s("9")},
      {s("z"), s("\xC3\xA9")},
      {s("\xEF\xBF\xBD"), s("\xF0\x9F\x98\x80")},  // by UTF-8 bytes, not by UTF-16 units
      {s("a"), s(std::string("a\0", 2))},
      {Value::binary("\x7F"), Value::binary("\x80")},
      {Value::binary(std::string("\0", 1)), Value::binary(std::string("\0\0", 2))},
      {n("9"), n("10")},
      {n("-10"), n("-9")},
      {n("-1"), n("0")},
      {n("0.9"), n("1")},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(compare_scalars(c.smaller, c.larger), std::strong_ordering::less);
    EXPECT_EQ(compare_scalars(c.larger, c.smaller), std::strong_ordering::greater);
    EXPECT_EQ(compare_scalars(c.smaller, c.smaller), std::strong_ordering::equal);
  }
  EXPECT_EQ(compare_scalars(n("1.0"), n("1")), std::strong_ordering::equal);
}

TEST(Map, KeepsItsNamesSortedByBytes) {
  Map map;
  EXPECT_TRUE(map.empty());
  for (const char* name : {"b", "a", "\xC3\xA9", "B", "aa", ""}) map.set(name, s(name));
  EXPECT_EQ(names(map), (std::vector<std::string>{"", "B", "a", "aa", "b", "\xC3\xA9"}));
  EXPECT_EQ(map.size(), 6U);
  EXPECT_FALSE(map.empty());
}

TEST(Map, FindsExactlyTheNamesItHolds) {
  Map map = map_of({{"a", s("1")}, {"ab", s("2")}, {"c", s("3")}});
  EXPECT_EQ(*map.find("ab"), s("2"));
  for (const char* name : {"", "A", "abc", "b", "d"}) {
    EXPECT_EQ(map.find(name), nullptr) << name;
    EXPECT_FALSE(map.contains(name)) << name;
  }
  EXPECT_TRUE(map.contains("c"));
  *map.find("c") = n("3");
  EXPECT_EQ(*map.find("c"), n("3"));
  EXPECT_EQ(std::as_const(map).find("x"), nullptr);
}

TEST(Map, ReplacesOnSetAndTellsWhetherItErased) {
  Map map = map_of({{"a", s("1")}, {"b", s("2")}});
  map.set("a", s("new"));
  EXPECT_EQ(map.size(), 2U);
  EXPECT_EQ(*map.find("a"), s("new"));
  EXPECT_FALSE(map.erase("c"));
  EXPECT_TRUE(map.erase("a"));
  EXPECT_FALSE(map.erase("a"));
  EXPECT_EQ(names(map), std::vector<std::string>{"b"});
}

TEST(Map, BehavesAsASortedMapUnderRandomChanges) {
  std::mt19937 random(1);
  Map map;
  std::map<std::string, std::string> expected;
  for (int i = 0; i < 5000; ++i) {
    const std::string name(random() % 3, static_cast<char>('a' + random() % 8));
    if (random() % 3 == 0) {
      EXPECT_EQ(map.erase(name), expected.erase(name) == 1);
    } else {
      const std::string text = std::to_string(i);
      map.set(name, s(text));
      expected[name] = text;
    }
    ASSERT_EQ(map.size(), expected.size());
    auto at = expected.begin();
    for (const Attribute& attribute : map) {
      ASSERT_EQ(attribute.name, at->first);
      ASSERT_EQ(attribute.value.as_string(), at->second);
      ++at;
    }
  }
}

TEST(Map, BuiltInOrderEqualsOneBuiltByName) {
  Map appended;
  appended.reserve(2);
  appended.append_sorted("a", s("1"));
  appended.append_sorted("b", s("2"));
  EXPECT_EQ(appended, map_of({{"b", s("2")}, {"a", s("1")}}));
  EXPECT_EQ(*appended.find("b"), s("2"));
}

TEST(SizeBytes, OfAValueFollowsTheServiceToTheByte) {
  struct Case {
    Value value;
    size_t bytes;
  };
  const std::vector<Case> cases = {
      {s(""), 0},
      {s("abc"), 3},
      {s("\xC3\xA9"), 2},
      {s("\xF0\x9F\x98\x80"), 4},
      {Value::binary(std::string(10, '\0')), 10},
      {n("0"), 1},
      {n("-42"), 3},
      {n("100.5"), 4},
      {Value::boolean(true), 1},
      {Value::boolean(false), 1},
      {Value::null(), 1},
      {Value::string_set({"a", "bcd", ""}), 4},
      {Value::number_set({*Number::parse("1"), *Number::parse("1234"), Number()}), 2 + 3 + 1},
      {Value::binary_set({std::string("\0", 1), "xy"}), 3},
      {Value::list({}), 3},
      {Value::list({s("")}), 3 + 1},
      {Value::list({s("ab"), n("1"), Value::null()}), 3 + (1 + 2) + (1 + 2) + (1 + 1)},
      {Value::map({}), 3},
      {Value::map(map_of({{"a", s("")}})), 3 + 1 + 1},
      {Value::map(map_of({{"ab", s("cd")}, {"n", n("12")}})), 3 + (1 + 2 + 2) + (1 + 1 + 2)},
      {Value::list({Value::list({Value::map({})})}), 3 + 1 + 3 + 1 + 3},
  };
  for (size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(size_bytes(cases[i].value), cases[i].bytes) << "case " << i;
}

TEST(SizeBytes, OfAnItemIsItsNamesAndValuesWithoutOverhead) {
  EXPECT_EQ(size_bytes(Item()), 0U);
  EXPECT_EQ(size_bytes(map_of({{"pk", s("a")}})), 3U);
  EXPECT_EQ(
      size_bytes(map_of(
          {{"pk", s("a")}, {"\xC3\xA9", n("1")}, {"m", Value::map(map_of({{"x", s("y")}}))}})),
      (2U + 1) + (2 + 2) + (1 + 3 + 1 + 1 + 1));
  // The largest item: 400 KB with its names.
  EXPECT_EQ(size_bytes(map_of({{"pk", s("a")}, {"d", s(std::string(409600 - 4, 'x'))}})), 409600U);
}

}  // namespace
}  // namespace stator::model
