// How many of a server's threads serve connections at present. Where one thread can do all the
// work, a second one only makes both sleep and wake more often, and takes a processor from somebody
// else who then waits for a whole slice of time: on two processors that shared client and server,
// the slowest answers at half load were five times later with two threads than with one. Internal
// to net.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace stator::net {

// One thread measures, any may ask.
class Balance {
 public:
  // What the threads did since the last time.
  struct Load {
    double busiest = 0;     // of a processor, the thread that used most
    double together = 0;    // of a processor, all threads
    double request_us = 0;  // processor time, on average
    std::chrono::microseconds elapsed{0};
  };

  explicit Balance(unsigned threads) : threads_(threads), active_(threads) {}

  unsigned active() const { return active_.load(std::memory_order_relaxed); }
  // The thread that serves connection `number` at present, of those numbered from 0.
  unsigned home_of(uint64_t number) const {
    const unsigned active = this->active();
    const auto home = static_cast<unsigned>(number % threads_);
    return home < active ? home : static_cast<unsigned>(number % active);
  }

  // More threads at once when one has hardly a rest, fewer after a while in which fewer would do.
  void measured(const Load& load);

 private:
  const unsigned threads_;
  std::atomic<unsigned> active_;
  std::chrono::microseconds calm_{0};
};

}  // namespace stator::net
