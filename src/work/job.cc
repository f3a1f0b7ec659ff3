#include "work/job.h"

#include <spdlog/spdlog.h>

#include <chrono>

namespace stator::work {

Background::Background(std::vector<std::unique_ptr<Job>> jobs)
    : jobs_(std::move(jobs)), counts_(jobs_.size()), thread_([this] { run(); }) {}

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
  for (size_t i = 0; i < jobs_.size(); ++i) {
    const uint64_t begin_us = metrics::steady_us();
    try {
      const bool busy = jobs_[i]->step();
      if (busy) counts_[i].steps.add();
      more = busy || more;
    } catch (const std::exception& error) {
      counts_[i].failures.add();
      spdlog::warn("{} failed and will be tried again: {}", jobs_[i]->name(), error.what());
    }
    counts_[i].busy_us.add(metrics::steady_us() - begin_us);
  }
  return more;
}

void Background::write_metrics(metrics::Text& text) const {
  text.family("stator_background_steps_total", "counter",
              "Steps of background jobs after which there was more to do.");
  for (size_t i = 0; i < jobs_.size(); ++i)
    text.sample({{"job", jobs_[i]->name()}}, counts_[i].steps.value());
  text.family("stator_background_failures_total", "counter",
              "Steps of background jobs that failed and are tried again.");
  for (size_t i = 0; i < jobs_.size(); ++i)
    text.sample({{"job", jobs_[i]->name()}}, counts_[i].failures.value());
  text.family("stator_background_busy_seconds_total", "counter",
              "Time that background jobs have worked.");
  for (size_t i = 0; i < jobs_.size(); ++i) {
    text.sample({{"job", jobs_[i]->name()}},
                static_cast<double>(counts_[i].busy_us.value()) * 1e-6);
  }
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
