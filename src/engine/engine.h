// The engine contract: an ordered key-value store with consistent views and guarded atomic changes.
// Everything that makes DynamoDB is above it, everything that makes storage is below. Read this
// header and you can stop.
//
// Limits that hold on every engine: a key has 1 to 10,000 bytes and does not begin with 0xFF, which
// is the engine's own space; a view lives about five seconds, longer work resumes from a key with a
// new view; a batch has at most 8 MB, and another 128 MB of what it appends (an engine with smaller
// transactions can stage that: nobody reads it before the commit). Values of any size below that
// are the engine's worry. Who crosses one gets an EngineError that names it.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/executor.h"
#include "common/task.h"

namespace stator::metrics {
class Text;
}  // namespace stator::metrics

namespace stator::engine {

inline constexpr size_t kMaxKeyBytes = 10'000;
inline constexpr size_t kMaxBatchBytes = 8 * 1024 * 1024;
inline constexpr size_t kMaxAppendedBytes = 128 * 1024 * 1024;

// What ended a read or a change for a reason that is nobody's input: a damaged file, a full disk,
// an engine that is closed. The request fails as an internal error.
class EngineError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A view that is older than the engine keeps it. The reader takes a new view and goes on from its
// last key.
class ViewExpired : public EngineError {
  using EngineError::EngineError;
};

// Half-open range of keys: begin <= key < end.
struct Range {
  std::string begin;
  std::string end;
};

enum class Direction { kForward, kBackward };

// Where a scan stops at the latest. It always returns at least one row if the range has one.
struct ScanLimit {
  size_t rows = 1000;
  size_t bytes = 256 * 1024;  // of keys and values together
};

// A page of rows in one buffer. Views into it are valid while the page lives and is not moved from.
class Rows {
 public:
  size_t size() const { return rows_.size(); }
  bool empty() const { return rows_.empty(); }
  std::string_view key(size_t i) const { return {arena_.data() + rows_[i].at, rows_[i].key_size}; }
  std::string_view value(size_t i) const {
    return {arena_.data() + rows_[i].at + rows_[i].key_size, rows_[i].value_size};
  }
  size_t bytes() const { return arena_.size(); }
  // True if the range may hold more rows after the last one here.
  bool more() const { return more_; }

  void append(std::string_view key, std::string_view value) {
    rows_.push_back(
        {arena_.size(), static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())});
    arena_.append(key);
    arena_.append(value);
  }
  void set_more(bool more) { more_ = more; }

 private:
  struct Row {
    size_t at;
    uint32_t key_size;
    uint32_t value_size;
  };
  std::string arena_;
  std::vector<Row> rows_;
  bool more_ = false;
};

// A consistent read-only view of everything committed before it was taken. One request owns it; its
// calls are made one after another, never at the same time. A get that finds its data in memory
// does not suspend.
class View {
 public:
  virtual ~View() = default;
  virtual Task<std::optional<std::string>> get(std::string_view key) = 0;
  // As get for each key, in order.
  virtual Task<std::vector<std::optional<std::string>>> get_many(
      const std::vector<std::string>& keys) = 0;
  // Rows of `range` in order of keys, or in reverse, up to `limit`.
  virtual Task<Rows> scan(Range range, Direction direction, ScanLimit limit) = 0;
};

// The values of the keys a change holds, as of the moment they are held.
class Held {
 public:
  virtual ~Held() = default;
  // nullopt if the key has no value. `i` counts in the order of the request's vectors.
  virtual const std::optional<std::string>& shared(size_t i) const = 0;
  virtual const std::optional<std::string>& exclusive(size_t i) const = 0;
};

// What one change writes. Applied in order, all or nothing.
class Batch {
 public:
  struct Put {
    std::string key;
    std::string value;
  };
  struct Erase {
    std::string key;
  };
  // Only where nobody can write: the range's guard is held exclusively or its owner is gone.
  struct EraseRange {
    Range range;
  };
  // Adds to a signed 64-bit counter (8 bytes little-endian as a value; a missing key counts as 0).
  // Needs no hold: adds of concurrent changes commute. The sum may be read like any value.
  struct Add {
    std::string key;
    int64_t delta;
  };
  // Puts `value` at prefix + commit version (8 bytes big-endian) + ordinal (4 bytes big-endian,
  // counts the appends of this change from 0). Versions rise for ever, over restarts too.
  struct Append {
    std::string prefix;
    std::string value;
  };
  using Operation = std::variant<Put, Erase, EraseRange, Add, Append>;

  void put(std::string key, std::string value) {
    bytes_ += key.size() + value.size();
    operations_.emplace_back(Put{std::move(key), std::move(value)});
  }
  void erase(std::string key) {
    bytes_ += key.size();
    operations_.emplace_back(Erase{std::move(key)});
  }
  void erase_range(Range range) { operations_.emplace_back(EraseRange{std::move(range)}); }
  void add(std::string key, int64_t delta) {
    bytes_ += key.size() + 8;
    operations_.emplace_back(Add{std::move(key), delta});
  }
  void append(std::string prefix, std::string value) {
    bytes_ += prefix.size() + value.size();
    appended_bytes_ += prefix.size() + value.size();
    operations_.emplace_back(Append{std::move(prefix), std::move(value)});
  }
  const std::vector<Operation>& operations() const { return operations_; }
  std::vector<Operation>& operations() { return operations_; }
  bool empty() const { return operations_.empty(); }
  size_t bytes() const { return bytes_; }
  size_t appended_bytes() const { return appended_bytes_; }  // part of bytes()
  void clear() {
    operations_.clear();
    bytes_ = 0;
    appended_bytes_ = 0;
  }

 private:
  std::vector<Operation> operations_;
  size_t bytes_ = 0;
  size_t appended_bytes_ = 0;
};

// DynamoDB treats a meeting with a single write and with a transaction differently.
enum class ChangeKind { kSingle, kTransaction };

struct Mutation {
  // Names this change for ever. An engine that cannot know whether a commit happened finds out by
  // it.
  std::string id;
  ChangeKind kind = ChangeKind::kSingle;
  // Keys held against change by others, who may hold them shared too. Adds are not held back by a
  // shared hold.
  std::vector<std::string> shared;
  // Keys held alone. Put and Erase touch only these and keys that follow from them (index entries
  // and the like).
  std::vector<std::string> exclusive;
  std::chrono::milliseconds patience{5000};  // how long to wait for keys that others hold
  // Builds the batch from what is held. May run more than once, on any thread: no effect outside
  // the batch and its own result, which it must reset at its start. An exception from it ends the
  // change with nothing written and reaches the awaiter of mutate(). An empty batch commits
  // nothing, but the awaiter goes on only once everything the body saw is durable.
  std::function<void(const Held&, Batch&)> body;
};

struct Outcome {
  enum class Kind {
    kCommitted,  // visible and as durable as the engine was opened to be
    kConflict,   // somebody of kind `holder` changed or holds a key; nothing was written
    kTimedOut,   // patience ran out; nothing was written
    kFailed,     // the engine could not write; nothing was acknowledged. `detail` says why
  };
  Kind kind = Kind::kCommitted;
  uint64_t version = 0;
  ChangeKind holder = ChangeKind::kSingle;
  std::string detail;

  bool committed() const { return kind == Kind::kCommitted; }
};

// Thread-safe. Outlives its views and the changes under way; the destructor waits for what was
// queued.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::unique_ptr<View> view() = 0;
  virtual Task<Outcome> mutate(Mutation mutation) = 0;
  // Version of the newest commit that a new view would see.
  virtual uint64_t committed_version() = 0;
  // The first version given at or after the beginning of `second` (UTC), or the next one if none
  // was yet: whatever was acknowledged before that second has a smaller version, whatever was begun
  // in it or later has not. Known for the last 36 days; for an earlier second, the first version
  // known.
  virtual Task<uint64_t> version_at(int64_t second) = 0;
  // Asks the engine to give back the space of a range that was erased. A hint; returns at once.
  virtual void reclaim(Range range) = 0;
  // Why nothing is written any more; empty while all is well.
  virtual std::string failure() const { return {}; }
  // Shows what it does, under names that begin with stator_engine_.
  virtual void write_metrics(metrics::Text& /*text*/) {}
};

}  // namespace stator::engine
