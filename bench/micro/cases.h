// What the micro-benchmarks run: each case prepares its inputs once and then does one thing over
// and over.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace stator::bench {

struct Case {
  std::string name;
  // Prepares, and returns what is measured.
  std::function<std::function<void()>()> make;
};

const std::vector<Case>& cases();

}  // namespace stator::bench
