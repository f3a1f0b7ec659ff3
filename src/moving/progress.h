// How far a long command is: a bar with rate and time left on a terminal, a line now and then
// elsewhere. On standard error.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace stator::moving {

struct ProgressState {
  uint64_t items = 0;
  uint64_t done = 0;   // in the unit of `total`
  uint64_t total = 0;  // 0: not known
};

// "[=====>    ]  52 %  1,234,567 items  98,765 a second  0:12 left", as wide as `columns`.
std::string progress_bar(const ProgressState& state, double items_per_s, double seconds_left,
                         size_t columns);
std::string progress_line(const ProgressState& state, double items_per_s, double seconds_left);
// Taken from how many items what is done had, and how fast they are now: what an earlier run has
// done is passed over at another pace. Below 0: nobody knows.
double seconds_left(const ProgressState& state, double items_per_s);
// "1,234,567"
std::string grouped(uint64_t number);

// Shows what `look` says from time to time, on a thread of its own, until it ends.
class Progress {
 public:
  Progress(std::function<ProgressState()> look, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void run();
  void show(bool last);

  const std::function<ProgressState()> look_;
  const bool terminal_;
  const std::chrono::steady_clock::time_point start_;
  ProgressState first_;
  std::mutex mutex_;
  std::condition_variable ended_changed_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace stator::moving
