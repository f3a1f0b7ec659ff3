// How background work shares the machine with requests.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/activity.h"

namespace stator::work {

// The pace of one step of a job, which has several rounds. On a machine of two cores requests are
// to have one for themselves, so work in the background is done by one thread at a time: not while
// the engine is busy with itself. See docs/decisions/background-pace.md.
class Pace {
 public:
  explicit Pace(const engine::Activity& engine) : engine_(engine) {}

  // To be asked before each round; rests as long as is right. False once the step has lasted long
  // enough: other jobs wait for its end.
  bool goes_on() {
    const auto end_of_round = Time::now();
    if (rounds_++ > 0) {
      if (end_of_round - begin_ >= kStep) return false;
      std::this_thread::sleep_for(std::min<Time::duration>(end_of_round - begin_of_round_, kRest));
    }
    // Never so long that work would not come to its end under an endless load of writes.
    for (auto waited = kNap; engine_.any() && waited < kLongestWait; waited += kNap)
      std::this_thread::sleep_for(kNap);
    begin_of_round_ = Time::now();
    return true;
  }

 private:
  using Time = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kStep{200};
  static constexpr std::chrono::milliseconds kRest{10};
  static constexpr std::chrono::milliseconds kNap{2};
  static constexpr std::chrono::milliseconds kLongestWait{250};

  const engine::Activity& engine_;
  const Time::time_point begin_ = Time::now();
  Time::time_point begin_of_round_{};
  int rounds_ = 0;
};

}  // namespace stator::work
