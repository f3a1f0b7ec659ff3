#include "shell/render.h"

#include <gtest/gtest.h>

#include "client/plain_value.h"

namespace stator::shell {
namespace {

std::vector<json::Element> elements(const json::Document& document) {
  const json::ArrayElement list = document.root().get_array().value_unsafe();
  std::vector<json::Element> items;
  for (const json::Element item : list) items.push_back(item);
  return items;
}

TEST(ShellRender, ValuesLoseTheirTypes) {
  json::Document document;
  ASSERT_TRUE(document.parse(
      R"({"s":{"S":"a \"b\""},"n":{"N":"1.50"},"t":{"BOOL":true},"z":{"NULL":true},"b":{"B":"AQI="},)"
      R"("l":{"L":[{"S":"x"},{"N":"2"}]},"m":{"M":{"k":{"NS":["1","2"]}}},"ss":{"SS":["p","q"]}})"));
  EXPECT_EQ(client::json_item(document.root()),
            R"({"s":"a \"b\"","n":1.50,"t":true,"z":null,"b":"AQI=","l":["x",2],"m":{"k":[1,2]},)"
            R"("ss":["p","q"]})");
  EXPECT_EQ(client::plain_value(*json::member(document.root(), "s")), "a \"b\"");
  EXPECT_EQ(client::plain_value(*json::member(document.root(), "l")), R"(["x",2])");
}

TEST(ShellRender, AnItemTableIsAlignedWithKeysFirst) {
  json::Document document;
  ASSERT_TRUE(document.parse(
      R"([{"name":{"S":"žluť"},"n":{"N":"5"},"PK":{"S":"a"}},{"PK":{"S":"bbb"},"n":{"N":"10"}}])"));
  const std::vector<json::Element> items = elements(document);
  EXPECT_EQ(item_table(items, {"PK", "SK"}),
            "PK   name  n\n"
            "---  ----  --\n"
            "a    žluť   5\n"
            "bbb        10\n");
}

TEST(ShellRender, LongCellsAreCutAndStayOnTheirLine) {
  json::Document document;
  ASSERT_TRUE(
      document.parse(R"([{"t":{"S":"a\nb"},"u":{"S":")" + std::string(100, 'x') + R"("}}])"));
  const std::vector<json::Element> items = elements(document);
  const std::string table = item_table(items, {});
  EXPECT_NE(table.find("a\\nb  " + std::string(60, 'x') + "…\n"), std::string::npos);
}

}  // namespace
}  // namespace stator::shell
