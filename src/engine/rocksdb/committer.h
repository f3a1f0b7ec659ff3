// Commits what is queued: everything that waits becomes one write of the store.
//
// With a flush to disk (kSync) a thread of its own commits, at once when it is idle; while it
// flushes, the next group forms by itself, and may be waited for a little (GroupFilling). Without
// one, a commit costs less than waking a thread: whoever finds nobody committing does it himself,
// for his own change and then for what was queued meanwhile. A commit that would block (the store
// slows its writers down, a counter is not in memory) is left to the thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/metrics.h"
#include "engine/rocksdb/change.h"
#include "engine/rocksdb/gate.h"
#include "engine/rocksdb/group_filling.h"
#include "engine/rocksdb/group_writer.h"
#include "engine/rocksdb/queued_images.h"
#include "engine/rocksdb/store.h"

namespace stator::engine {

// Thread-safe. The first write that fails ends all writing: every later change is kFailed.
class Committer {
 public:
  Committer(Store& store, QueuedImages& images, Gate& gate);
  // Commits what is queued.
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // Takes a change while its latches are held. When this returns it is done, or queued with its
  // images; it leaves the gate when it is done. True if the caller must call lead() as soon as it
  // has released its latches.
  [[nodiscard]] bool submit(Change& change);
  // Commits what others have queued meanwhile.
  void lead();

  uint64_t committed_version() const { return writer_.visible_version(); }
  // Why nothing is written any more, or empty.
  std::string failure() const;
  void write_metrics(metrics::Text& text) const;

 private:
  bool submit_alone(Change& change, bool& lead);
  void let_fill();
  bool take_group();
  void hand_over();
  rocksdb::Status commit(bool may_block, bool is_queued = true);
  void note_failure(const rocksdb::Status& status);
  void finish(const rocksdb::Status& status);
  void run();

  Store& store_;
  QueuedImages& images_;
  Gate& gate_;
  const bool leads_;  // changes are committed by those who submit them

  // Owned by whoever made busy_ true.
  GroupWriter writer_;
  std::vector<Change*> group_;
  bool prepared_ = false;
  GroupFilling filling_;  // with kSync only, as what follows
  uint64_t took_us_ = 0;  // the flush of group_, if there was one

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable filled_;
  size_t fills_to_ = 0;  // the thread waits for so many in the queue; 0 if it does not
  std::deque<Change*> queue_;
  bool busy_ = false;         // somebody commits
  bool thread_turn_ = false;  // it is the thread
  bool stopping_ = false;
  std::string failure_;
  std::atomic<bool> failed_{false};
  metrics::Histogram group_sizes_{metrics::size_bounds()};
  metrics::Histogram flush_us_{metrics::latency_bounds()};  // with kSync only
  metrics::Counter written_bytes_;
  std::thread thread_;
};

}  // namespace stator::engine
