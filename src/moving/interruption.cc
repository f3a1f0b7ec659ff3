#include "moving/interruption.h"

#include <atomic>
#include <stdexcept>

namespace stator::moving {

namespace {

// A handler of signals can reach nothing else.
std::atomic<bool> asked{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void note(int /*signal*/) {
  asked.store(true, std::memory_order_relaxed);
}

}  // namespace

Interruption::Interruption() {
  asked = false;
  struct sigaction action {};
  action.sa_handler = &note;
  action.sa_flags = static_cast<int>(SA_RESTART | SA_RESETHAND);
  sigaction(SIGINT, &action, &before_int_);
  sigaction(SIGTERM, &action, &before_term_);
}

Interruption::~Interruption() {
  sigaction(SIGINT, &before_int_, nullptr);
  sigaction(SIGTERM, &before_term_, nullptr);
}

void Interruption::check() {
  if (asked.load(std::memory_order_relaxed))
    throw std::runtime_error("interrupted; the same command goes on from here");
}

}  // namespace stator::moving
