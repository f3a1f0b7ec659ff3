#include "engine/rocksdb/sweeper.h"

#include <pthread.h>

#include <chrono>
#include <utility>

namespace stator::engine {

namespace {
constexpr std::chrono::milliseconds kTick{10};
constexpr int kIdleTicks =
    100;  // stays awake so long after the last wait, so that wake() is seldom a system call
}  // namespace

Sweeper::Sweeper(std::function<bool()> sweep)
    : sweep_(std::move(sweep)), thread_([this] { run(); }) {}

Sweeper::~Sweeper() {
  stop();
}

void Sweeper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Sweeper::wake() {
  if (awake_.load()) return;
  {
    const std::lock_guard lock(mutex_);
    awake_.store(true);
  }
  wake_.notify_one();
}

void Sweeper::run() {
  pthread_setname_np(pthread_self(), "sweeper");
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || awake_.load(); });
    for (int idle = 0; idle < kIdleTicks && !stopping_;) {
      wake_.wait_for(lock, kTick, [this] { return stopping_; });
      lock.unlock();
      idle = sweep_() ? 0 : idle + 1;
      lock.lock();
    }
    if (stopping_) return;
    awake_.store(false);
    // Who began to wait just before saw the thread awake and did not wake it.
    lock.unlock();
    const bool anyone = sweep_();
    lock.lock();
    if (anyone) awake_.store(true);
  }
}

}  // namespace stator::engine
