// A document path: where in an item a value is, as `a.b[2].c`. Names are resolved; no placeholder
// is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/value.h"

namespace stator::expr {

struct PathElement {
  std::string name;    // of a map's member
  uint32_t index = 0;  // of a list's element
  bool is_index = false;

  static PathElement of_name(std::string name) { return {std::move(name), 0, false}; }
  static PathElement of_index(uint32_t index) { return {{}, index, true}; }
  bool operator==(const PathElement&) const = default;
};

// Never empty; the first element is a name.
class Path {
 public:
  Path() = default;
  explicit Path(std::string attribute) {
    elements_.push_back(PathElement::of_name(std::move(attribute)));
  }
  explicit Path(std::vector<PathElement> elements) : elements_(std::move(elements)) {}

  const std::string& attribute() const { return elements_.front().name; }
  bool is_nested() const { return elements_.size() > 1; }
  const std::vector<PathElement>& elements() const { return elements_; }
  void append(PathElement element) { elements_.push_back(std::move(element)); }

  // The value there, or null.
  const model::Value* find(const model::Item& item) const;

  // As the service prints paths in messages: "[a, b, [2], c]".
  std::string to_string() const;

  bool operator==(const Path&) const = default;

 private:
  std::vector<PathElement> elements_;
};

}  // namespace stator::expr
