#include "work/cleaner.h"

#include <spdlog/spdlog.h>

#include <chrono>

namespace stator::work {

Cleaner::Cleaner(catalog::Catalog& catalog, store::Store& store)
    : catalog_(catalog), store_(store), thread_([this] { run(); }) {}

Cleaner::~Cleaner() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Cleaner::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

size_t Cleaner::run_once() {
  size_t erased = 0;
  for (const model::TableNumber table : catalog_.garbage()) {
    run_blocking(store_.erase_table(table));
    run_blocking(catalog_.garbage_erased(table));
    ++erased;
  }
  return erased;
}

void Cleaner::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    // A table that is still DELETING becomes garbage with time alone, hence the look from time to time.
    changed_.wait_for(lock, std::chrono::seconds(1), [this] { return woken_ || stopping_; });
    if (stopping_) return;
    woken_ = false;
    lock.unlock();
    try {
      run_once();
    } catch (const std::exception& error) {
      spdlog::warn("erasing a deleted table failed and will be tried again: {}", error.what());
    }
    lock.lock();
  }
}

}  // namespace stator::work
