// The RocksDB database below the engine: its directory, its format, its options.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "common/metrics.h"
#include "engine/engine.h"
#include "engine/rocksdb/data_directory.h"
#include "engine/rocksdb/log_order.h"
#include "engine/rocksdb/rocksdb_engine.h"

namespace stator::engine {

// Keys that begin with this byte are the engine's own.
inline constexpr std::string_view kReservedPrefix = "\xff";
// No commit has a version above this, 8 bytes big-endian.
inline constexpr std::string_view kVersionCeilingKey = "\xffversion";

// The first version of each second in which anything was committed: the second, 8 bytes big-endian,
// follows the prefix.
inline constexpr std::string_view kTimePrefix = "\xfftime";

// Thread-safe.
class Store {
 public:
  // Throws EngineError with one clear sentence that names the directory.
  explicit Store(const RocksdbOptions& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  rocksdb::DB& db() { return *db_; }
  const Clock& clock() const { return clock_; }
  Durability durability() const { return durability_; }
  // At least the version of the newest commit at the time of opening; new ones are higher.
  uint64_t opened_version() const { return opened_version_; }

  // Logs before this one are not needed any more: they were not when it was opened.
  uint64_t first_log() const { return log_order_->first_log(); }

  // A write failed: its log is not touched again.
  void mark_failed() { failed_.store(true); }
  // Nothing is written any more. Whoever wants memory to be written out asks before: RocksDB does
  // not survive being asked for a new log a second time when the first could not be made.
  bool is_stopped() const { return failed_.load() || stopped_->load(); }

  enum class Found { kValue, kNothing, kNotInMemory };
  // The value of `key` in `snapshot`, or the newest one if that is null. With `cached` it answers
  // kNotInMemory where it would have to wait for a disk. Throws EngineError if the store is
  // damaged.
  Found get(bool cached, const rocksdb::Snapshot* snapshot, std::string_view key,
            std::string& value);

  void write_metrics(metrics::Text& text);

  // Whether reads end where NoWait says so.
  bool reads_can_end() const { return reads_can_end_; }
  // True if a scan does not have to wait for a disk, whatever its range.
  bool scans_stay_in_memory() const {
    return durability_ == Durability::kMemory || !has_files_->load();
  }

 private:
  void open(const RocksdbOptions& options);
  void use_files(const std::shared_ptr<rocksdb::FileSystem>& files, rocksdb::Options& options);
  void open_files(const RocksdbOptions& options, rocksdb::Options& rocksdb_options);
  Found look_up(bool cached, const rocksdb::Snapshot* snapshot, std::string_view key,
                std::string& value);

  const SystemClock system_clock_;
  const Clock& clock_;
  const Durability durability_;
  const bool reads_can_end_;
  std::atomic<bool> failed_{false};
  // In the order in which they are needed: a store that does not open gives all of them back.
  std::unique_ptr<rocksdb::Env> memory_;  // of kMemory
  std::unique_ptr<rocksdb::Env> env_;
  std::optional<DataDirectory> directory_;
  std::unique_ptr<LogOrder> log_order_;  // the database knows it as long as it lives
  std::unique_ptr<rocksdb::DB> db_;
  uint64_t opened_version_ = 0;
  metrics::Counter memory_reads_;
  metrics::Counter disk_reads_;
  const std::shared_ptr<std::atomic<bool>> has_files_;  // beside the log
  const std::shared_ptr<std::atomic<bool>> stopped_;    // by an error of the log
};

// What went wrong with `doing`, as an EngineError.
[[noreturn]] void throw_status(std::string_view doing, const rocksdb::Status& status);

uint64_t decode_big_endian(std::string_view bytes);
void append_big_endian(std::string& to, uint64_t value, size_t bytes);

}  // namespace stator::engine
