#include "json/writer.h"

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace stator::json {

namespace {

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

// How many characters from `at` on need no escape, eight at a time.
size_t plain_length(std::string_view text, size_t at) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr uint64_t kHigh = 0x8080808080808080;
  // The high bit of each byte of `word` that is zero; of no byte before the first such one.
  const auto zeros = [](uint64_t word) { return (word - kOnes) & ~word & kHigh; };
  size_t i = at;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    const uint64_t special = zeros(word ^ (kOnes * '"')) | zeros(word ^ (kOnes * '\\')) |
                             ((word - kOnes * 0x20) & ~word & kHigh);
    if (special != 0) return i - at + static_cast<size_t>(std::countr_zero(special)) / 8;
  }
  while (i < text.size() && is_plain(text[i])) ++i;
  return i - at;
}
static_assert(std::endian::native == std::endian::little);

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out.push_back('"');
  for (size_t i = 0;; ++i) {
    const size_t plain = plain_length(text, i);
    out.append(text.data() + i, plain);
    i += plain;
    if (i == text.size()) break;
    const auto c = static_cast<unsigned char>(text[i]);
    switch (c) {
      case '"':
        out.append("\\\"");
        break;
      case '\\':
        out.append("\\\\");
        break;
      case '\n':
        out.append("\\n");
        break;
      case '\r':
        out.append("\\r");
        break;
      case '\t':
        out.append("\\t");
        break;
      case '\b':
        out.append("\\b");
        break;
      case '\f':
        out.append("\\f");
        break;
      default: {
        constexpr char kHex[] = "0123456789abcdef";
        const char escape[6] = {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
        out.append(escape, 6);
      }
    }
  }
  out.push_back('"');
}

void append_int(std::string& out, int64_t value) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, static_cast<size_t>(end - buffer));
}

void append_double(std::string& out, double value) {
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr;
  out.append(buffer, static_cast<size_t>(end - buffer));
  if (std::string_view(buffer, static_cast<size_t>(end - buffer)).find('.') ==
      std::string_view::npos)
    out.append(".0");
}

}  // namespace stator::json
