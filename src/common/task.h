// Task<T>: a lazily started coroutine that yields one T or throws. It is how every request runs, so
// that no connection's thread waits for a disk flush or for the network.
//
// A Task is owned by one place and awaited once. It resumes its awaiter by symmetric transfer, so
// chains of any length use no stack. Awaitables that complete on another thread resume the
// coroutine through the Executor that was current when it was suspended (see executor.h).
#pragma once

#include <atomic>
#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace stator {

struct Waits;  // waits.h

template <typename T>
class Task;

namespace task_detail {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Sanitized code has no tail calls: a transfer would take stack, and a loop that awaits tasks takes
// it without end. Here the awaiter starts its task by a call. Whoever of the two comes second to
// `passed`, the task at its end or the awaiter after the call, goes on with the awaiter.
struct FinalAwaiter {
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> self) const noexcept {
    const auto next = self.promise().continuation;
    if (self.promise().passed.exchange(true) && next) next.resume();
  }
  void await_resume() const noexcept {}
};

template <typename Promise>
bool transfer(std::coroutine_handle<Promise> to) {
  to.resume();
  return !to.promise().passed.exchange(true);
}
#else
struct FinalAwaiter {
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
    auto next = self.promise().continuation;
    return next ? next : std::noop_coroutine();
  }
  void await_resume() const noexcept {}
};

template <typename Promise>
std::coroutine_handle<> transfer(std::coroutine_handle<Promise> to) noexcept {
  return to;
}
#endif

struct PromiseBase {
  std::coroutine_handle<> continuation;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  std::atomic<bool> passed = false;
#endif
  Waits* waits = nullptr;  // its own, or that of who awaits it
  std::exception_ptr error;
  std::suspend_always initial_suspend() const noexcept {
    return {};
  }
  FinalAwaiter final_suspend() const noexcept {
    return {};
  }
  void unhandled_exception() noexcept {
    error = std::current_exception();
  }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() {
    if (error) std::rethrow_exception(error);
    return std::move(*value);
  }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() noexcept {}
  void take() {
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace task_detail

template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = task_detail::Promise<T>;

  Task() = default;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  struct Awaiter {
    std::coroutine_handle<promise_type> handle;
    bool await_ready() const noexcept { return false; }
    template <typename Awaiting>
    auto await_suspend(std::coroutine_handle<Awaiting> awaiting) const noexcept {
      handle.promise().continuation = awaiting;
      if constexpr (std::is_base_of_v<task_detail::PromiseBase, Awaiting>) {
        if (handle.promise().waits == nullptr) handle.promise().waits = awaiting.promise().waits;
      }
      return task_detail::transfer(handle);
    }
    T await_resume() const { return handle.promise().take(); }
  };
  // Before it is awaited: it, and all that it awaits, note in `waits` what they wait for.
  void note_waits_in(Waits* waits) noexcept { handle_.promise().waits = waits; }

  Awaiter operator co_await() && noexcept { return Awaiter{handle_}; }
  Awaiter operator co_await() & noexcept { return Awaiter{handle_}; }

 private:
  std::coroutine_handle<promise_type> handle_;
};

// co_await of it gives the Waits that the awaiting task has, or null. Does not suspend.
struct OwnWaits {
  Waits* found = nullptr;
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    found = self.promise().waits;
    return false;
  }
  Waits* await_resume() const noexcept { return found; }
};

namespace task_detail {
template <typename T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

// A coroutine that starts at once and frees itself at its end.
struct Detached {
  struct promise_type {
    Detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

// The task, and with it all that it owns, is gone before `done` is told: who waits may then let go
// of everything.
template <typename T, typename Done>
Detached run_detached(Task<T> task, Done done) {
  std::exception_ptr error;
  if constexpr (std::is_void_v<T>) {
    try {
      co_await task;
    } catch (...) {
      error = std::current_exception();
    }
    task = Task<T>();
    done(error);
  } else {
    std::optional<T> result;
    try {
      result.emplace(co_await task);
    } catch (...) {
      error = std::current_exception();
    }
    task = Task<T>();
    done(error, std::move(result));
  }
}
}  // namespace task_detail

// Starts `task` now on this thread. `done` is called exactly once, on whatever thread the task ends
// on: done(exception_ptr) for Task<void>, done(exception_ptr, optional<T>) otherwise. It must not
// throw.
template <typename T, typename Done>
void start(Task<T> task, Done done) {
  task_detail::run_detached(std::move(task), std::move(done));
}

// Runs all tasks at the same time and gives their results in order. Waits for every one even if
// some fail; then throws the first failure.
template <typename T>
Task<std::vector<T>> when_all(std::vector<Task<T>> tasks);

// Runs `task` to its end, blocking this thread. For tests, tools and background threads only.
template <typename T>
T run_blocking(Task<T> task);

}  // namespace stator

#include "common/task_blocking.h"
#include "common/task_group.h"
