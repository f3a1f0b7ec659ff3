#include "common/thread_pool.h"

#include <pthread.h>

#include <utility>

namespace stator {

ThreadPool::ThreadPool(std::string name, size_t threads)
    : name_(std::move(name)), limit_(threads == 0 ? 1 : threads) {}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::post(std::coroutine_handle<> handle) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(handle);
  if (queue_.size() > idle_ && threads_.size() < limit_ && !stopping_) {
    threads_.emplace_back([this] { run(); });
    return;
  }
  wake_.notify_one();
}

void ThreadPool::run() {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  const Executor::Scope scope(this);
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!queue_.empty()) {
      const std::coroutine_handle<> handle = queue_.front();
      queue_.pop_front();
      lock.unlock();
      handle.resume();
      lock.lock();
      continue;
    }
    if (stopping_) return;
    ++idle_;
    wake_.wait(lock);
    --idle_;
  }
}

}  // namespace stator
