#include <algorithm>

#include "catalog/stream.h"
#include "common/bytes.h"
#include "common/log.h"
#include "work/jobs.h"

namespace stator::work {

namespace {

using catalog::Shard;
using catalog::StreamPtr;

// How often what is too old is looked for.
constexpr int64_t kTrimEveryMs = 60'000;

class Streams final : public Job {
 public:
  explicit Streams(Site site) : site_(site) {}
  const char* name() const override { return "streams"; }

  bool step() override {
    const int64_t now_ms = site_.clock.now_ms();
    const int64_t asked = site_.catalog.options().stream_shards;
    for (const StreamPtr& stream : site_.catalog.streams()) {
      if (stream->disabled_ms) continue;
      const bool old =
          std::any_of(stream->shards.begin(), stream->shards.end(), [&](const auto& s) {
            return !s.closed_ms && s.opened_ms + catalog::kShardAgeMs <= now_ms;
          });
      if (!old && stream->asked_shards == asked) continue;
      spdlog::info("the shards of {} get children", stream->arn);
      run_blocking(site_.catalog.roll_stream(stream->id, asked));
    }
    if (trimmed_ms_ && now_ms - *trimmed_ms_ < kTrimEveryMs && now_ms >= *trimmed_ms_) return false;
    trimmed_ms_ = now_ms;
    for (const StreamPtr& stream : site_.catalog.streams()) trim(*stream, now_ms);
    return false;
  }

 private:
  void trim(const catalog::Stream& stream, int64_t now_ms) {
    const uint64_t horizon = run_blocking(site_.store.stream_horizon());
    std::vector<model::ShardNumber> gone;
    for (const Shard& shard : stream.shards) {
      const std::string prefix = catalog::shard_prefix(stream.id, shard.number);
      if (shard.closed_ms && *shard.closed_ms + catalog::kStreamRetentionMs <= now_ms) {
        if (erase({prefix, prefix_end(prefix)})) gone.push_back(shard.number);
        continue;
      }
      engine::Range old{prefix, prefix};
      append_big_endian(old.end, horizon);
      if (has_rows(old)) erase(std::move(old));
    }
    if (!gone.empty() || (stream.shards.empty() && stream.is_over(now_ms)))
      run_blocking(site_.catalog.forget_shards(stream.id, gone));
  }

  bool has_rows(const engine::Range& range) {
    try {
      const auto view = site_.store.engine().view();
      return !run_blocking(view->scan(range, engine::Direction::kForward, {.rows = 1})).empty();
    } catch (const engine::ViewExpired&) {
      return false;  // next time
    }
  }

  // Nobody writes there any more: records are only ever added behind the newest version.
  bool erase(engine::Range range) {
    engine::Mutation mutation;
    mutation.body = [&](const engine::Held&, engine::Batch& batch) { batch.erase_range(range); };
    const auto outcome = run_blocking(site_.store.engine().mutate(std::move(mutation)));
    if (!outcome.committed()) return false;
    site_.store.engine().reclaim(range);
    return true;
  }

  Site site_;
  std::optional<int64_t> trimmed_ms_;
};

}  // namespace

std::unique_ptr<Job> make_streams(Site site) {
  return std::make_unique<Streams>(site);
}

}  // namespace stator::work
