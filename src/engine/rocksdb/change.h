// A change on its way through the committer.
#pragma once

#include <atomic>
#include <coroutine>
#include <memory>
#include <utility>

#include "common/executor.h"
#include "engine/engine.h"

namespace stator::engine {

// Lives in the frame of the coroutine that waits for it. The committer does not touch it after
// complete().
class Change {
 public:
  explicit Change(Executor* home) : home_(home) {}
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  // What to write. Empty for one who only waits until everything queued before is durable. Shared
  // with the queued images, which point into it.
  std::shared_ptr<Batch> batch;
  Outcome outcome;

  // Says that `outcome` is final. Resumes the coroutine if it waits, on its home.
  void complete() {
    if (state_.exchange(State::kDone, std::memory_order_acq_rel) == State::kSuspended)
      resume_on(home_, waiter_);
  }

  class Completion {
   public:
    explicit Completion(Change& change) : change_(change) {}
    bool await_ready() const noexcept {
      return change_.state_.load(std::memory_order_acquire) == State::kDone;
    }
    bool await_suspend(std::coroutine_handle<> handle) {
      change_.waiter_ = handle;
      suspended_ = true;
      if (change_.state_.exchange(State::kSuspended, std::memory_order_acq_rel) != State::kDone)
        return true;
      suspended_ = false;
      return false;
    }
    // True if the coroutine was resumed on its home, false if it never left the thread it was on.
    bool await_resume() const noexcept { return suspended_; }

   private:
    Change& change_;
    bool suspended_ = false;
  };
  Completion completion() { return Completion(*this); }

 private:
  enum class State { kPending, kSuspended, kDone };
  Executor* const home_;
  std::coroutine_handle<> waiter_;
  std::atomic<State> state_{State::kPending};
};

}  // namespace stator::engine
