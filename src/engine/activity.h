// What an engine does besides serving requests: writing its memory out, tidying its files up.
#pragma once

#include <atomic>

namespace stator::engine {

// Thread-safe. An engine that was given one counts in it what it has under way, so that work that
// can wait may wait for it.
class Activity {
 public:
  void begin() { under_way_.fetch_add(1, std::memory_order_relaxed); }
  void end() { under_way_.fetch_sub(1, std::memory_order_relaxed); }
  bool any() const { return under_way_.load(std::memory_order_relaxed) > 0; }

 private:
  std::atomic<int> under_way_{0};
};

}  // namespace stator::engine
