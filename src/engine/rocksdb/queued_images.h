// What the queued changes will have written: a later change of the same key reads it here before it
// is on disk, so one hot item takes many updates per flush.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace stator::engine {

// Values of counters: 8 bytes little-endian. What is not 8 bytes long counts as 0.
std::string encode_counter(int64_t value);
int64_t decode_counter(std::string_view value);
// Sums wrap around.
int64_t add_counter(int64_t value, int64_t delta);

// Thread-safe. Adding, for keys that are put or erased, happens while the change holds its latches;
// adds to counters may come at any time and in any order.
class QueuedImages {
 public:
  QueuedImages();
  ~QueuedImages();
  QueuedImages(const QueuedImages&) = delete;
  QueuedImages& operator=(const QueuedImages&) = delete;

  // Called when a batch is queued, before the committer can see it.
  void add(const std::shared_ptr<Batch>& batch);
  // Called when the batch is visible in the store, or will never be.
  void remove(const Batch& batch);

  enum class Kind {
    kNone,   // nothing is queued: the store's value holds
    kImage,  // `value` is the key's value
    kDelta,  // the counter's value is what the store holds plus `delta`
  };
  struct Found {
    Kind kind = Kind::kNone;
    std::optional<std::string> value;
    int64_t delta = 0;
    uint64_t generation =
        0;  // of a kDelta: the same as long as none of what it sums is in the store
  };
  Found find(std::string_view key) const;

  // The committer is about to write the first of the queued adds to a counter that holds `base` in
  // the store.
  void resolve(std::string_view key, int64_t base);

  bool empty() const { return count_.load() == 0; }

 private:
  struct Shard;
  struct QueuedRange {
    const Batch* batch;
    Range range;
  };

  Shard& shard_of(std::string_view key) const;
  void add_image(const std::shared_ptr<Batch>& batch, std::string_view key,
                 const std::string* value);
  void add_delta(const std::shared_ptr<Batch>& batch, const Batch::Add& add);
  void add_range(const Batch* batch, const Range& range);
  void remove_ranges(const Batch& batch);
  void remove_key(std::string_view key);

  std::unique_ptr<Shard[]> shards_;
  std::atomic<int64_t> count_{0};  // keys and ranges
  std::atomic<uint64_t> next_generation_{1};
  mutable std::mutex ranges_mutex_;
  std::atomic<size_t> range_count_{0};
  std::vector<QueuedRange> ranges_;
};

}  // namespace stator::engine
