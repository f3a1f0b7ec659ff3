// One shard on its way to a function: reads it, lets the filter pass what it wants, spreads the
// records over the lanes, and knows up to where everything is done.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "triggers/lane.h"
#include "triggers/stream_source.h"

namespace stator::triggers {

class ShardFeed {
 public:
  // `site.done` is the feed's own to set. `after` as for ShardReader.
  ShardFeed(Database& database, LaneSite site, std::string shard_id,
            std::vector<std::string> partition_key, std::optional<std::string> after);
  ShardFeed(const ShardFeed&) = delete;
  ShardFeed& operator=(const ShardFeed&) = delete;

  const std::string& shard_id() const { return shard_id_; }
  std::vector<std::unique_ptr<Lane>>& lanes() { return lanes_; }

  // When read() may find something, given the version of the database; kNever if there is no room
  // or nothing left.
  int64_t read_due_ms(int64_t now_ms, uint64_t version) const;
  // Takes a page to the lanes. One thread at a time. Throws StreamError if the stream is gone;
  // other failures are tried again later.
  void read();

  // Everything was read and is done with.
  bool finished() const;
  // The sequence number up to which all is done; nothing before the first.
  std::optional<std::string> checkpoint() const;
  // When the oldest record that is not done was written.
  std::optional<int64_t> oldest_s() const;

 private:
  void take(const std::vector<RecordPtr>& records);
  void advance();

  Database& database_;
  LaneSite site_;
  const std::vector<FilterPattern> patterns_;
  const std::string shard_id_;
  const std::vector<std::string> partition_key_;
  const size_t most_records_;
  const size_t most_bytes_;
  ShardReader reader_;
  std::vector<std::unique_ptr<Lane>> lanes_;

  mutable std::mutex mutex_;  // guards what follows and Record::done
  std::deque<RecordPtr> in_flight_;
  size_t in_flight_bytes_ = 0;
  std::optional<std::string> checkpoint_;
  bool ended_ = false;
  std::optional<uint64_t> empty_at_version_;  // nothing was there at that version
  int64_t not_before_ms_ = 0;
  int64_t read_failures_ = 0;
};

}  // namespace stator::triggers
