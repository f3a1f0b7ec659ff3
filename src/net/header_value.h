// The pieces of a header's value. Internal to this room.
#pragma once

#include <string_view>

namespace stator::net {

// Without the white space around it.
inline std::string_view trim(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Calls `use` with each trimmed part of `text` between `separator`s.
template <typename Use>
void split(std::string_view text, char separator, const Use& use) {
  for (;;) {
    const size_t at = text.find(separator);
    use(trim(text.substr(0, at)));
    if (at == std::string_view::npos) return;
    text.remove_prefix(at + 1);
  }
}

}  // namespace stator::net
