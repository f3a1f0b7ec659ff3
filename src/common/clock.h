// The one clock of the process. Everything that asks for the time asks a Clock it was given, so
// that a test can move it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace stator {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Microseconds since 1970 (wall clock).
  virtual int64_t now_us() const = 0;
  int64_t now_ms() const { return now_us() / 1000; }
  int64_t now_s() const { return now_us() / 1'000'000; }
};

class SystemClock final : public Clock {
 public:
  int64_t now_us() const override {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }
};

// A clock that stands still until it is moved.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t start_us) : now_us_(start_us) {}
  int64_t now_us() const override { return now_us_.load(); }
  void advance_us(int64_t by_us) { now_us_ += by_us; }

 private:
  std::atomic<int64_t> now_us_;
};

}  // namespace stator
