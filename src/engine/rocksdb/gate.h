// How many changes are under way. A further one waits at the gate, so that a slow disk does not
// fill the memory.
#pragma once

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <list>
#include <mutex>

#include "common/executor.h"

namespace stator::engine {

// Thread-safe. First come, first served. Those who wait go on on their home executor.
class Gate {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // One more may enter while fewer than `change_limit` are inside and they carry less than
  // `byte_limit`. `on_wait` is called when somebody begins to wait, so that expire() gets called
  // from then on.
  Gate(size_t change_limit, size_t byte_limit, std::function<void()> on_wait);

  class Enter {
   public:
    Enter(Gate& gate, std::chrono::milliseconds patience, Executor* home)
        : gate_(gate), patience_(patience), home_(home) {}
    bool await_ready() { return gate_.try_enter(); }
    bool await_suspend(std::coroutine_handle<> handle);
    // True if inside, false if patience ran out.
    bool await_resume() const noexcept { return entered_; }

   private:
    friend class Gate;
    Gate& gate_;
    const std::chrono::milliseconds patience_;
    Executor* const home_;
    Time deadline_;
    std::coroutine_handle<> handle_;
    bool entered_ = true;
  };

  // Says that something inside carries `bytes` more.
  void carry(size_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  // So many left, and carried so much.
  void leave(size_t changes, size_t bytes);

  void expire(Time now);
  bool anyone_waits() const { return waiting_.load() > 0; }
  size_t waiting() const { return waiting_.load(std::memory_order_relaxed); }
  size_t inside() const { return inside_.load(std::memory_order_relaxed); }

 private:
  bool try_enter();
  bool has_room() const;

  const size_t change_limit_;
  const size_t byte_limit_;
  const std::function<void()> on_wait_;
  std::atomic<size_t> inside_{0};
  std::atomic<size_t> bytes_{0};
  std::atomic<size_t> waiting_{0};
  std::mutex mutex_;
  std::list<Enter*> waiters_;
};

}  // namespace stator::engine
