// Which items have expired.
#pragma once

#include <algorithm>

#include "common/clock.h"
#include "store/store.h"

namespace stator::work {

// The service leaves items alone whose time is longer ago than that.
inline constexpr int64_t kOldestExpiry_s = 5LL * 365 * 24 * 60 * 60;

// The times of items that are to be deleted now, `delay_s` after them.
inline store::Store::DueTimes due_times(const Clock& clock, int64_t delay_s) {
  const int64_t now_s = clock.now_s() - delay_s;
  return {std::max<int64_t>(0, now_s - kOldestExpiry_s), std::max<int64_t>(0, now_s)};
}

}  // namespace stator::work
