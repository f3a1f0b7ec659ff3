#include "engine/rocksdb/reclaimer.h"

#include <pthread.h>
#include <rocksdb/convenience.h>

#include <chrono>
#include <string>
#include <utility>

namespace stator::engine {

namespace {
constexpr size_t kQueueLimit = 4096;  // more hints than that are dropped
constexpr std::chrono::milliseconds kPoll{100};
constexpr int kPolls = 600;
}  // namespace

Reclaimer::~Reclaimer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_.store(true);
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Reclaimer::reclaim(Range range) {
  if (range.end > kReservedPrefix) range.end = kReservedPrefix;
  if (range.begin >= range.end) return;
  const uint64_t sequence = store_.db().GetLatestSequenceNumber();
  const std::lock_guard lock(mutex_);
  if (stopping_.load() || queue_.size() >= kQueueLimit) return;
  queue_.push_back({std::move(range), sequence});
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wake_.notify_one();
}

void Reclaimer::run() {
  pthread_setname_np(pthread_self(), "reclaimer");
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_.load() || !queue_.empty(); });
    if (stopping_.load()) return;
    const Erased erased = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    give_back(erased);
    lock.lock();
  }
}

void Reclaimer::give_back(const Erased& erased) {
  const rocksdb::Slice begin(erased.range.begin);
  const rocksdb::Slice end(erased.range.end);
  // Dropping whole files is nearly free, but a view from before the erase would miss them.
  if (wait_for_old_views(erased.sequence)) {
    rocksdb::DeleteFilesInRange(&store_.db(), store_.db().DefaultColumnFamily(), &begin, &end,
                                false);
  }
  if (stopping_.load() || store_.is_stopped()) return;
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.canceled = &stopping_;
  store_.db().CompactRange(options, &begin, &end);
}

// False if somebody keeps an old view for very long.
bool Reclaimer::wait_for_old_views(uint64_t sequence) {
  for (int i = 0; i < kPolls; ++i) {
    uint64_t oldest = 0;
    store_.db().GetIntProperty(rocksdb::DB::Properties::kOldestSnapshotSequence, &oldest);
    if (oldest == 0 || oldest >= sequence) return true;
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, kPoll, [this] { return stopping_.load(); })) return false;
  }
  return false;
}

}  // namespace stator::engine
