// The way of records to a function, one batch after another. A shard has one lane, or as many as
// its mapping has in parallel, each with the partition keys of its own.
//
// A lane waits for nothing: it says when it is due, and a step makes at most one call. Whoever has
// a thread to spare runs the step.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/ids.h"
#include "triggers/event.h"
#include "triggers/invoker.h"
#include "triggers/mapping.h"

namespace stator::triggers {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
// An event is at most as large as what Lambda takes in one call.
inline constexpr size_t kMaxEventBytes = 6 * 1024 * 1024;
// A record that failed is tried until it is as old as a stream keeps it.
inline constexpr int64_t kRetentionMs = 24LL * 60 * 60 * 1000;

// How long to wait before a failed call is made again: doubles from `first` up to `most`.
struct Backoff {
  int64_t first_ms = 1000;
  int64_t most_ms = 30'000;

  int64_t wait_ms(int64_t failures) const;
};

struct Counts {
  uint64_t invocations = 0;
  uint64_t failures = 0;
  uint64_t delivered = 0;  // records that the function took
  uint64_t filtered = 0;
  uint64_t discarded = 0;  // records that were given up
};

// What a lane does and who it tells. Outlives the lane.
struct LaneSite {
  Mapping mapping;
  std::string function_arn;
  Backoff backoff;
  Invoker& invoker;
  const Clock& clock;
  RandomIds& ids;
  // Called on the thread of a step: the records are done with, whatever became of them; "OK" or a
  // problem, after each call.
  std::function<void(const std::vector<RecordPtr>&)> done;
  std::function<void(std::string_view)> result;
  std::function<void(const std::function<void(Counts&)>&)> count;
};

class Lane {
 public:
  Lane(const LaneSite& site, std::string shard_id) : site_(site), shard_id_(std::move(shard_id)) {}

  // From any thread.
  void add(RecordPtr record);
  // No further records will come: the batching window is not waited for.
  void end();
  // Records that wait in no batch yet.
  size_t waiting() const;
  // Nothing waits, nothing is under way.
  bool empty() const;
  // When step() has something to do; kNever if that depends on add().
  int64_t due_ms() const;

  // One thread at a time, when due.
  void step();

 private:
  // Records that go to the function in one call.
  struct Batch {
    std::vector<RecordPtr> records;
    int64_t retries = 0;   // that count against the limit
    int64_t failures = 0;  // since the last success, for the backoff
    int64_t invokes = 0;
    int64_t not_before_ms = 0;
    std::optional<Invocation> last;
  };
  // A failure record that its destination has not taken yet.
  struct Untold {
    std::string text;
    std::vector<RecordPtr> records;
    int64_t tries = 0;
    int64_t not_before_ms = 0;
  };

  bool is_full() const;
  void form_batch();
  bool drop_aged(Batch& batch);
  void invoke(Batch& batch);
  void evaluate(Batch& batch, Invocation answer);
  void fail(Batch& batch);
  void wait(Batch& batch);
  void give_up(const Batch& batch, std::vector<RecordPtr> records, Condition condition);
  void tell();

  const LaneSite& site_;
  const std::string shard_id_;
  mutable std::mutex mutex_;  // guards what follows; a call to the function is made without it
  std::deque<RecordPtr> queue_;
  size_t queue_bytes_ = 0;
  int64_t queued_since_ms_ = 0;
  bool ended_ = false;
  std::deque<Batch> batches_;  // the parts of one batch, if it was split; the first is under way
  std::optional<Untold> untold_;
};

// The position of the first record that failed, by the answer of a function that reports item
// failures: records.size() if none did, 0 also if the answer makes no sense.
size_t first_failed(const std::string& answer, const std::vector<RecordPtr>& records);

}  // namespace stator::triggers
