// Filter patterns of an event source mapping: JSON that has the structure of a record, with a list
// of rules in place of each value. A record passes if it matches one of the mapping's patterns.
//
//   {"eventName": ["INSERT", "MODIFY"], "dynamodb": {"NewImage": {"status": {"S": [{"prefix":
//   "o"}]}}}}
//
// All fields of a pattern must match; of the rules of a field one must, and of a field whose value
// is a list one of the values. {"$or": [{…}, {…}]} asks for one of several patterns.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "json/reader.h"

namespace stator::triggers {

// Immutable; threads may share it.
class FilterPattern {
 public:
  // Nothing if `text` is no valid pattern.
  static std::optional<FilterPattern> parse(std::string_view text);

  bool matches(const json::Element& record) const;

  struct Node;

 private:
  explicit FilterPattern(std::shared_ptr<const Node> root) : root_(std::move(root)) {}
  std::shared_ptr<const Node> root_;
};

// No patterns at all let everything pass.
bool passes(const std::vector<FilterPattern>& patterns, const json::Element& record);

}  // namespace stator::triggers
