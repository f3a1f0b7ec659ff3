#include "work/job.h"

#include <spdlog/spdlog.h>

#include <chrono>

namespace stator::work {

Background::Background(std::vector<std::unique_ptr<Job>> jobs)
    : jobs_(std::move(jobs)), thread_([this] { run(); }) {}

Background::~Background() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Background::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool Background::run_jobs() {
  bool more = false;
  for (const auto& job : jobs_) {
    try {
      more = job->step() || more;
    } catch (const std::exception& error) {
      spdlog::warn("{} failed and will be tried again: {}", job->name(), error.what());
    }
  }
  return more;
}

void Background::run() {
  const Executor::Scope scope(&resume_);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    changed_.wait_for(lock, std::chrono::seconds(1), [this] { return woken_ || stopping_; });
    if (stopping_) return;
    woken_ = false;
    lock.unlock();
    const bool more = run_jobs();
    lock.lock();
    woken_ = woken_ || more;
  }
}

}  // namespace stator::work
