#include "net/http_message.h"

namespace stator::net {

namespace {
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}
}  // namespace

bool equals_ignoring_case(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (lower(left[i]) != lower(right[i])) return false;
  }
  return true;
}

std::string_view Request::header(std::string_view name) const {
  for (auto it = headers.rbegin(); it != headers.rend(); ++it) {
    if (equals_ignoring_case(it->name, name)) return it->value;
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
