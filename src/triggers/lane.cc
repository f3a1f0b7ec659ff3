#include "triggers/lane.h"

#include <algorithm>
#include <cassert>

#include <spdlog/spdlog.h>

#include "json/reader.h"

namespace stator::triggers {

namespace {

constexpr std::string_view kOk = "OK";
constexpr std::string_view kProblem = "PROBLEM: Function call failed";
// A destination that takes nothing holds a lane up for this many tries, then the failure record is
// only in the log.
constexpr int64_t kMaxTells = 5;

size_t event_bytes(const Record& record) {
  return record.text.size() + kEventOverheadBytes;
}

}  // namespace

int64_t Backoff::wait_ms(int64_t failures) const {
  assert(failures >= 1);
  const int64_t doublings = std::min<int64_t>(failures - 1, 20);
  return std::min(first_ms << doublings, most_ms);
}

size_t first_failed(const std::string& answer, const std::vector<RecordPtr>& records) {
  json::Document document;
  if (!document.parse(answer)) return records.size();
  const auto failures = json::member(document.root(), "batchItemFailures");
  if (!failures) return records.size();
  json::ArrayElement list;
  if (failures->get(list) != simdjson::SUCCESS) return 0;
  size_t first = records.size();
  for (const json::Element failure : list) {
    const auto identifier = json::string_member(failure, "itemIdentifier");
    const auto at = std::find_if(records.begin(), records.end(), [&](const RecordPtr& record) {
      return identifier && record->sequence_number == *identifier;
    });
    if (at == records.end()) return 0;
    first = std::min(first, static_cast<size_t>(at - records.begin()));
  }
  return first;
}

void Lane::add(RecordPtr record) {
  const std::scoped_lock lock(mutex_);
  if (queue_.empty()) queued_since_ms_ = site_.clock.now_ms();
  queue_bytes_ += event_bytes(*record);
  queue_.push_back(std::move(record));
}

void Lane::end() {
  const std::scoped_lock lock(mutex_);
  ended_ = true;
}

size_t Lane::waiting() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size();
}

bool Lane::empty() const {
  const std::scoped_lock lock(mutex_);
  return queue_.empty() && batches_.empty() && !untold_;
}

bool Lane::is_full() const {
  return queue_.size() >= static_cast<size_t>(site_.mapping.batch_size) ||
         queue_bytes_ + kEventOverheadBytes >= kMaxEventBytes || ended_;
}

int64_t Lane::due_ms() const {
  const std::scoped_lock lock(mutex_);
  if (untold_) return untold_->not_before_ms;
  if (!batches_.empty()) return batches_.front().not_before_ms;
  if (queue_.empty()) return kNever;
  if (is_full()) return 0;
  return queued_since_ms_ + site_.mapping.batching_window_s * 1000;
}

void Lane::step() {
  std::unique_lock lock(mutex_);
  if (untold_) {
    lock.unlock();
    tell();
    return;
  }
  if (batches_.empty()) form_batch();
  if (batches_.empty()) return;
  Batch batch = std::move(batches_.front());
  lock.unlock();
  // The front stays in its place, empty, so that nobody thinks the lane has nothing to do.
  if (!drop_aged(batch)) invoke(batch);
  lock.lock();
  if (batch.records.empty()) {
    batches_.pop_front();
  } else {
    batches_.front() = std::move(batch);
  }
}

// With the mutex held.
void Lane::form_batch() {
  Batch batch;
  size_t bytes = kEventOverheadBytes;
  while (!queue_.empty() && batch.records.size() < static_cast<size_t>(site_.mapping.batch_size)) {
    const size_t more = event_bytes(*queue_.front());
    if (!batch.records.empty() && bytes + more > kMaxEventBytes) break;
    bytes += more;
    queue_bytes_ -= more;
    batch.records.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  queued_since_ms_ = site_.clock.now_ms();
  if (!batch.records.empty()) batches_.push_back(std::move(batch));
}

// True if something was dropped: the rest gets its own step.
bool Lane::drop_aged(Batch& batch) {
  const int64_t limit_s = site_.mapping.max_record_age_s;
  const int64_t limit_ms =
      limit_s == Mapping::kForever ? kRetentionMs : std::min(limit_s * 1000, kRetentionMs);
  const int64_t oldest_s = (site_.clock.now_ms() - limit_ms) / 1000;
  const auto young =
      std::find_if(batch.records.begin(), batch.records.end(),
                   [&](const auto& record) { return record->created_s >= oldest_s; });
  if (young == batch.records.begin()) return false;
  std::vector<RecordPtr> aged(batch.records.begin(), young);
  batch.records.erase(batch.records.begin(), young);
  give_up(batch, std::move(aged), Condition::kRecordAgeExceeded);
  return true;
}

void Lane::invoke(Batch& batch) {
  Invocation answer = site_.invoker.invoke(site_.mapping.function, make_event(batch.records));
  const bool ran = answer.kind != Invocation::Kind::kNotReached;
  if (ran) ++batch.invokes;
  site_.count([&](Counts& counts) { counts.invocations += ran ? 1 : 0; });
  evaluate(batch, std::move(answer));
}

void Lane::evaluate(Batch& batch, Invocation answer) {
  size_t done = 0;
  if (answer.kind == Invocation::Kind::kDone) {
    done = site_.mapping.reports_item_failures ? first_failed(answer.body, batch.records)
                                               : batch.records.size();
  }
  const bool is_whole = done == batch.records.size();
  site_.result(is_whole ? kOk : kProblem);
  if (!is_whole) {
    spdlog::debug("function {} failed: {}", site_.mapping.function.name, answer.detail);
    site_.count([](Counts& counts) { ++counts.failures; });
  }
  if (done > 0) {
    std::vector<RecordPtr> taken(batch.records.begin(),
                                 batch.records.begin() + static_cast<ptrdiff_t>(done));
    batch.records.erase(batch.records.begin(),
                        batch.records.begin() + static_cast<ptrdiff_t>(done));
    site_.count([&](Counts& counts) { counts.delivered += done; });
    site_.done(taken);
  }
  if (is_whole) return;
  const bool ran = answer.kind != Invocation::Kind::kNotReached;
  if (ran) batch.last = std::move(answer);
  if (done > 0) {
    // The rest is a batch of its own: what was before it no longer fails.
    batch.retries = 0;
    batch.failures = 0;
    wait(batch);
  } else if (ran) {
    fail(batch);
  } else {
    wait(batch);  // a function that cannot be reached uses up no retries
  }
}

void Lane::fail(Batch& batch) {
  if (site_.mapping.bisect_on_error && batch.records.size() > 1) {
    // Splitting uses up no retries either. The second half comes after all of the first.
    const auto middle = batch.records.begin() + static_cast<ptrdiff_t>(batch.records.size() / 2);
    Batch second = batch;
    second.records.assign(middle, batch.records.end());
    batch.records.erase(middle, batch.records.end());
    const std::scoped_lock lock(mutex_);
    batches_.insert(batches_.begin() + 1, std::move(second));
    return;
  }
  const int64_t limit = site_.mapping.max_retry_attempts;
  if (limit != Mapping::kForever && batch.retries >= limit) {
    std::vector<RecordPtr> records = std::move(batch.records);
    batch.records.clear();
    give_up(batch, std::move(records), Condition::kRetryAttemptsExhausted);
    return;
  }
  ++batch.retries;
  wait(batch);
}

void Lane::wait(Batch& batch) {
  ++batch.failures;
  batch.not_before_ms = site_.clock.now_ms() + site_.backoff.wait_ms(batch.failures);
}

void Lane::give_up(const Batch& batch, std::vector<RecordPtr> records, Condition condition) {
  spdlog::warn("function {} did not take {} records from {} of shard {}: they are given up",
               site_.mapping.function.name, records.size(), records.front()->sequence_number,
               shard_id_);
  site_.count([&](Counts& counts) { counts.discarded += records.size(); });
  if (site_.mapping.on_failure.empty()) {
    site_.done(records);
    return;
  }
  FailureContext context;
  context.request_id = site_.ids.uuid();
  context.function_arn = site_.function_arn;
  context.condition = condition;
  context.invoke_count = batch.invokes;
  if (batch.last) {
    context.status = batch.last->status.value_or(200);
    context.executed_version = batch.last->executed_version;
    context.function_error = batch.last->function_error;
  }
  context.now_ms = site_.clock.now_ms();
  context.shard_id = shard_id_;
  context.stream_arn = site_.mapping.event_source_arn;
  context.with_payload = site_.mapping.on_failure.find(":s3:::") != std::string::npos;
  Untold untold;
  untold.text = make_failure_record(context, records);
  untold.records = std::move(records);
  const std::scoped_lock lock(mutex_);
  assert(!untold_);
  untold_ = std::move(untold);
}

void Lane::tell() {
  // Only step() touches it once it is there, and steps come one after another.
  Untold& untold = *untold_;
  const bool taken = site_.invoker.tell(site_.mapping.on_failure, untold.text);
  if (!taken && ++untold.tries < kMaxTells) {
    const std::scoped_lock lock(mutex_);
    untold.not_before_ms = site_.clock.now_ms() + site_.backoff.wait_ms(untold.tries);
    return;
  }
  if (!taken) {
    spdlog::error("destination {} does not take a failure record: {}", site_.mapping.on_failure,
                  untold.text);
  }
  const std::vector<RecordPtr> records = std::move(untold.records);
  {
    const std::scoped_lock lock(mutex_);
    untold_.reset();
  }
  site_.done(records);
}

}  // namespace stator::triggers
