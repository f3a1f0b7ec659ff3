// Items as people read them: an aligned table, or JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/reader.h"

namespace stator::shell {

enum class Format {
  kTable,
  kJson,    // plain values, an item a line
  kDynamo,  // with types, as the wire has them, an item a line
};

// How many columns of a terminal the text takes.
size_t display_width(std::string_view text);

// Rows of one page under a head of all attributes in the order they first appear; `first` are those
// that come before all others if they are there.
std::string item_table(const std::vector<json::Element>& items,
                       const std::vector<std::string>& first);
// Any rows, the first of them the head.
std::string text_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace stator::shell
