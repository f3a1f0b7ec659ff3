#include "common/base64.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace stator {
namespace {

using namespace std::string_literals;

std::string encoded(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

TEST(Base64, WritesAndReadsKnownTexts) {
  struct Case {
    std::string bytes;
    std::string text;
  };
  const std::vector<Case> cases = {
      {"", ""},
      {"f", "Zg=="},
      {"fo", "Zm8="},
      {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="},
      {"fooba", "Zm9vYmE="},
      {"foobar", "Zm9vYmFy"},
      {"\0"s, "AA=="},
      {"\0\0"s, "AAA="},
      {"\0\0\0"s, "AAAA"},
      {"\xFF", "/w=="},
      {"\xFF\xFF\xFF", "////"},
      {"\xFB\xEF\xBE", "++++"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(encoded(c.bytes), c.text);
    EXPECT_EQ(decode_base64(c.text), c.bytes) << c.text;
  }
}

TEST(Base64, AppendsToWhatIsThere) {
  std::string out = "\"";
  append_base64(out, "foo");
  EXPECT_EQ(out, "\"Zm9v");
}

TEST(Base64, ReadsBackRandomBytes) {
  std::mt19937 random(1);
  for (size_t size = 0; size < 300; ++size) {
    std::string bytes(size, ' ');
    for (char& c : bytes) c = static_cast<char>(random());
    const std::string text = encoded(bytes);
    EXPECT_EQ(text.size(), (size + 2) / 3 * 4);
    EXPECT_EQ(decode_base64(text), bytes) << size;
  }
}

TEST(Base64, RefusesWhatIsNotStrict) {
  const std::vector<std::string> texts = {
      "A",
      "AA",
      "AAA",
      "AAAAA",
      "=",
      "==",
      "====",
      "A===",
      "AA=A",
      "=AAA",
      "A=AA",
      "AA==AAAA",
      "AAA=AAAA",
      "Zg==\n",
      "Zg= ",
      " Zm9",
      "Zm9-",
      "Zm9_",
      "Zm 9",
      "Zm9\0"s,
      "\xC3\xA9"
      "AA",
      // Bits that no byte uses.
      "Zh==",
      "AB==",
      "AAB=",
      "Zm9=",
      "/x==",
  };
  for (const std::string& text : texts) EXPECT_EQ(decode_base64(text), std::nullopt) << text;
}

TEST(Base64, ReadsExactlyTheTextsThatItWrites) {
  // Every text of four characters from a few of each kind.
  const std::string some = "ABQgwz09+/=-";
  for (const char a : some) {
    for (const char b : some) {
      for (const char c : some) {
        for (const char d : some) {
          const std::string text{a, b, c, d};
          const auto bytes = decode_base64(text);
          if (bytes) {
            EXPECT_EQ(encoded(*bytes), text);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace stator
