// When trouble with a bucket ends an export or import, and what it is then called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "objects/object_store.h"

namespace stator::work {

// One for each transfer.
class Patience {
 public:
  // How long a store may be out of reach.
  static constexpr int64_t kLimit_ms = 10 * 60 * 1000;

  // The FailureCode that ends `what` ("export 0169…"); nothing if it is to be tried again later.
  std::optional<std::string> failure_of(const objects::ObjectError& error, const std::string& what,
                                        int64_t now_ms);
  // The store was within reach.
  void calm() { out_of_reach_since_ms_.reset(); }

 private:
  std::optional<int64_t> out_of_reach_since_ms_;
};

}  // namespace stator::work
