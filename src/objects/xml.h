// As much of XML as the answers of S3 need: elements without attributes that matter, and text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stator::objects {

// Takes the content of the next element of that name off the front of `rest`; nothing if there is
// none. Elements of the same name are not nested in what S3 answers.
std::optional<std::string_view> next_element(std::string_view& rest, std::string_view name);
// The text of the first element of that name; empty if there is none.
std::string element_text(std::string_view xml, std::string_view name);
void append_xml_text(std::string& out, std::string_view text);

}  // namespace stator::objects
