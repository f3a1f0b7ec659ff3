#include "engine/rocksdb/rocksdb_engine.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/metrics.h"
#include "common/thread_pool.h"
#include "common/waits.h"
#include "engine/frozen.h"
#include "engine/limits.h"
#include "engine/rocksdb/change.h"
#include "engine/rocksdb/committer.h"
#include "engine/rocksdb/frozen_store.h"
#include "engine/rocksdb/gate.h"
#include "engine/rocksdb/latch_table.h"
#include "engine/rocksdb/queued_images.h"
#include "engine/rocksdb/reclaimer.h"
#include "engine/rocksdb/rocksdb_view.h"
#include "engine/rocksdb/store.h"
#include "engine/rocksdb/sweeper.h"

namespace stator::engine {

namespace {

// What queued changes may carry together before further ones wait.
constexpr size_t kQueuedBytes = 64 * 1024 * 1024;

class HeldValues final : public Held {
 public:
  explicit HeldValues(const Mutation& mutation)
      : shared_(mutation.shared.size()), exclusive_(mutation.exclusive.size()) {}
  const std::optional<std::string>& shared(size_t i) const override { return shared_.at(i); }
  const std::optional<std::string>& exclusive(size_t i) const override { return exclusive_.at(i); }

 private:
  friend class HeldReader;
  std::vector<std::optional<std::string>> shared_;
  std::vector<std::optional<std::string>> exclusive_;
};

// Reads the keys that a change holds: what is queued for them, or what the store has.
class HeldReader {
 public:
  HeldReader(Store& store, const QueuedImages& images, const Mutation& mutation, HeldValues& values)
      : store_(store), images_(images), mutation_(mutation), values_(values) {}

  // False if a value is not in memory and only that was asked for; a further call goes on from
  // there.
  bool read(bool cached) {
    const size_t shared = mutation_.shared.size();
    for (; next_ < shared; ++next_) {
      if (!read_key(cached, mutation_.shared[next_], values_.shared_[next_])) return false;
    }
    for (; next_ < shared + mutation_.exclusive.size(); ++next_) {
      if (!read_key(cached, mutation_.exclusive[next_ - shared],
                    values_.exclusive_[next_ - shared]))
        return false;
    }
    return true;
  }
  // True if a value is not durable yet.
  bool saw_queued() const { return saw_queued_; }

 private:
  bool read_key(bool cached, const std::string& key, std::optional<std::string>& value) {
    for (;;) {
      QueuedImages::Found found = images_.find(key);
      if (found.kind == QueuedImages::Kind::kImage) {
        saw_queued_ = true;
        value = std::move(found.value);
        return true;
      }
      if (!read_store(cached, key, value)) return false;
      if (found.kind == QueuedImages::Kind::kNone) return true;
      // The sum counts only if none of it was in the store when that was read.
      const QueuedImages::Found after = images_.find(key);
      if (after.kind != QueuedImages::Kind::kDelta || after.generation != found.generation)
        continue;
      saw_queued_ = true;
      value = encode_counter(add_counter(value ? decode_counter(*value) : 0, after.delta));
      return true;
    }
  }

  bool read_store(bool cached, const std::string& key, std::optional<std::string>& value) {
    std::string bytes;
    const Store::Found found = store_.get(cached, nullptr, key, bytes);
    if (found == Store::Found::kNotInMemory) return false;
    value.reset();
    if (found == Store::Found::kNothing) return true;
    value = std::move(bytes);
    return true;
  }

  Store& store_;
  const QueuedImages& images_;
  const Mutation& mutation_;
  HeldValues& values_;
  size_t next_ = 0;
  bool saw_queued_ = false;
};

class RocksdbEngine final : public Engine, public FrozenCopies {
 public:
  explicit RocksdbEngine(const RocksdbOptions& options)
      : store_(options),
        readers_("reader", static_cast<size_t>(std::max(1, options.reader_threads))),
        frozen_(store_, readers_),
        latches_([this] { sweeper_.wake(); }),
        gate_(options.queue_limit, kQueuedBytes, [this] { sweeper_.wake(); }),
        committer_(store_, images_, gate_),
        reclaimer_(store_),
        sweeper_([this] { return sweep(); }) {}
  ~RocksdbEngine() override { sweeper_.stop(); }

  std::unique_ptr<View> view() override { return std::make_unique<RocksdbView>(store_, readers_); }
  Task<Outcome> mutate(Mutation mutation) override;
  uint64_t committed_version() override { return committer_.committed_version(); }
  Task<uint64_t> version_at(int64_t second) override;
  void reclaim(Range range) override { reclaimer_.reclaim(std::move(range)); }
  std::string failure() const override { return committer_.failure(); }
  void write_metrics(metrics::Text& text) override {
    text.gauge("stator_engine_changes_under_way", "Changes queued or being committed.",
               static_cast<double>(gate_.inside()));
    text.gauge("stator_engine_changes_waiting", "Changes that wait for room in the queue.",
               static_cast<double>(gate_.waiting()));
    committer_.write_metrics(text);
    store_.write_metrics(text);
  }

  Task<void> freeze(std::string name, Range keep) override {
    return frozen_.freeze(std::move(name), std::move(keep));
  }
  std::unique_ptr<View> view_frozen(const std::string& name) override { return frozen_.view(name); }
  Task<void> drop_frozen(std::string name) override { return frozen_.drop(std::move(name)); }
  std::vector<std::string> frozen() override { return frozen_.names(); }

 private:
  bool sweep() {
    const auto now = std::chrono::steady_clock::now();
    latches_.expire(now);
    gate_.expire(now);
    return latches_.anyone_waits() || gate_.anyone_waits();
  }

  // In the order of their dependence: a later one uses the earlier ones.
  Store store_;
  ThreadPool readers_;
  FrozenStore frozen_;
  QueuedImages images_;
  LatchTable latches_;
  Gate gate_;
  Committer committer_;
  Reclaimer reclaimer_;
  Sweeper sweeper_;
};

Task<Outcome> RocksdbEngine::mutate(Mutation mutation) {
  check_limits(mutation);
  Executor* const home = Executor::current();
  Change change(home);
  OwnWaits own_waits;
  Waits* const waits = co_await own_waits;

  WaitTimer waiting(waits, &Waits::keys_us);
  Gate::Enter enter(gate_, mutation.patience, home);
  const bool entered = co_await enter;
  if (!entered) {
    change.outcome.kind = Outcome::Kind::kTimedOut;
    co_return std::move(change.outcome);
  }

  // From here on the coroutine may find itself on another thread; it goes home at its end.
  LatchTable::Request latches(mutation.shared, mutation.exclusive, mutation.patience, home);
  LatchTable::Acquire acquire = latches_.acquire(latches);
  const bool held = co_await acquire;
  waiting.stop();
  bool away = latches.waited();
  bool submitted = false;
  std::optional<WaitTimer> committing;
  std::exception_ptr error;
  if (!held) {
    change.outcome.kind = Outcome::Kind::kTimedOut;
  } else {
    HeldValues values(mutation);
    HeldReader reader(store_, images_, mutation, values);
    bool cached = false;
    try {
      cached = reader.read(true);
    } catch (...) {
      error = std::current_exception();
    }
    WaitTimer reading(cached ? nullptr : waits, &Waits::disk_us);
    if (!cached && !error) {
      SwitchTo to_reader(&readers_);
      co_await to_reader;
      away = true;
    }
    bool lead = false;
    if (!error) {
      try {
        if (!cached) reader.read(false);
        reading.stop();
        change.batch = std::make_shared<Batch>();
        mutation.body(values, *change.batch);
        check_limits(*change.batch);
        if (!change.batch->empty() || reader.saw_queued()) {
          submitted = true;
          committing.emplace(waits, &Waits::commit_us);
          lead = committer_.submit(change);
        } else {
          change.outcome.version = committer_.committed_version();
        }
      } catch (...) {
        error = std::current_exception();
      }
    }
    latches_.release(latches);
    if (lead) committer_.lead();
  }

  if (submitted) {
    // Resumed at home by the committer, unless it was done already.
    Change::Completion completion = change.completion();
    const bool resumed = co_await completion;
    committing.reset();
    if (resumed) away = false;
  } else {
    gate_.leave(1, 0);
  }
  if (away) {
    SwitchTo to_home(home);
    co_await to_home;
  }
  if (error) std::rethrow_exception(error);
  co_return std::move(change.outcome);
}

Task<uint64_t> RocksdbEngine::version_at(int64_t second) {
  const uint64_t next = committed_version() + 1;
  Range marks{std::string(kTimePrefix), std::string(kTimePrefix)};
  append_big_endian(marks.begin, static_cast<uint64_t>(std::max<int64_t>(0, second)), 8);
  marks.end.back() += 1;
  RocksdbView view(store_, readers_);
  auto scanning =
      view.scan_all(std::move(marks), Direction::kForward, {.rows = 1, .bytes = SIZE_MAX});
  const Rows rows = co_await scanning;
  if (rows.empty()) co_return next;
  co_return decode_big_endian(rows.value(0));
}

}  // namespace

std::unique_ptr<Engine> open_rocksdb(RocksdbOptions options) {
  return std::make_unique<RocksdbEngine>(options);
}

}  // namespace stator::engine
