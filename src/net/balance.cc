#include "net/balance.h"

namespace stator::net {

namespace {

constexpr double kFull = 0.9;
// What those that remain may have to do.
constexpr double kEnough = 0.75;
constexpr std::chrono::milliseconds kCalm{200};
// Requests that take so long hold up others on the same thread, so there they need all threads.
constexpr double kLongRequestUs = 200;

}  // namespace

void Balance::measured(const Load& load) {
  const unsigned active = this->active();
  const bool is_long = load.request_us > kLongRequestUs;
  if (active < threads_ && (is_long || load.busiest > kFull)) {
    active_.store(is_long ? threads_ : active + 1, std::memory_order_relaxed);
    calm_ = {};
    return;
  }
  if (active == 1 || is_long || load.together > kEnough * (active - 1)) {
    calm_ = {};
    return;
  }
  calm_ += load.elapsed;
  if (calm_ < kCalm) return;
  active_.store(active - 1, std::memory_order_relaxed);
  calm_ = {};
}

}  // namespace stator::net
