// A few threads for work that blocks: a read from disk, a file to be flushed. A coroutine hops onto
// the pool, blocks there, and hops back to the executor it came from.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/executor.h"

namespace stator {

// Thread-safe. Threads are started when there is work for them, at most `threads`, and live until
// the destructor, which runs what was posted before. The queue holds one handle per suspended
// coroutine: it is bounded by the requests that the callers admit. Each thread has the pool as its
// current executor.
class ThreadPool final : public Executor {
 public:
  // `name` is what tools show for the threads; at most 15 characters count.
  ThreadPool(std::string name, size_t threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void post(std::coroutine_handle<> handle) override;

 private:
  void run();

  const std::string name_;
  const size_t limit_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::coroutine_handle<>> queue_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

// co_await of it goes on on `executor`; with null, where it is.
class SwitchTo {
 public:
  explicit SwitchTo(Executor* executor) noexcept : executor_(executor) {}
  bool await_ready() const noexcept { return executor_ == nullptr; }
  void await_suspend(std::coroutine_handle<> handle) const { executor_->post(handle); }
  void await_resume() const noexcept {}

 private:
  Executor* executor_;
};

}  // namespace stator
