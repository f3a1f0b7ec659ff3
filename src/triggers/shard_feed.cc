#include "triggers/shard_feed.h"

#include <algorithm>

#include <spdlog/spdlog.h>

namespace stator::triggers {

namespace {

constexpr size_t kMaxPage = 1000;
// Also when nothing was written: a shard may end by its age.
constexpr int64_t kSlowPollMs = 2000;
// Two batches for each lane: one under way, one that gathers.
constexpr size_t kBatchesAhead = 2;
// So that small batches do not mean small pages.
constexpr size_t kLeastAhead = 200;

}  // namespace

ShardFeed::ShardFeed(Database& database, LaneSite site, std::string shard_id,
                     std::vector<std::string> partition_key, std::optional<std::string> after)
    : database_(database),
      site_(std::move(site)),
      patterns_(site_.mapping.patterns()),
      shard_id_(std::move(shard_id)),
      partition_key_(std::move(partition_key)),
      most_records_(
          std::max(kLeastAhead, kBatchesAhead * static_cast<size_t>(site_.mapping.batch_size) *
                                    static_cast<size_t>(site_.mapping.parallelization_factor))),
      most_bytes_(kBatchesAhead * kMaxEventBytes *
                  static_cast<size_t>(site_.mapping.parallelization_factor)),
      reader_(database, site_.mapping.event_source_arn, shard_id_, after),
      checkpoint_(std::move(after)) {
  site_.done = [this](const std::vector<RecordPtr>& records) { take(records); };
  for (int64_t i = 0; i < site_.mapping.parallelization_factor; ++i)
    lanes_.push_back(std::make_unique<Lane>(site_, shard_id_));
}

int64_t ShardFeed::read_due_ms(int64_t now_ms, uint64_t version) const {
  const std::scoped_lock lock(mutex_);
  if (ended_ || in_flight_.size() >= most_records_ || in_flight_bytes_ >= most_bytes_)
    return kNever;
  if (empty_at_version_ == version) return not_before_ms_;
  return read_failures_ > 0 ? not_before_ms_ : std::min(not_before_ms_, now_ms);
}

void ShardFeed::read() {
  const uint64_t version = database_.version();
  size_t room = 0;
  {
    const std::scoped_lock lock(mutex_);
    room = most_records_ - std::min(most_records_, in_flight_.size());
  }
  json::Document page;
  try {
    page = reader_.read(std::clamp<size_t>(room, 1, kMaxPage));
  } catch (const StreamError& error) {
    if (error.is_not_found()) throw;
    spdlog::warn("cannot read shard {} of {}: {} {}", shard_id_, site_.mapping.event_source_arn,
                 error.type(), error.what());
    const std::scoped_lock lock(mutex_);
    not_before_ms_ = site_.clock.now_ms() + site_.backoff.wait_ms(++read_failures_);
    return;
  }
  std::vector<std::pair<RecordPtr, bool>> records;  // and whether the function wants it
  for (const json::Element element : records_of(page)) {
    auto record = std::make_shared<Record>(
        make_record(element, site_.mapping.event_source_arn, partition_key_));
    bool wanted = true;
    if (!patterns_.empty()) {
      json::Document seen;
      wanted = seen.parse(record->text) && passes(patterns_, seen.root());
    }
    records.emplace_back(std::move(record), wanted);
  }
  size_t filtered = 0;
  {
    const std::scoped_lock lock(mutex_);
    read_failures_ = 0;
    empty_at_version_.reset();
    not_before_ms_ = 0;
    if (records.empty()) {
      empty_at_version_ = version;
      not_before_ms_ = site_.clock.now_ms() + kSlowPollMs;
    }
    for (const auto& [record, wanted] : records) {
      record->done = !wanted;
      filtered += wanted ? 0 : 1;
      in_flight_bytes_ += record->text.size();
      in_flight_.push_back(record);
    }
    advance();
    ended_ = reader_.ended();
  }
  if (filtered > 0) site_.count([&](Counts& counts) { counts.filtered += filtered; });
  for (auto& [record, wanted] : records) {
    if (!wanted) continue;
    const size_t lane = std::hash<std::string>{}(record->partition) % lanes_.size();
    lanes_[lane]->add(std::move(record));
  }
  if (reader_.ended()) {
    for (const auto& lane : lanes_) lane->end();
  }
}

void ShardFeed::take(const std::vector<RecordPtr>& records) {
  const std::scoped_lock lock(mutex_);
  for (const RecordPtr& record : records) record->done = true;
  advance();
}

// With the mutex held.
void ShardFeed::advance() {
  while (!in_flight_.empty() && in_flight_.front()->done) {
    checkpoint_ = in_flight_.front()->sequence_number;
    in_flight_bytes_ -= in_flight_.front()->text.size();
    in_flight_.pop_front();
  }
}

bool ShardFeed::finished() const {
  const std::scoped_lock lock(mutex_);
  return ended_ && in_flight_.empty();
}

std::optional<std::string> ShardFeed::checkpoint() const {
  const std::scoped_lock lock(mutex_);
  return checkpoint_;
}

std::optional<int64_t> ShardFeed::oldest_s() const {
  const std::scoped_lock lock(mutex_);
  if (in_flight_.empty()) return std::nullopt;
  return in_flight_.front()->created_s;
}

}  // namespace stator::triggers
