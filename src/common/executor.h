// Where a suspended coroutine goes on. Network threads and pool threads each set themselves as the
// current executor; an awaitable that completes elsewhere remembers the executor it was suspended
// on and posts the coroutine back to it.
#pragma once

#include <coroutine>

namespace stator {

// Thread-safe. Outlives every coroutine that was suspended on one of its threads.
class Executor {
 public:
  virtual ~Executor() = default;
  // Resumes `handle` soon, on a thread of this executor.
  virtual void post(std::coroutine_handle<> handle) = 0;

  // The executor of this thread, or null (then completions resume on the completing thread).
  static Executor* current() noexcept { return slot(); }

  // Makes `executor` the current one of this thread for a scope.
  class Scope {
   public:
    explicit Scope(Executor* executor) noexcept : before_(slot()) { slot() = executor; }
    ~Scope() { slot() = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Executor* before_;
  };

 private:
  static Executor*& slot() noexcept {
    thread_local Executor* executor = nullptr;
    return executor;
  }
};

// Resumes `handle` on `executor`, or here if there is none.
inline void resume_on(Executor* executor, std::coroutine_handle<> handle) {
  if (executor != nullptr) {
    executor->post(handle);
  } else {
    handle.resume();
  }
}

}  // namespace stator
