#include "json/writer.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace stator::json {
namespace {

std::string in_json(std::string_view text) {
  std::string out;
  append_quoted(out, text);
  return out;
}

// What each character is in a JSON text, said the slow way.
std::string escaped(unsigned char c) {
  switch (c) {
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    default:
      break;
  }
  if (c >= 0x20) return {static_cast<char>(c)};
  char text[8];
  std::snprintf(text, sizeof text, "\\u%04x", c);
  return text;
}

TEST(JsonWriter, EveryByteAtEveryPlaceOfAWord) {
  for (int byte = 0; byte < 256; ++byte) {
    for (const char around : {'a', '\x7f', '\xc3', '!', '#'}) {
      for (size_t size = 1; size < 20; ++size) {
        for (size_t at = 0; at < size; ++at) {
          std::string text(size, around);
          text[at] = static_cast<char>(byte);
          const std::string expected = '"' + std::string(at, around) +
                                       escaped(static_cast<unsigned char>(byte)) +
                                       std::string(size - at - 1, around) + '"';
          ASSERT_EQ(in_json(text), expected) << byte << " at " << at << " of " << size;
        }
      }
    }
  }
}

TEST(JsonWriter, ManyEscapesInARow) {
  EXPECT_EQ(in_json(""), "\"\"");
  EXPECT_EQ(in_json("\"\"\"\"\"\"\"\"\"\"\\\\"),
            "\"" + std::string(R"(\"\"\"\"\"\"\"\"\"\"\\\\)") + "\"");
  EXPECT_EQ(in_json("\x01 and !\x1f\" then"), R"("\u0001 and !\u001f\" then")");
}

}  // namespace
}  // namespace stator::json
