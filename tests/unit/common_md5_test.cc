#include "common/md5.h"

#include <gtest/gtest.h>

#include <openssl/evp.h>

#include <string>

#include "common/hex.h"

namespace stator {
namespace {

std::string hashed(std::initializer_list<std::string_view> parts) {
  const auto digest = md5(parts);
  return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

TEST(Md5, HasTheValuesOfItsRfc) {
  EXPECT_EQ(hashed({}), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hashed({"abc"}), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(hashed({"a", "", "bc"}), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(
      hashed({"1234567890123456789012345678901234567890123456789012345678901234567890123456789"
              "0"}),
      "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Md5, EveryLengthIsWhatOpensslSays) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    std::array<unsigned char, 16> expected{};
    ASSERT_EQ(EVP_Digest(text.data(), text.size(), expected.data(), nullptr, EVP_md5(), nullptr),
              1);
    for (const size_t cut : {size_t{0}, text.size() / 3, text.size()}) {
      EXPECT_EQ(md5({text.substr(0, cut), text.substr(cut)}), expected) << i << " at " << cut;
    }
    text.push_back(static_cast<char>(i * 37 + 11));
  }
}

}  // namespace
}  // namespace stator
