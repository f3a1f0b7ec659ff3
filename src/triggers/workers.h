// Threads for calls that block. They come when there is work and go when there has been none for a
// while.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace stator::triggers {

// Thread-safe. At most `limit` threads; what is posted beyond waits its turn.
class Workers {
 public:
  explicit Workers(size_t limit) : limit_(limit) {}
  // Waits for everything that was posted.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void post(std::function<void()> work);
  // Nothing waits, nothing runs.
  bool idle() const;

 private:
  void run();

  const size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable gone_;
  std::deque<std::function<void()>> queue_;
  size_t threads_ = 0;
  size_t waiting_ = 0;
  bool stopping_ = false;
};

}  // namespace stator::triggers
