// How background work shares the machine with requests.
#pragma once

#include <chrono>
#include <thread>

namespace stator::work {

// The pace of one step of a job, which has several rounds.
class Pace {
 public:
  // To be asked before each round: false once the step has lasted long enough. Other jobs wait for
  // the end of a step.
  bool goes_on() {
    const auto now = Time::now();
    if (rounds_++ == 0) return true;
    return now - begin_ < kStep;
  }

 private:
  using Time = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kStep{200};

  Time::time_point begin_ = Time::now();
  int rounds_ = 0;
};

}  // namespace stator::work
