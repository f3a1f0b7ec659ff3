// How long a commit waits for company before it is flushed. Those who were just answered mostly
// come back at once; a flush that begins without them makes them wait for a whole other one. So the
// next flush waits for as many as were there the last time: for a tenth of a flush's time at the
// most, or longer where that was seen to serve everybody sooner. With the short wait clients may
// fall into two halves, of which one comes back while the other is flushed; all of them together
// need one flush and the time in which they come back, which is less where flushes are slow. Both
// are tried from time to time, and what brought more changes a second is kept. One who is alone has
// nobody to wait for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace stator::engine {

// Used by one thread at a time. Times in microseconds of a clock that only goes forward.
class GroupFilling {
 public:
  struct Wait {
    size_t changes = 0;     // go on once so many are queued
    uint64_t until_us = 0;  // or at this time
  };

  // A flush of `answered` changes ended, `queued` more came meanwhile.
  void flushed(size_t answered, size_t queued, uint64_t took_us, uint64_t now_us) {
    flush_us_ = flush_us_ == 0 ? took_us : flush_us_ + took_us / 8 - flush_us_ / 8;
    if (now_us < ended_us_ + kPause * flush_us_) count(answered, now_us - ended_us_);
    expected_ = answered + queued;
    company_ += (static_cast<double>(expected_) - company_) / 16;
    ended_us_ = now_us;
  }

  // What to wait for with `queued` changes at hand; nothing if until_us is not in the future.
  Wait wait_for(size_t queued, uint64_t now_us) {
    // Whoever has not come back within a flush's time is not about to.
    if (queued >= expected_ || now_us > ended_us_ + flush_us_) return {};
    if (skip_ > 0) {
      --skip_;
      return {};
    }
    return {expected_, long_ ? ended_us_ + flush_us_ * kLong / 100 : now_us + flush_us_ / kShort};
  }

  // A wait that began with `before` changes ended with `after`. Waits that bring nobody become
  // rare.
  void waited(size_t before, size_t after) {
    misses_ = after > before ? 0 : std::min(misses_ + 1, kMaxMisses);
    skip_ = misses_ == 0 ? 0 : (1u << misses_) - 1;
  }

 private:
  static constexpr uint64_t kShort = 10;  // a tenth of a flush's time
  static constexpr uint64_t kLong = 75;   // hundredths of it, from the end of the last one
  static constexpr uint64_t kPause = 8;   // flushes' times after which nobody was there to wait for
  static constexpr uint32_t kMaxMisses = 7;
  static constexpr uint32_t kRound = 32;       // flushes whose changes a second are compared
  static constexpr uint32_t kMeasured = 3;     // rounds of a trial, and before one
  static constexpr uint32_t kMinRounds = 16;   // until the other wait is tried
  static constexpr uint32_t kMaxRounds = 128;  // and after it was in vain several times
  static constexpr double kBetter = 1.1;       // the long wait has to be, by so much

  void count(size_t answered, uint64_t elapsed_us) {
    changes_ += answered;
    elapsed_us_ += elapsed_us;
    if (++flushes_ < kRound) return;
    judge(static_cast<double>(changes_) / static_cast<double>(std::max<uint64_t>(elapsed_us_, 1)));
    changes_ = elapsed_us_ = flushes_ = 0;
  }

  // More or fewer clients say nothing about a wait.
  bool has_changed() const {
    return company_ > measured_company_ * 1.25 || company_ < measured_company_ * 0.75;
  }

  // The first round of a trial is what remains of the wait before; the two after it count.
  void judge(double rate) {
    if (!trying_) {
      usual_rate_ = usual_rate_ == 0 ? rate : usual_rate_ + (rate - usual_rate_) / 4;
      if (has_changed()) {
        measured_company_ = company_;
        usual_rate_ = 0;
        long_ = false;
        rounds_left_ = std::clamp(rounds_left_, kMeasured, kMinRounds);
      }
    }
    if (--rounds_left_ > 0) {
      tried_rate_ = rate;
      return;
    }
    trying_ = !trying_;
    if (trying_) {
      long_ = !long_;
      rounds_left_ = kMeasured;
      return;
    }
    rate = (tried_rate_ + rate) / 2;
    if (has_changed()) {
      long_ = false;
    } else if (long_ ? rate > usual_rate_ * kBetter : rate * kBetter > usual_rate_) {
      usual_rate_ = rate;
      rounds_ = kMinRounds;
    } else {
      long_ = !long_;
      rounds_ = std::min(rounds_ * 2, kMaxRounds);
    }
    rounds_left_ = rounds_;
  }

  uint64_t flush_us_ = 0;  // what a flush takes, smoothed
  size_t expected_ = 0;
  double company_ = 0;  // the same, smoothed
  uint64_t ended_us_ = 0;
  uint32_t misses_ = 0;  // in a row
  uint32_t skip_ = 0;

  bool long_ = false;
  bool trying_ = false;  // the other wait than usual
  double usual_rate_ = 0;
  double tried_rate_ = 0;        // of the round before
  double measured_company_ = 0;  // with which it was
  uint32_t rounds_ = kMinRounds;
  uint32_t rounds_left_ = kMinRounds;
  uint64_t changes_ = 0;  // of this round
  uint64_t elapsed_us_ = 0;
  uint32_t flushes_ = 0;
};

}  // namespace stator::engine
