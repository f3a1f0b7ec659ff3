// A mapping at work: finds the shards of its stream, parents before children, and has their records
// read and delivered on threads of its own, so that a slow function holds up no other mapping.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "triggers/shard_feed.h"
#include "triggers/workers.h"

namespace stator::triggers {

// What runners share. Outlives them.
struct RunnerSite {
  Database& database;
  Invoker& invoker;
  const Clock& clock;
  RandomIds& ids;
  Backoff backoff;
  std::string region;
  std::string account;
  std::function<void()> wake;  // something has changed: look at the runners again
};

// Where a mapping stands in a shard: the sequence number up to which all is done, or kEnded.
using Checkpoints = std::map<std::string, std::string>;
inline constexpr std::string_view kEnded = "ended";

class Runner {
 public:
  // At most this many calls of one mapping at a time.
  static constexpr size_t kMaxThreads = 32;

  Runner(const RunnerSite& site, Mapping mapping, Checkpoints checkpoints);

  // Starts what is due and says when to come again.
  int64_t tick(int64_t now_ms, uint64_t version);
  // Starts nothing more. What is under way goes on until its call ends.
  void stop() { stopping_ = true; }
  bool idle() const { return workers_.idle(); }

  // Where it stands now, with what was kept before.
  Checkpoints checkpoints() const;
  // "OK" or a problem; nothing if no call has ended yet.
  std::optional<std::string> last_result() const;
  Counts counts() const;
  // How long the oldest record that is not done has been waiting.
  int64_t lag_ms() const;
  // The stream is no more.
  bool gone() const { return gone_; }

 private:
  struct Feed {
    Feed(Database& database, LaneSite site, std::string shard_id,
         std::vector<std::string> partition_key, std::optional<std::string> after)
        : shard(database, std::move(site), std::move(shard_id), std::move(partition_key),
                std::move(after)),
          busy(shard.lanes().size()) {}
    ShardFeed shard;
    bool reading = false;
    std::vector<char> busy;  // of each lane
  };
  using FeedPtr = std::shared_ptr<Feed>;

  void discover();
  void read(const FeedPtr& feed);
  void deliver(const FeedPtr& feed, size_t lane);
  void open_feeds(const StreamInfo& stream);
  bool close_finished();
  LaneSite lane_site();

  const RunnerSite& site_;
  const Mapping mapping_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> gone_ = false;
  mutable std::mutex mutex_;
  Checkpoints checkpoints_;  // of shards that have no feed
  std::vector<FeedPtr> feeds_;
  bool discovering_ = false;
  int64_t discover_at_ms_ = 0;
  std::optional<std::string> last_result_;
  Counts counts_;
  Workers workers_;  // last: its destructor waits for what uses the rest
};

}  // namespace stator::triggers
