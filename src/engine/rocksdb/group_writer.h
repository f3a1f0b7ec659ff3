// Turns a group of changes into one write of the store.
#pragma once

#include <rocksdb/status.h>
#include <rocksdb/write_batch.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/rocksdb/change.h"
#include "engine/rocksdb/queued_images.h"
#include "engine/rocksdb/store.h"

namespace stator::engine {

// Used by one thread at a time. It gives the versions and keeps the counters: their values are
// loaded once and then written as absolute values, once per group.
class GroupWriter {
 public:
  GroupWriter(Store& store, QueuedImages& images);

  // Builds the write of `group` and the outcomes of its changes, to be followed by write(). With
  // `may_block` false it may find that it has to wait for the disk: then it answers Incomplete and
  // has done nothing.
  rocksdb::Status prepare(const std::vector<Change*>& group, bool may_block);
  // Tells the queued images what the counters of the prepared write hold before it. Called before
  // write().
  void resolve_counters();
  // Makes the prepared write visible and durable. With `may_block` false it may answer Incomplete:
  // nothing is written and write() may be called again.
  rocksdb::Status write(bool may_block);
  // Whether the last one had anything to write: changes may be empty.
  bool has_written() const { return batch_.Count() > 0; }

  // Version of the newest commit that readers see.
  uint64_t visible_version() const { return visible_version_.load(std::memory_order_acquire); }

 private:
  struct Counter {
    int64_t value = 0;
    int64_t before = 0;  // at the beginning of the group
    bool dirty = false;
  };
  using Counters = std::unordered_map<std::string, Counter>;

  rocksdb::Status load_counters(const std::vector<Change*>& group, bool may_block);
  void write_batch(const Batch& batch);
  void raise_ceiling();
  void mark_time();
  void set_counter(const std::string& key, int64_t value);

  Store& store_;
  QueuedImages& images_;
  rocksdb::WriteBatch batch_;
  Counters counters_;
  std::vector<Counters::value_type*> dirty_;  // of the prepared write
  uint64_t version_;
  uint64_t version_ceiling_;  // no version above it is given before a higher one is in the store
  bool raises_ceiling_ = false;
  int64_t marked_s_;  // the newest second that has a mark
  std::atomic<uint64_t> visible_version_;
  std::string scratch_;
};

}  // namespace stator::engine
