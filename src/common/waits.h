// Where a request waited, so that a slow one can say what for. A task that was given a Waits hands
// it down to every task that it awaits; who waits asks for it with `co_await OwnWaits()`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace stator {

// In microseconds. Parts of one request may wait at the same time: then their times add up.
struct Waits {
  std::atomic<uint64_t> keys_us{0};    // for room in the engine, and for keys that others hold
  std::atomic<uint64_t> disk_us{0};    // for what was not in memory
  std::atomic<uint64_t> commit_us{0};  // in the queue of commits, and for the flush
};

// Adds what passes until stop(), or until its end, to one of them. Nothing if `waits` is null.
class WaitTimer {
 public:
  WaitTimer(Waits* waits, std::atomic<uint64_t> Waits::*kind) : waits_(waits), kind_(kind) {
    if (waits_ != nullptr) begin_ = std::chrono::steady_clock::now();
  }
  ~WaitTimer() { stop(); }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

  void stop() {
    if (waits_ == nullptr) return;
    const auto passed = std::chrono::steady_clock::now() - begin_;
    (waits_->*kind_)
        .fetch_add(static_cast<uint64_t>(
                       std::chrono::duration_cast<std::chrono::microseconds>(passed).count()),
                   std::memory_order_relaxed);
    waits_ = nullptr;
  }

 private:
  Waits* waits_;
  std::atomic<uint64_t> Waits::*const kind_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace stator
