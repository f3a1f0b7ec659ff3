// Ends waits whose patience ran out: a thread that looks around every few milliseconds while
// anybody waits at all.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace stator::engine {

// Thread-safe.
class Sweeper {
 public:
  // Calls `sweep` again and again from the first wake() until it has answered false, nobody waits,
  // for a while.
  explicit Sweeper(std::function<bool()> sweep);
  ~Sweeper();
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;

  // Somebody begins to wait. Cheap when the thread is awake.
  void wake();
  // Joins the thread; no sweep runs after this.
  void stop();

 private:
  void run();

  const std::function<bool()> sweep_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> awake_{false};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace stator::engine
