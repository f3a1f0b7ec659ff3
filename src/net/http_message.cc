#include "net/http_message.h"

#include <algorithm>

#include "common/words.h"

namespace stator::net {

namespace {
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool equals_by_letter(std::string_view left, std::string_view right) {
  return std::equal(left.begin(), left.end(), right.begin(),
                    [](char one, char other) { return lower(one) == lower(other); });
}

}  // namespace

bool equals_ignoring_case(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  size_t at = 0;
  for (; at + 8 <= left.size(); at += 8) {
    const uint64_t one = load_8_bytes(left.data() + at);
    const uint64_t other = load_8_bytes(right.data() + at);
    if (one == other) continue;
    // The case of a letter is one bit.
    if (((one ^ other) & ~uint64_t{0x2020202020202020}) != 0) return false;
    if (!equals_by_letter(left.substr(at, 8), right.substr(at, 8))) return false;
  }
  return equals_by_letter(left.substr(at), right.substr(at));
}

std::string_view Request::header(std::string_view name) const {
  for (auto it = headers.rbegin(); it != headers.rend(); ++it) {
    if (it->name.size() == name.size() && equals_ignoring_case(it->name, name)) return it->value;
  }
  return {};
}

bool Request::has_header(std::string_view name) const {
  for (const Header& header : headers) {
    if (equals_ignoring_case(header.name, name)) return true;
  }
  return false;
}

void Response::clear() {
  status = 200;
  content_type = {};
  headers.clear();
  body.clear();
}

void Response::add_header(std::string_view name, std::string_view value) {
  headers.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace stator::net
