#include "common/base64.h"

#include <array>
#include <cstdint>

namespace stator {

namespace {
constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> make_reverse() {
  std::array<int8_t, 256> reverse{};
  for (auto& entry : reverse) entry = -1;
  for (int i = 0; i < 64; ++i)
    reverse[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int8_t>(i);
  return reverse;
}
constexpr auto kReverse = make_reverse();
}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  out.reserve(out.size() + (bytes.size() + 2) / 3 * 4);
  size_t i = 0;
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
  for (; i + 2 < bytes.size(); i += 3) {
    const unsigned group = (byte(i) << 16) | (byte(i + 1) << 8) | byte(i + 2);
    const char quad[4] = {kAlphabet[group >> 18], kAlphabet[(group >> 12) & 63],
                          kAlphabet[(group >> 6) & 63], kAlphabet[group & 63]};
    out.append(quad, 4);
  }
  if (i + 1 == bytes.size()) {
    const unsigned group = byte(i) << 16;
    const char quad[4] = {kAlphabet[group >> 18], kAlphabet[(group >> 12) & 63], '=', '='};
    out.append(quad, 4);
  } else if (i + 2 == bytes.size()) {
    const unsigned group = (byte(i) << 16) | (byte(i + 1) << 8);
    const char quad[4] = {kAlphabet[group >> 18], kAlphabet[(group >> 12) & 63],
                          kAlphabet[(group >> 6) & 63], '='};
    out.append(quad, 4);
  }
}

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    int padding = 0;
    unsigned group = 0;
    for (size_t k = 0; k < 4; ++k) {
      const char c = text[i + k];
      if (c == '=' && i + 4 == text.size() && k >= 2) {
        ++padding;
        group <<= 6;
        continue;
      }
      if (padding > 0) return std::nullopt;
      const int digit = kReverse[static_cast<unsigned char>(c)];
      if (digit < 0) return std::nullopt;
      group = (group << 6) | static_cast<unsigned>(digit);
    }
    if (padding == 1 && (group & 0xFF) != 0) return std::nullopt;
    if (padding == 2 && (group & 0xFFFF) != 0) return std::nullopt;
    out.push_back(static_cast<char>(group >> 16));
    if (padding < 2) out.push_back(static_cast<char>((group >> 8) & 0xFF));
    if (padding < 1) out.push_back(static_cast<char>(group & 0xFF));
  }
  return out;
}

}  // namespace stator
