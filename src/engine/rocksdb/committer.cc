#include "engine/rocksdb/committer.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <cassert>
#include <utility>

#include "common/log.h"

namespace stator::engine {

namespace {
// A group takes no further change once it has so much to write.
constexpr size_t kGroupBytes = 4 * 1024 * 1024;
// Groups that one who submits commits for others before the thread takes over.
constexpr int kGroupsInARow = 8;

void set_failed(Change& change, const std::string& detail) {
  change.outcome.kind = Outcome::Kind::kFailed;
  change.outcome.version = 0;
  change.outcome.detail = detail;
}
}  // namespace

Committer::Committer(Store& store, QueuedImages& images, Gate& gate)
    : store_(store),
      images_(images),
      gate_(gate),
      leads_(store.durability() != Durability::kSync),
      writer_(store, images),
      thread_([this] { run(); }) {}

Committer::~Committer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  filled_.notify_one();
  thread_.join();
}

bool Committer::submit(Change& change) {
  bool lead = false;
  if (leads_ && submit_alone(change, lead)) return lead;
  images_.add(change.batch);
  gate_.carry(change.batch->bytes());
  bool wake = false;
  bool filled = false;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(&change);
    filled = fills_to_ > 0 && queue_.size() >= fills_to_;
    if (!busy_) {
      busy_ = true;
      if (leads_) {
        lead = true;
      } else {
        thread_turn_ = true;
        wake = true;
      }
    }
  }
  if (wake) wake_.notify_one();
  if (filled) filled_.notify_one();
  return lead;
}

// Commits the change at once if nobody else is at it. Its latches are held meanwhile, so it needs
// no queued images. But others may have some, of a counter whose value they know already: then it
// has to add to that.
bool Committer::submit_alone(Change& change, bool& lead) {
  {
    const std::lock_guard lock(mutex_);
    if (busy_ || !images_.empty()) return false;
    assert(queue_.empty() && group_.empty());
    busy_ = true;
  }
  const size_t bytes = change.batch->bytes();
  gate_.carry(bytes);
  group_.push_back(&change);
  // What others queue meanwhile does not have this change below it: its counters tell them nothing.
  const rocksdb::Status status = commit(false, false);
  if (status.IsIncomplete()) {
    images_.add(change.batch);
    if (prepared_) writer_.resolve_counters();
    hand_over();
    return true;
  }
  group_.clear();
  prepared_ = false;
  if (!status.ok()) {
    note_failure(status);
    set_failed(change, failure());
  }
  gate_.leave(1, bytes);
  change.complete();
  const std::lock_guard lock(mutex_);
  lead = !queue_.empty();
  busy_ = lead;
  return true;
}

void Committer::lead() {
  for (int groups = 0; take_group(); ++groups) {
    if (groups == kGroupsInARow) return hand_over();
    const rocksdb::Status status = commit(false);
    if (status.IsIncomplete()) return hand_over();
    finish(status);
  }
}

// Writes group_. Incomplete: it would have to wait; commit(true) goes on from there.
rocksdb::Status Committer::commit(bool may_block, bool is_queued) {
  if (failed_.load()) return rocksdb::Status::Aborted();
  if (!prepared_) {
    const rocksdb::Status status = writer_.prepare(group_, may_block);
    if (!status.ok()) return status;
    prepared_ = true;
    if (is_queued) writer_.resolve_counters();
  }
  // Without flushes a write takes less than looking at the clock is worth.
  const uint64_t begin_us = leads_ ? 0 : metrics::steady_us();
  const rocksdb::Status status = writer_.write(may_block);
  if (status.ok()) {
    if (!leads_ && writer_.has_written()) {
      took_us_ = metrics::steady_us() - begin_us;
      flush_us_.observe(took_us_);
    }
    group_sizes_.observe(group_.size());
    size_t bytes = 0;
    for (const Change* change : group_) bytes += change->batch->bytes();
    written_bytes_.add(bytes);
  }
  return status;
}

// Waits for those who are expected to join the next group.
void Committer::let_fill() {
  std::unique_lock lock(mutex_);
  const size_t before = queue_.size();
  if (before == 0 || stopping_) return;
  const uint64_t now_us = metrics::steady_us();
  const GroupFilling::Wait wait = filling_.wait_for(before, now_us);
  if (wait.until_us <= now_us) return;
  fills_to_ = wait.changes;
  filled_.wait_for(lock, std::chrono::microseconds(wait.until_us - now_us),
                   [this] { return queue_.size() >= fills_to_ || stopping_; });
  fills_to_ = 0;
  filling_.waited(before, queue_.size());
}

// Moves the next changes of the queue into group_. If there are none, nobody commits any more.
bool Committer::take_group() {
  const std::lock_guard lock(mutex_);
  assert(busy_ && group_.empty());
  if (queue_.empty()) {
    busy_ = false;
    thread_turn_ = false;
    return false;
  }
  for (size_t bytes = 0; !queue_.empty() && bytes < kGroupBytes;) {
    group_.push_back(queue_.front());
    queue_.pop_front();
    bytes += group_.back()->batch->bytes();
  }
  return true;
}

// Leaves group_ and the queue to the thread.
void Committer::hand_over() {
  {
    const std::lock_guard lock(mutex_);
    thread_turn_ = true;
  }
  wake_.notify_one();
}

void Committer::note_failure(const rocksdb::Status& status) {
  const std::lock_guard lock(mutex_);
  if (failed_.load()) return;
  failure_ = "the store cannot be written, and nothing more will be until it is opened again: " +
             status.ToString();
  failed_.store(true);
  store_.mark_failed();
  spdlog::critical("Writes stop: {}.", failure_);
}

// Ends every change of group_.
void Committer::finish(const rocksdb::Status& status) {
  std::vector<Change*> group;
  group.swap(group_);
  prepared_ = false;
  if (!status.ok()) {
    note_failure(status);
    const std::string detail = failure();
    for (Change* change : group) set_failed(*change, detail);
  }
  size_t bytes = 0;
  for (const Change* change : group) {
    images_.remove(*change->batch);
    bytes += change->batch->bytes();
  }
  gate_.leave(group.size(), bytes);
  if (took_us_ > 0) {
    size_t queued = 0;
    {
      const std::lock_guard lock(mutex_);
      queued = queue_.size();
    }
    filling_.flushed(group.size(), queued, std::exchange(took_us_, 0), metrics::steady_us());
  }
  for (Change* change : group) change->complete();
}

void Committer::run() {
  pthread_setname_np(pthread_self(), "committer");
  // A wait of some ten microseconds ends when it should.
  ::prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return thread_turn_ || (stopping_ && !busy_); });
      if (!thread_turn_) return;
    }
    for (;;) {
      if (group_.empty()) {
        if (!leads_) let_fill();
        if (!take_group()) break;
      }
      finish(commit(true));
    }
  }
}

void Committer::write_metrics(metrics::Text& text) const {
  text.histogram("stator_engine_commit_changes",
                 "Changes committed together: with --durability sync one flush for all of them.",
                 group_sizes_, 1);
  text.histogram("stator_engine_flush_duration_seconds",
                 "How long writing and flushing a commit took (--durability sync).", flush_us_,
                 1e-6);
  text.counter("stator_engine_written_bytes_total", "Bytes of keys and values committed.",
               written_bytes_.value());
  text.gauge("stator_engine_write_failed", "1 if a write failed and all writing has stopped.",
             failed_.load() ? 1 : 0);
}

std::string Committer::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

}  // namespace stator::engine
