#include "shell/render.h"

#include <algorithm>
#include <cwchar>
#include <string_view>

#include "client/plain_value.h"

namespace stator::shell {

namespace {

// A cell is cut here; JSON shows all of it.
constexpr size_t kMostColumns = 60;

// Decodes one character; 0 bytes at the end, and a byte that is none stands for itself.
size_t next_character(std::string_view text, char32_t& character) {
  if (text.empty()) return 0;
  const auto byte = static_cast<unsigned char>(text[0]);
  const size_t length = byte < 0x80    ? 1
                        : byte >= 0xF0 ? 4
                        : byte >= 0xE0 ? 3
                        : byte >= 0xC0 ? 2
                                       : 1;
  character = length == 1 ? byte : byte & (0xFF >> (length + 1));
  if (length > text.size()) {
    character = byte;
    return 1;
  }
  for (size_t i = 1; i < length; ++i)
    character = (character << 6) | (static_cast<unsigned char>(text[i]) & 0x3F);
  return length;
}

size_t character_width(char32_t character) {
  const int width = wcwidth(static_cast<wchar_t>(character));
  return width < 0 ? 1 : static_cast<size_t>(width);
}

// On one line, cut to what fits.
std::string cell(const std::string& text) {
  std::string out;
  size_t width = 0;
  std::string_view rest = text;
  char32_t character = 0;
  while (const size_t bytes = next_character(rest, character)) {
    width += character_width(character);
    if (width > kMostColumns) return out + "…";
    if (character < 0x20) {
      out.append(character == '\n' ? "\\n" : character == '\t' ? "\\t" : "?");
    } else {
      out.append(rest.substr(0, bytes));
    }
    rest.remove_prefix(bytes);
  }
  return out;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.+-eE") == std::string::npos &&
         text.find_first_of("0123456789") != std::string::npos;
}

}  // namespace

size_t display_width(std::string_view text) {
  size_t width = 0;
  char32_t character = 0;
  while (const size_t bytes = next_character(text, character)) {
    width += character_width(character);
    text.remove_prefix(bytes);
  }
  return width;
}

std::string text_table(const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return {};
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  for (size_t at = 0; at < rows.size(); ++at) {
    std::string line;
    for (size_t i = 0; i < rows[at].size(); ++i) {
      const std::string& text = rows[at][i];
      const std::string space(widths[i] - display_width(text), ' ');
      if (i > 0) line.append("  ");
      line.append(at > 0 && is_number(text) ? space + text : text + space);
    }
    out.append(line, 0, line.find_last_not_of(' ') + 1).push_back('\n');
    if (at > 0) continue;
    for (size_t i = 0; i < widths.size(); ++i)
      out.append(i > 0 ? "  " : "").append(std::string(std::max<size_t>(widths[i], 1), '-'));
    out.push_back('\n');
  }
  return out;
}

std::string item_table(const std::vector<json::Element>& items,
                       const std::vector<std::string>& first) {
  std::vector<std::string> columns;
  const auto has = [&](std::string_view name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  };
  for (const std::string& name : first) {
    const bool used = std::any_of(items.begin(), items.end(), [&](const json::Element& item) {
      return json::member(item, name).has_value();
    });
    if (used && !has(name)) columns.push_back(name);
  }
  for (const json::Element& item : items) {
    simdjson::dom::object members;
    if (item.get(members) != simdjson::SUCCESS) continue;
    for (const auto& member : members) {
      if (!has(member.key)) columns.emplace_back(member.key);
    }
  }
  // A SELECT of attributes that no item has still finds the items.
  if (columns.empty() && !items.empty())
    return std::to_string(items.size()) + (items.size() == 1 ? " row" : " rows") +
           " without these attributes\n";
  std::vector<std::vector<std::string>> rows = {{}};
  for (const std::string& column : columns) rows[0].push_back(cell(column));
  for (const json::Element& item : items) {
    std::vector<std::string>& row = rows.emplace_back();
    for (const std::string& column : columns) {
      const auto value = json::member(item, column);
      row.push_back(value ? cell(client::plain_value(*value)) : std::string());
    }
  }
  return text_table(rows);
}

}  // namespace stator::shell
