#include "triggers/workers.h"

#include <pthread.h>

#include <chrono>
#include <system_error>

#include <spdlog/spdlog.h>

namespace stator::triggers {

namespace {
constexpr std::chrono::seconds kIdleLife{10};
}  // namespace

Workers::~Workers() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  wake_.notify_all();
  gone_.wait(lock, [this] { return threads_ == 0; });
}

void Workers::post(std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  queue_.push_back(std::move(work));
  if (waiting_ >= queue_.size() || threads_ == limit_) {
    wake_.notify_one();
    return;
  }
  try {
    std::thread([this] { run(); }).detach();
    ++threads_;
  } catch (const std::system_error& error) {
    // The system has no thread for us: the work waits for one that is there, or for the next post.
    spdlog::warn("cannot start a thread for a trigger: {}", error.what());
  }
}

bool Workers::idle() const {
  const std::scoped_lock lock(mutex_);
  return queue_.empty() && waiting_ == threads_;
}

void Workers::run() {
  pthread_setname_np(pthread_self(), "stator-trigger");
  std::unique_lock lock(mutex_);
  while (true) {
    if (queue_.empty()) {
      if (stopping_) break;
      ++waiting_;
      const bool woken =
          wake_.wait_for(lock, kIdleLife, [this] { return stopping_ || !queue_.empty(); });
      --waiting_;
      if (!woken) break;
      continue;
    }
    const std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    lock.lock();
  }
  --threads_;
  // Under the lock: the destructor goes on only after it, and then nothing here is touched again.
  gone_.notify_all();
}

}  // namespace stator::triggers
