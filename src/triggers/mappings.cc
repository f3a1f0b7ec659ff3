// Notes:
//   triggers/mapping/<uuid>             the mapping
//   triggers/checkpoint/<uuid>/<shard>  where it stands in a shard
//   triggers/result/<uuid>              what came of its last call
#include "triggers/mappings.h"

#include <pthread.h>

#include <algorithm>

#include <spdlog/spdlog.h>

#include "triggers/lambda_error.h"

namespace stator::triggers {

namespace {

constexpr std::string_view kMappingNotes = "triggers/mapping/";
constexpr std::string_view kCheckpointNotes = "triggers/checkpoint/";
constexpr std::string_view kResultNotes = "triggers/result/";
// UUIDs never look like this.
constexpr std::string_view kKinesisPrefix = "kinesis:";
constexpr int64_t kKinesisBatch = 500;
constexpr int64_t kKinesisRetries = 10;
constexpr std::string_view kNothingYet = "No records processed";
constexpr std::string_view kStreamGone = "PROBLEM: Stream not found";
// How soon a change is seen. A look costs a comparison if nothing was written.
constexpr int64_t kPollMs = 100;
constexpr int64_t kKeepAgainMs = 1000;

std::string mapping_key(const std::string& uuid) {
  return std::string(kMappingNotes) + uuid;
}
std::string result_key(const std::string& uuid) {
  return std::string(kResultNotes) + uuid;
}
std::string checkpoint_prefix(const std::string& uuid) {
  return std::string(kCheckpointNotes) + uuid + "/";
}

// Where LATEST is: each shard goes on after `latest`, which is older than the description.
Checkpoints latest_checkpoints(const StreamInfo& stream, const std::string& latest) {
  Checkpoints checkpoints;
  for (const ShardInfo& shard : stream.shards) {
    if (shard.last_sequence_number && *shard.last_sequence_number <= latest) {
      checkpoints[shard.id] = kEnded;
    } else if (shard.first_sequence_number <= latest) {
      checkpoints[shard.id] = latest;
    }
  }
  return checkpoints;
}

}  // namespace

Mappings::Mappings(Database& database, Invoker& invoker, const Clock& clock,
                   MappingsOptions options, Invoker* kinesis)
    : database_(database),
      invoker_(invoker),
      clock_(clock),
      options_(std::move(options)),
      runner_site_{.database = database_,
                   .invoker = invoker_,
                   .clock = clock_,
                   .ids = ids_,
                   .backoff = options_.backoff,
                   .region = options_.region,
                   .account = options_.account,
                   .wake = [this] { wake(); }} {
  if (kinesis != nullptr) {
    kinesis_site_.emplace(RunnerSite{.database = database_,
                                     .invoker = *kinesis,
                                     .clock = clock_,
                                     .ids = ids_,
                                     .backoff = options_.backoff,
                                     .region = options_.region,
                                     .account = options_.account,
                                     .wake = [this] { wake(); }});
  }
  load();
}

Mappings::~Mappings() {
  stop();
}

void Mappings::load() {
  for (const Note& note : run_blocking(database_.kept(std::string(kMappingNotes)))) {
    Entry entry;
    entry.mapping = decode_mapping(*note.value);
    entry.last_result = kNothingYet;
    entry.is_kinesis = entry.mapping.uuid.starts_with(kKinesisPrefix);
    entries_.emplace(entry.mapping.uuid, std::move(entry));
  }
  for (const Note& note : run_blocking(database_.kept(std::string(kResultNotes)))) {
    const auto at = entries_.find(note.key.substr(kResultNotes.size()));
    if (at != entries_.end()) at->second.last_result = *note.value;
  }
  std::vector<Note> orphans;  // of a mapping that was deleted while a checkpoint was on its way
  for (const Note& note : run_blocking(database_.kept(std::string(kCheckpointNotes)))) {
    const std::string rest = note.key.substr(kCheckpointNotes.size());
    const size_t slash = rest.rfind('/');
    const auto at = entries_.find(rest.substr(0, slash));
    if (slash == std::string::npos || at == entries_.end()) {
      orphans.push_back({note.key, std::nullopt});
    } else {
      at->second.kept[rest.substr(slash + 1)] = *note.value;
    }
  }
  if (!orphans.empty()) run_blocking(database_.keep(std::move(orphans)));
}

void Mappings::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "stator-mappings");
    run();
  });
}

void Mappings::stop() {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  invoker_.stop();
  if (kinesis_site_) kinesis_site_->invoker.stop();
  // Without the mutex: what is under way ends by waking us.
  std::vector<std::shared_ptr<Runner>> runners;
  {
    const std::scoped_lock lock(mutex_);
    runners = std::move(retired_);
    for (auto& [uuid, entry] : entries_) {
      if (entry.runner) runners.push_back(entry.runner);
    }
  }
  for (const auto& runner : runners) {
    runner->stop();
    while (!runner->idle()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::vector<Note> notes;
  {
    const std::scoped_lock lock(mutex_);
    for (auto& [uuid, entry] : entries_) {
      if (!entry.runner) continue;
      note_progress(entry, notes);
      entry.runner.reset();
    }
  }
  keep(std::move(notes));
}

void Mappings::wake() {
  {
    const std::scoped_lock lock(mutex_);
    woken_ = true;
  }
  wake_.notify_all();
}

void Mappings::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    woken_ = false;
    const int64_t now_ms = clock_.now_ms();
    const uint64_t version = database_.version();
    std::vector<Note> notes;
    int64_t next_ms = kNever;
    if (kinesis_site_ && kinesis_version_ != version) {
      kinesis_version_ = version;
      follow_kinesis(notes);
    }
    for (auto& [uuid, entry] : entries_)
      next_ms = std::min(next_ms, look_after(entry, notes, now_ms, version));
    std::erase_if(retired_, [](const auto& runner) { return runner->idle(); });
    if (!notes.empty()) {
      lock.unlock();
      keep(std::move(notes));
      lock.lock();
      continue;  // time has passed
    }
    if (woken_ || stopping_) continue;
    const auto has_changed = [this] { return woken_ || stopping_; };
    if (next_ms == kNever && retired_.empty() && !kinesis_site_) {
      wake_.wait(lock, has_changed);
    } else {
      const int64_t wait_ms = std::clamp<int64_t>(next_ms - now_ms, 1, kPollMs);
      wake_.wait_for(lock, std::chrono::milliseconds(wait_ms), has_changed);
    }
  }
}

// With the mutex held. A hidden stream is bound to its Kinesis stream as a mapping would be; it is
// forgotten when the stream is.
void Mappings::follow_kinesis(std::vector<Note>& notes) {
  for (const KinesisFeed& feed : database_.kinesis_feeds()) {
    const std::string uuid = std::string(kKinesisPrefix) + feed.stream_arn;
    const auto at = entries_.find(uuid);
    const FunctionName stream{feed.kinesis_arn, feed.precision};
    if (at != entries_.end() && at->second.mapping.function == stream) continue;
    Entry& entry = entries_[uuid];
    if (at == entries_.end()) entry.last_result = kNothingYet;
    entry.mapping.uuid = uuid;
    entry.mapping.function = stream;
    entry.mapping.event_source_arn = feed.stream_arn;
    entry.mapping.starting_position = "TRIM_HORIZON";
    entry.mapping.batch_size = kKinesisBatch;
    entry.mapping.bisect_on_error = true;
    entry.mapping.max_retry_attempts = kKinesisRetries;
    entry.mapping.reports_item_failures = true;
    entry.outdated = true;
    entry.is_kinesis = true;
    notes.push_back({mapping_key(uuid), encode_mapping(entry.mapping)});
  }
  std::erase_if(entries_, [&](const auto& at) {
    const auto& [uuid, entry] = at;
    if (!entry.is_kinesis || entry.mapping.enabled || entry.runner) return false;
    notes.push_back({mapping_key(uuid), std::nullopt});
    notes.push_back({result_key(uuid), std::nullopt});
    for (const auto& [shard, value] : entry.kept)
      notes.push_back({checkpoint_prefix(uuid) + shard, std::nullopt});
    return true;
  });
}

// With the mutex held. Says when to look again.
int64_t Mappings::look_after(Entry& entry, std::vector<Note>& notes, int64_t now_ms,
                             uint64_t version) {
  if (!entry.changing.empty()) return kNever;
  if (entry.runner) {
    note_progress(entry, notes);
    if (entry.runner->gone() && entry.mapping.enabled) {
      entry.mapping.enabled = false;
      entry.mapping.transition_reason = "The stream does not exist any more";
      notes.push_back({mapping_key(entry.mapping.uuid), encode_mapping(entry.mapping)});
    }
    if (entry.outdated || !entry.mapping.enabled) {
      // The next one begins where this one ends, so that the order is kept.
      entry.runner->stop();
      if (!entry.runner->idle()) return now_ms + kPollMs;
      note_progress(entry, notes);
      if (entry.runner->gone()) {
        entry.last_result = kStreamGone;
        notes.push_back({result_key(entry.mapping.uuid), entry.last_result});
      }
      entry.runner.reset();
    }
  }
  entry.outdated = false;
  if (!entry.mapping.enabled || (entry.is_kinesis && !kinesis_site_)) return kNever;
  if (!entry.runner)
    entry.runner = std::make_shared<Runner>(entry.is_kinesis ? *kinesis_site_ : runner_site_,
                                            entry.mapping, entry.kept);
  return std::min(entry.runner->tick(now_ms, version), now_ms + kPollMs);
}

// With the mutex held.
void Mappings::note_progress(Entry& entry, std::vector<Note>& notes) {
  const std::string prefix = checkpoint_prefix(entry.mapping.uuid);
  Checkpoints now = entry.runner->checkpoints();
  for (const auto& [shard, value] : now) {
    const auto before = entry.kept.find(shard);
    if (before == entry.kept.end() || before->second != value)
      notes.push_back({prefix + shard, value});
  }
  for (const auto& [shard, value] : entry.kept) {
    if (!now.contains(shard)) notes.push_back({prefix + shard, std::nullopt});
  }
  entry.kept = std::move(now);
  const auto result = entry.runner->last_result();
  if (result && *result != entry.last_result) {
    entry.last_result = *result;
    notes.push_back({result_key(entry.mapping.uuid), *result});
  }
}

void Mappings::keep(std::vector<Note> notes) {
  if (notes.empty()) return;
  try {
    run_blocking(database_.keep(std::move(notes)));
  } catch (const std::exception& error) {
    // A crash now means that some records are delivered again. Later notes make up for it.
    spdlog::error("cannot keep where event source mappings stand: {}", error.what());
    std::this_thread::sleep_for(std::chrono::milliseconds(kKeepAgainMs));
  }
}

MappingView Mappings::view(const Entry& entry, std::string_view state) const {
  MappingView view{entry.mapping, std::string(state), entry.last_result};
  if (!state.empty()) return view;
  view.state = !entry.changing.empty() ? entry.changing
               : entry.mapping.enabled ? "Enabled"
                                       : "Disabled";
  return view;
}

// With the mutex held. Nobody else may change the entry until `changing` is empty again.
Mappings::Entry& Mappings::need(const std::string& uuid, std::string_view change) {
  const auto at = entries_.find(uuid);
  if (at == entries_.end() || at->second.changing == "Creating" || at->second.is_kinesis)
    throw LambdaError::not_found();
  if (!at->second.changing.empty()) {
    throw LambdaError(400, "ResourceInUseException",
                      "Cannot update the event source mapping because it is in use.");
  }
  at->second.changing = change;
  return at->second;
}

Task<MappingView> Mappings::create(Mapping mapping) {
  mapping.uuid = ids_.uuid();
  mapping.modified_ms = clock_.now_ms();
  const std::string uuid = mapping.uuid;
  const std::string arn = mapping.event_source_arn;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [other, entry] : entries_) {
      if (entry.mapping.event_source_arn != arn || entry.mapping.function != mapping.function)
        continue;
      throw LambdaError(409, "ResourceConflictException",
                        "The event source arn (\" " + arn + " \") and function (\" " +
                            mapping.function.name +
                            " \") provided mapping already exists. Please update or delete the "
                            "existing mapping with UUID " +
                            other);
    }
    if (entries_.size() >= kMaxMappings) {
      throw LambdaError::invalid("There are " + std::to_string(kMaxMappings) +
                                 " event source mappings already.");
    }
    Entry entry;
    entry.mapping = mapping;
    entry.changing = "Creating";
    entry.last_result = kNothingYet;
    entries_.emplace(uuid, std::move(entry));
  }
  Checkpoints checkpoints;
  std::exception_ptr failure;
  try {
    const std::string latest = database_.latest_sequence_number();
    auto describing = describe_stream(database_, arn);
    const StreamInfo stream = co_await describing;
    if (mapping.starting_position == "LATEST") checkpoints = latest_checkpoints(stream, latest);
    std::vector<Note> notes{{mapping_key(uuid), encode_mapping(mapping)}};
    for (const auto& [shard, value] : checkpoints)
      notes.push_back({checkpoint_prefix(uuid) + shard, value});
    auto keeping = database_.keep(std::move(notes));
    co_await keeping;
  } catch (const StreamError& error) {
    failure = error.is_not_found()
                  ? std::make_exception_ptr(LambdaError::invalid("Stream not found: " + arn))
                  : std::current_exception();
  } catch (...) {
    failure = std::current_exception();
  }
  std::optional<MappingView> shown;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_.at(uuid);
    if (failure) {
      entries_.erase(uuid);
    } else {
      entry.kept = std::move(checkpoints);
      entry.changing.clear();
      shown = view(entry, "Creating");
    }
  }
  if (failure) std::rethrow_exception(failure);
  wake();
  co_return std::move(*shown);
}

Task<MappingView> Mappings::update(std::string uuid, std::function<void(Mapping&)> change) {
  Mapping changed;
  bool was_enabled = false;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = need(uuid, "Updating");
    changed = entry.mapping;
    was_enabled = entry.mapping.enabled;
  }
  std::exception_ptr failure;
  try {
    change(changed);
    changed.modified_ms = clock_.now_ms();
    changed.transition_reason = "User action";
    auto keeping = database_.keep({{mapping_key(uuid), encode_mapping(changed)}});
    co_await keeping;
  } catch (...) {
    failure = std::current_exception();
  }
  std::optional<MappingView> shown;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_.at(uuid);
    entry.changing.clear();
    if (!failure) {
      entry.mapping = changed;
      entry.outdated = true;
      shown = view(entry, changed.enabled == was_enabled ? "Updating"
                          : changed.enabled              ? "Enabling"
                                                         : "Disabling");
    }
  }
  if (failure) std::rethrow_exception(failure);
  wake();
  co_return std::move(*shown);
}

Task<MappingView> Mappings::remove(std::string uuid) {
  {
    const std::scoped_lock lock(mutex_);
    need(uuid, "Deleting");
  }
  std::exception_ptr failure;
  try {
    auto finding = database_.kept(checkpoint_prefix(uuid));
    std::vector<Note> notes = co_await finding;
    for (Note& note : notes) note.value.reset();
    notes.push_back({mapping_key(uuid), std::nullopt});
    notes.push_back({result_key(uuid), std::nullopt});
    auto keeping = database_.keep(std::move(notes));
    co_await keeping;
  } catch (...) {
    failure = std::current_exception();
  }
  std::optional<MappingView> shown;
  {
    const std::scoped_lock lock(mutex_);
    Entry& entry = entries_.at(uuid);
    if (failure) {
      entry.changing.clear();
    } else {
      shown = view(entry, "Deleting");
      if (entry.runner) {
        entry.runner->stop();
        retired_.push_back(std::move(entry.runner));
      }
      entries_.erase(uuid);
    }
  }
  if (failure) std::rethrow_exception(failure);
  wake();
  co_return std::move(*shown);
}

std::optional<MappingView> Mappings::find(const std::string& uuid) const {
  const std::scoped_lock lock(mutex_);
  const auto at = entries_.find(uuid);
  if (at == entries_.end() || at->second.changing == "Creating" || at->second.is_kinesis)
    return std::nullopt;
  return view(at->second);
}

std::vector<MappingView> Mappings::list() const {
  const std::scoped_lock lock(mutex_);
  std::vector<MappingView> all;
  for (const auto& [uuid, entry] : entries_) {
    if (entry.changing != "Creating" && !entry.is_kinesis) all.push_back(view(entry));
  }
  return all;
}

}  // namespace stator::triggers
