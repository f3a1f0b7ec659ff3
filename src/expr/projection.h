// Which parts of an item an answer holds.
#pragma once

#include <string>
#include <vector>

#include "expr/path.h"
#include "model/value.h"

namespace stator::expr {

class Projection {
 public:
  Projection() = default;
  // The paths do not overlap or conflict; checked where they come from (bind.h, legacy.h).
  explicit Projection(std::vector<Path> paths);

  const std::vector<Path>& paths() const { return paths_; }
  // No path goes into a document: `top_level_names` says it all.
  bool is_top_level() const { return top_level_; }
  // Sorted names of the attributes that the paths begin with, each once.
  const std::vector<std::string>& top_level_names() const { return names_; }

 private:
  std::vector<Path> paths_;
  std::vector<std::string> names_;
  bool top_level_ = true;
};

// The parts of `item` that exist. Elements of a list keep their order and close up; a map or list
// of which nothing was found is not there at all.
model::Item project(const Projection& projection, const model::Item& item);

}  // namespace stator::expr
