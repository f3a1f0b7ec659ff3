// Reading JSON: simdjson's DOM, with the conventions of this project. A Document owns its text and
// is read in place.
#pragma once

#include <simdjson.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace stator::json {

using Element = simdjson::dom::element;
using ObjectElement = simdjson::dom::object;
using ArrayElement = simdjson::dom::array;
using Kind = simdjson::dom::element_type;

// A parsed text. Elements point into it. Not shared between threads.
class Document {
 public:
  Document();
  ~Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  // False if `text` is not one JSON value.
  bool parse(std::string text);
  Element root() const { return root_; }

 private:
  std::string text_;
  std::unique_ptr<simdjson::dom::parser> parser_;
  Element root_;
};

// The member of an object if it is there and not null. Nothing if `element` is no object.
std::optional<Element> member(const Element& element, std::string_view name);
// The same for a member known to have that type; nothing if it has another.
std::optional<std::string_view> string_member(const Element& element, std::string_view name);
std::optional<int64_t> int_member(const Element& element, std::string_view name);
std::optional<bool> bool_member(const Element& element, std::string_view name);
std::optional<ArrayElement> array_member(const Element& element, std::string_view name);
std::optional<ObjectElement> object_member(const Element& element, std::string_view name);

// Whole numbers out of any JSON number (a decimal is cut off) and truth out of a boolean or its
// words.
std::optional<int64_t> to_int(const Element& element);
std::optional<bool> to_bool(const Element& element);

// The text of an element that does not depend on the order of members or on white space.
std::string canonical(const Element& element);

}  // namespace stator::json
