// Ctrl-C while something is moved: it ends at a place from where it can go on.
#pragma once

#include <csignal>

namespace stator::moving {

// While it lives, the first SIGINT or SIGTERM is noted, a second one ends the process. One at a
// time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  // Throws std::runtime_error, which says how to go on, once a signal has come. Of any thread.
  static void check();

 private:
  struct sigaction before_int_ {};
  struct sigaction before_term_ {};
};

}  // namespace stator::moving
