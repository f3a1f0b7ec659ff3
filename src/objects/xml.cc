#include "objects/xml.h"

#include <array>
#include <charconv>
#include <utility>

namespace stator::objects {

namespace {

constexpr std::array<std::pair<std::string_view, char>, 5> kEntities = {
    {{"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}}};

void append_utf8(std::string& out, uint32_t point) {
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (point >> 6)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (point >> 12)));
    out.push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | (point >> 18)));
    out.push_back(static_cast<char>(0x80 | ((point >> 12) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  }
}

// Takes an entity off the front of `text`. False if it is none.
bool take_entity(std::string_view& text, std::string& out) {
  for (const auto& [entity, character] : kEntities) {
    if (!text.starts_with(entity)) continue;
    out.push_back(character);
    text.remove_prefix(entity.size());
    return true;
  }
  if (!text.starts_with("&#")) return false;
  const size_t end = text.find(';');
  if (end == std::string_view::npos) return false;
  const bool is_hex = text.size() > 2 && (text[2] == 'x' || text[2] == 'X');
  const std::string_view digits = text.substr(is_hex ? 3 : 2, end - (is_hex ? 3 : 2));
  uint32_t point = 0;
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), point, is_hex ? 16 : 10);
  if (error != std::errc() || stop != digits.data() + digits.size() || point > 0x10FFFF) {
    return false;
  }
  append_utf8(out, point);
  text.remove_prefix(end + 1);
  return true;
}

}  // namespace

std::optional<std::string_view> next_element(std::string_view& rest, std::string_view name) {
  const std::string open = "<" + std::string(name);
  size_t at = 0;
  for (;;) {
    at = rest.find(open, at);
    if (at == std::string_view::npos) return std::nullopt;
    const size_t behind = at + open.size();
    if (behind < rest.size() &&
        (rest[behind] == '>' || rest[behind] == ' ' || rest[behind] == '/')) {
      break;
    }
    at = behind;
  }
  const size_t end_of_tag = rest.find('>', at);
  if (end_of_tag == std::string_view::npos) return std::nullopt;
  if (rest[end_of_tag - 1] == '/') {
    rest.remove_prefix(end_of_tag + 1);
    return std::string_view();
  }
  const std::string close = "</" + std::string(name) + ">";
  const size_t end = rest.find(close, end_of_tag);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view content = rest.substr(end_of_tag + 1, end - end_of_tag - 1);
  rest.remove_prefix(end + close.size());
  return content;
}

std::string element_text(std::string_view xml, std::string_view name) {
  std::string_view text = next_element(xml, name).value_or(std::string_view());
  std::string out;
  while (!text.empty()) {
    if (text.front() == '&' && take_entity(text, out)) continue;
    out.push_back(text.front());
    text.remove_prefix(1);
  }
  return out;
}

void append_xml_text(std::string& out, std::string_view text) {
  for (const char c : text) {
    bool replaced = false;
    for (const auto& [entity, character] : kEntities) {
      if (c != character) continue;
      out.append(entity);
      replaced = true;
    }
    if (!replaced) out.push_back(c);
  }
}

}  // namespace stator::objects
