// How long a commit waits for company before it is flushed. Those who were just answered mostly
// come back at once; a flush that begins without them makes them wait for a whole other one. So the
// next flush waits for as many as were there the last time, for a tenth of a flush's time at the
// most. One who is alone has nobody to wait for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace stator::engine {

// Used by one thread at a time. Times in microseconds of a clock that only goes forward.
class GroupFilling {
 public:
  struct Wait {
    size_t changes = 0;     // go on once so many are queued
    uint64_t until_us = 0;  // or at this time
  };

  // A flush of `answered` changes ended, `queued` more came meanwhile.
  void flushed(size_t answered, size_t queued, uint64_t took_us, uint64_t now_us) {
    flush_us_ = flush_us_ == 0 ? took_us : flush_us_ + took_us / 8 - flush_us_ / 8;
    expected_ = answered + queued;
    ended_us_ = now_us;
  }

  // What to wait for with `queued` changes at hand; nothing if until_us is not in the future.
  Wait wait_for(size_t queued, uint64_t now_us) {
    // Whoever has not come back within a flush's time is not about to.
    if (queued >= expected_ || now_us > ended_us_ + flush_us_) return {};
    if (skip_ > 0) {
      --skip_;
      return {};
    }
    return {expected_, now_us + flush_us_ / kShare};
  }

  // A wait that began with `before` changes ended with `after`. Waits that bring nobody become
  // rare.
  void waited(size_t before, size_t after) {
    misses_ = after > before ? 0 : std::min(misses_ + 1, kMaxMisses);
    skip_ = misses_ == 0 ? 0 : (1u << misses_) - 1;
  }

 private:
  static constexpr uint64_t kShare = 10;
  static constexpr uint32_t kMaxMisses = 7;

  uint64_t flush_us_ = 0;  // what a flush takes, smoothed
  size_t expected_ = 0;
  uint64_t ended_us_ = 0;
  uint32_t misses_ = 0;  // in a row
  uint32_t skip_ = 0;
};

}  // namespace stator::engine
