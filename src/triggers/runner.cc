#include "triggers/runner.h"

#include <algorithm>

#include <spdlog/spdlog.h>

namespace stator::triggers {

namespace {

// New shards come when others end, which is seen at once; this is for what nobody foresaw.
constexpr int64_t kDiscoverEveryMs = 30'000;
// Then others of the mapping have their turn.
constexpr int kStepsInARow = 16;

bool has_ended(const Checkpoints& checkpoints, const std::string& shard) {
  const auto at = checkpoints.find(shard);
  return at != checkpoints.end() && at->second == kEnded;
}

}  // namespace

Runner::Runner(const RunnerSite& site, Mapping mapping, Checkpoints checkpoints)
    : site_(site),
      mapping_(std::move(mapping)),
      checkpoints_(std::move(checkpoints)),
      workers_(kMaxThreads) {}

LaneSite Runner::lane_site() {
  return {.mapping = mapping_,
          .function_arn = function_arn(mapping_.function, site_.region, site_.account),
          .backoff = site_.backoff,
          .invoker = site_.invoker,
          .clock = site_.clock,
          .ids = site_.ids,
          .done = {},
          .result =
              [this](std::string_view result) {
                const std::scoped_lock lock(mutex_);
                last_result_ = result;
              },
          .count =
              [this](const std::function<void(Counts&)>& change) {
                const std::scoped_lock lock(mutex_);
                change(counts_);
              }};
}

int64_t Runner::tick(int64_t now_ms, uint64_t version) {
  if (stopping_ || gone_) return kNever;
  const std::scoped_lock lock(mutex_);
  if (close_finished()) discover_at_ms_ = 0;
  int64_t next_ms = kNever;
  if (!discovering_) {
    if (discover_at_ms_ <= now_ms) {
      discovering_ = true;
      discover_at_ms_ = now_ms + kDiscoverEveryMs;
      workers_.post([this] { discover(); });
    }
    next_ms = std::min(next_ms, discover_at_ms_);
  }
  for (const FeedPtr& feed : feeds_) {
    if (!feed->reading) {
      const int64_t due_ms = feed->shard.read_due_ms(now_ms, version);
      if (due_ms <= now_ms) {
        feed->reading = true;
        workers_.post([this, feed] { read(feed); });
      } else {
        next_ms = std::min(next_ms, due_ms);
      }
    }
    for (size_t i = 0; i < feed->busy.size(); ++i) {
      if (feed->busy[i] != 0) continue;
      const int64_t due_ms = feed->shard.lanes()[i]->due_ms();
      if (due_ms <= now_ms) {
        feed->busy[i] = 1;
        workers_.post([this, feed, i] { deliver(feed, i); });
      } else {
        next_ms = std::min(next_ms, due_ms);
      }
    }
  }
  return next_ms;
}

// With the mutex held. True if there was one.
bool Runner::close_finished() {
  const auto finished = [&](const FeedPtr& feed) {
    const bool quiet =
        !feed->reading && std::find(feed->busy.begin(), feed->busy.end(), 1) == feed->busy.end();
    if (!quiet || !feed->shard.finished()) return false;
    checkpoints_[feed->shard.shard_id()] = kEnded;
    return true;
  };
  return std::erase_if(feeds_, finished) > 0;
}

void Runner::discover() {
  std::optional<StreamInfo> stream;
  try {
    stream = run_blocking(describe_stream(site_.database, mapping_.event_source_arn));
  } catch (const StreamError& error) {
    if (error.is_not_found()) gone_ = true;
    spdlog::warn("cannot describe stream {}: {} {}", mapping_.event_source_arn, error.type(),
                 error.what());
  }
  {
    const std::scoped_lock lock(mutex_);
    discovering_ = false;
    if (stream) open_feeds(*stream);
  }
  site_.wake();
}

// With the mutex held.
void Runner::open_feeds(const StreamInfo& stream) {
  const auto is_listed = [&](const std::string& id) {
    return std::any_of(stream.shards.begin(), stream.shards.end(),
                       [&](const ShardInfo& shard) { return shard.id == id; });
  };
  const auto has_feed = [&](const std::string& id) {
    return std::any_of(feeds_.begin(), feeds_.end(),
                       [&](const FeedPtr& feed) { return feed->shard.shard_id() == id; });
  };
  std::erase_if(checkpoints_, [&](const auto& entry) {
    return !is_listed(entry.first) && !has_feed(entry.first);
  });
  for (const ShardInfo& shard : stream.shards) {
    if (has_ended(checkpoints_, shard.id) || has_feed(shard.id)) continue;
    const bool parent_done =
        shard.parent.empty() || !is_listed(shard.parent) || has_ended(checkpoints_, shard.parent);
    if (!parent_done) continue;
    std::optional<std::string> after;
    if (const auto at = checkpoints_.find(shard.id); at != checkpoints_.end()) after = at->second;
    feeds_.push_back(std::make_shared<Feed>(site_.database, lane_site(), shard.id,
                                            stream.partition_key, std::move(after)));
  }
}

void Runner::read(const FeedPtr& feed) {
  try {
    feed->shard.read();
  } catch (const StreamError&) {
    // The shard or the stream is not there any more: a look at the stream says which.
    const std::scoped_lock lock(mutex_);
    if (auto at = feed->shard.checkpoint()) checkpoints_[feed->shard.shard_id()] = std::move(*at);
    std::erase(feeds_, feed);
    discover_at_ms_ = 0;
  }
  {
    const std::scoped_lock lock(mutex_);
    feed->reading = false;
  }
  site_.wake();
}

void Runner::deliver(const FeedPtr& feed, size_t index) {
  Lane& lane = *feed->shard.lanes()[index];
  for (int steps = 0; steps < kStepsInARow && !stopping_; ++steps) {
    if (lane.due_ms() > site_.clock.now_ms()) break;
    lane.step();
    site_.wake();  // there may be room to read on, and a checkpoint to keep
  }
  {
    const std::scoped_lock lock(mutex_);
    feed->busy[index] = 0;
  }
  site_.wake();
}

Checkpoints Runner::checkpoints() const {
  const std::scoped_lock lock(mutex_);
  Checkpoints all = checkpoints_;
  for (const FeedPtr& feed : feeds_) {
    if (auto at = feed->shard.checkpoint()) all[feed->shard.shard_id()] = std::move(*at);
  }
  return all;
}

std::optional<std::string> Runner::last_result() const {
  const std::scoped_lock lock(mutex_);
  return last_result_;
}

Counts Runner::counts() const {
  const std::scoped_lock lock(mutex_);
  return counts_;
}

int64_t Runner::lag_ms() const {
  const std::scoped_lock lock(mutex_);
  int64_t lag_ms = 0;
  for (const FeedPtr& feed : feeds_) {
    if (const auto oldest_s = feed->shard.oldest_s())
      lag_ms = std::max(lag_ms, site_.clock.now_ms() - *oldest_s * 1000);
  }
  return lag_ms;
}

}  // namespace stator::triggers
