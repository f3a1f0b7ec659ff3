#include "engine/rocksdb/store.h"

#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "common/log.h"
#include "engine/rocksdb/wal_tail.h"

namespace stator::engine {

namespace {

// Raised whenever an older program could not read what this one writes.
constexpr int kFormat = 1;
constexpr std::string_view kFormatHead = "stator-rocksdb-format ";
// At its end the store writes its memory out if there is more than this in it, so that the next
// start need not replay.
constexpr uint64_t kFlushAtCloseBytes = 8 * 1024 * 1024;

std::string quoted(const std::filesystem::path& path) {
  return "'" + path.string() + "'";
}

[[noreturn]] void throw_errno(const std::filesystem::path& directory, const std::string& what,
                              int error) {
  if (error == EACCES || error == EPERM || error == EROFS) {
    throw EngineError("The data directory " + quoted(directory) +
                      " is not writable: " + std::strerror(error) + ".");
  }
  throw EngineError("The data directory " + quoted(directory) + " cannot be used: " + what + ": " +
                    std::strerror(error) + ".");
}

void sync_directory(const std::filesystem::path& directory, const std::filesystem::path& named) {
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) throw_errno(named, "open", errno);
  const int failed = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  if (failed != 0) throw_errno(named, "fsync", failed);
}

void make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  const bool created = std::filesystem::create_directories(directory, error);
  if (error) throw_errno(directory, "cannot be created", error.value());
  if (!std::filesystem::is_directory(directory, error)) throw_errno(directory, "open", ENOTDIR);
  if (!created) return;
  const std::filesystem::path parent =
      std::filesystem::absolute(directory).lexically_normal().parent_path();
  // A trailing slash makes the directory its own parent; syncing it does no harm.
  if (!parent.empty()) sync_directory(parent, directory);
}

// Held until the process ends or the file is closed.
int lock_directory(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "LOCK";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) throw_errno(directory, "LOCK", errno);
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  const int error = errno;
  ::close(file);
  if (error == EWOULDBLOCK) {
    throw EngineError("The data directory " + quoted(directory) + " is in use by another process.");
  }
  throw_errno(directory, "lock", error);
}

void write_format(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "FORMAT";
  const std::filesystem::path fresh = directory / "FORMAT.new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw_errno(directory, "FORMAT", errno);
  const std::string text = std::string(kFormatHead) + std::to_string(kFormat) + "\n";
  const bool written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  if (!written) throw_errno(directory, "FORMAT", error);
  if (::rename(fresh.c_str(), path.c_str()) != 0) throw_errno(directory, "FORMAT", errno);
  sync_directory(directory, directory);
}

// The format file comes before the first data, so data without it is not ours or not whole.
void check_format(const std::filesystem::path& directory, const std::filesystem::path& data) {
  const std::filesystem::path path = directory / "FORMAT";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    if (std::filesystem::exists(data / "CURRENT", error)) {
      throw EngineError("The data directory " + quoted(directory) +
                        " is damaged: it has data but no file FORMAT.");
    }
    write_format(directory);
    return;
  }
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  int format = 0;
  if (text.starts_with(kFormatHead) && text.size() < kFormatHead.size() + 9) {
    for (const char c : text.substr(kFormatHead.size())) {
      if (c < '0' || c > '9') {
        format = 0;
        break;
      }
      format = format * 10 + (c - '0');
    }
  }
  if (format <= 0)
    throw EngineError("The data directory " + quoted(directory) +
                      " is damaged: its file FORMAT is.");
  if (format > kFormat) {
    throw EngineError("The data directory " + quoted(directory) +
                      " was written by a newer version of Stator (format " +
                      std::to_string(format) + ", this one knows up to " + std::to_string(kFormat) +
                      ").");
  }
}

// What the store has to say goes to the process's log. A file of its own would be one more to fill
// a disk, and to fail when it is full.
class StoreLog final : public rocksdb::Logger {
 public:
  StoreLog() : Logger(rocksdb::WARN_LEVEL) {}
  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    Logv(rocksdb::INFO_LEVEL, format, arguments);
  }
  void Logv(const rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    // The header's level is above all others.
    if (level < rocksdb::WARN_LEVEL || level >= rocksdb::HEADER_LEVEL) return;
    std::array<char, 1000> text;
    std::vsnprintf(text.data(), text.size(), format, arguments);
    std::string_view line(text.data());
    while (line.ends_with('\n')) line.remove_suffix(1);
    spdlog::log(level == rocksdb::WARN_LEVEL ? spdlog::level::warn : spdlog::level::err,
                "The store says: {}", line);
  }
};

// What goes wrong in the background is logged. A log that could not be written stays as it is:
// nothing may be written behind a hole.
class StoreEvents final : public rocksdb::EventListener {
 public:
  explicit StoreEvents(std::shared_ptr<std::atomic<bool>> has_files)
      : has_files_(std::move(has_files)) {}
  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
    has_files_->store(true);
  }
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* error) override {
    spdlog::error("The store reports: {}.", error->ToString());
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason, rocksdb::Status,
                            bool* auto_recovery) override {
    if (reason == rocksdb::BackgroundErrorReason::kWriteCallback ||
        reason == rocksdb::BackgroundErrorReason::kMemTable) {
      *auto_recovery = false;
    }
  }

 private:
  const std::shared_ptr<std::atomic<bool>> has_files_;
};

// The store keeps all its files open, see max_open_files below.
void raise_open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

rocksdb::Options make_options(const RocksdbOptions& options) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.optimize_filters_for_memory = true;
  table.format_version = 5;
  table.block_size = 8 * 1024;

  rocksdb::Options result;
  result.create_if_missing = true;
  result.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  result.write_buffer_size = options.write_buffer_bytes;
  result.max_write_buffer_number = 4;
  // One thread writes at a time.
  result.allow_concurrent_memtable_write = false;
  result.enable_write_thread_adaptive_yield = false;
  // A change reads the keys it holds, most of which are not in the memtable.
  result.memtable_whole_key_filtering = true;
  result.memtable_prefix_bloom_size_ratio = 0.02;

  result.level_compaction_dynamic_level_bytes = true;
  result.max_background_jobs = 2;
  const std::vector<rocksdb::CompressionType> supported = rocksdb::GetSupportedCompressions();
  const bool lz4 = std::count(supported.begin(), supported.end(), rocksdb::kLZ4Compression) > 0;
  result.compression = lz4 ? rocksdb::kLZ4Compression : rocksdb::kNoCompression;
  // What lives shortly is not worth compressing.
  result.compression_per_level = {rocksdb::kNoCompression, rocksdb::kNoCompression,
                                  result.compression};
  result.bottommost_compression = result.compression;
  result.bytes_per_sync = 1024 * 1024;
  // A read that must not wait for a disk needs every file to be open. Files grow with their level,
  // so they stay few.
  result.max_open_files = -1;
  result.target_file_size_base = options.write_buffer_bytes;
  result.target_file_size_multiplier = 2;
  result.max_bytes_for_level_base = 4 * options.write_buffer_bytes;
  result.skip_stats_update_on_db_open = true;
  result.paranoid_checks = true;

  result.info_log = std::make_shared<StoreLog>();
  result.info_log_level = rocksdb::WARN_LEVEL;
  result.max_manifest_file_size = 16 * 1024 * 1024;
  result.stats_dump_period_sec = 0;
  result.stats_persist_period_sec = 0;
  // A record cut off at the end of the log was never acknowledged. Any other damage must be seen:
  // what was written behind it was.
  result.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  result.avoid_flush_during_shutdown = false;
  if (options.durability == Durability::kOs) result.wal_bytes_per_sync = 1024 * 1024;
  return result;
}

}  // namespace

void throw_status(std::string_view doing, const rocksdb::Status& status) {
  throw EngineError(std::string(doing) + ": " + status.ToString());
}

uint64_t decode_big_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (const char c : bytes) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

void append_big_endian(std::string& to, uint64_t value, size_t bytes) {
  for (size_t i = bytes; i-- > 0;) to.push_back(static_cast<char>(value >> (8 * i)));
}

Store::Store(const RocksdbOptions& options)
    : clock_(options.clock != nullptr ? *options.clock : system_clock_),
      durability_(options.durability),
      has_files_(std::make_shared<std::atomic<bool>>(false)) {
  try {
    open(options);
  } catch (...) {
    db_.reset();
    if (lock_file_ >= 0) ::close(lock_file_);
    throw;
  }
}

void Store::open(const RocksdbOptions& options) {
  rocksdb::Options rocksdb_options = make_options(options);
  rocksdb_options.listeners.push_back(std::make_shared<StoreEvents>(has_files_));
  rocksdb::DB* db = nullptr;
  if (durability_ == Durability::kMemory) {
    env_.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
    rocksdb_options.env = env_.get();
    env_->CreateDirIfMissing("/memory");
    const rocksdb::Status status = rocksdb::DB::Open(rocksdb_options, "/memory", &db);
    if (!status.ok()) throw_status("The store in memory cannot be opened", status);
    db_.reset(db);
    return;
  }

  const std::filesystem::path& directory = options.directory;
  const std::filesystem::path data = directory / "rocksdb";
  make_directory(directory);
  lock_file_ = lock_directory(directory);
  check_format(directory, data);
  make_directory(data);
  raise_open_files_limit();
  rocksdb::Status status = rocksdb::DB::Open(rocksdb_options, data.string(), &db);
  if (status.IsCorruption()) {
    // The machine may have stopped in the middle of a flush and kept some later part of a commit
    // but not an earlier one. And without flushes any part of the log may be missing.
    const bool torn = only_last_record_is_torn(data);
    if (torn || durability_ == Durability::kOs) {
      spdlog::warn(
          "The log in {} {}: {}.", quoted(directory),
          torn ? "ends in the middle of a commit that was never acknowledged, which is dropped"
               : "is damaged, and what was written after that is lost",
          status.ToString());
      rocksdb_options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
      status = rocksdb::DB::Open(rocksdb_options, data.string(), &db);
    }
  }
  if (status.IsCorruption()) {
    throw EngineError(
        "The data directory " + quoted(directory) + " is damaged: " + status.ToString() +
        " (with durability os it opens without what was written after a damage of the log).");
  }
  if (!status.ok()) {
    throw EngineError("The data directory " + quoted(directory) +
                      " cannot be opened: " + status.ToString() + ".");
  }
  db_.reset(db);

  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  if (!files.empty()) has_files_->store(true);
  std::string version;
  try {
    if (get(false, nullptr, kVersionCeilingKey, version) == Found::kValue)
      opened_version_ = decode_big_endian(version);
  } catch (const EngineError& error) {
    throw EngineError("The data directory " + quoted(directory) + " is damaged: " + error.what() +
                      ".");
  }
}

Store::~Store() {
  if (db_ != nullptr && durability_ != Durability::kMemory && !failed_.load()) {
    // Everything acknowledged is in the log already; this only makes the next start fast, so a
    // failure is no loss.
    uint64_t bytes = 0;
    if (db_->GetIntProperty(rocksdb::DB::Properties::kCurSizeActiveMemTable, &bytes) &&
        bytes > kFlushAtCloseBytes) {
      db_->Flush(rocksdb::FlushOptions());
    }
    if (durability_ == Durability::kOs) db_->FlushWAL(true);
  }
  if (db_ != nullptr) db_->Close();
  db_.reset();
  if (lock_file_ >= 0) ::close(lock_file_);
}

void Store::write_metrics(metrics::Text& text) {
  text.family("stator_engine_reads_total", "counter",
              "Records looked up, by where they were found: memory is the cache and what is not in "
              "files yet.");
  text.sample({{"from", "memory"}}, memory_reads_.value());
  text.sample({{"from", "disk"}}, disk_reads_.value());
  struct Property {
    const char* property;
    const char* name;
    const char* help;
  };
  static constexpr Property kProperties[] = {
      {"rocksdb.block-cache-usage", "stator_engine_cache_used_bytes", "Block cache in use."},
      {"rocksdb.block-cache-capacity", "stator_engine_cache_capacity_bytes",
       "Size of the block cache."},
      {"rocksdb.cur-size-all-mem-tables", "stator_engine_memtable_bytes",
       "Newest records, in memory and in the log but not in files yet."},
      {"rocksdb.total-sst-files-size", "stator_engine_files_bytes", "Size of all data files."},
      {"rocksdb.live-sst-files-size", "stator_engine_live_files_bytes",
       "Size of the data files that hold what is current."},
      {"rocksdb.estimate-pending-compaction-bytes", "stator_engine_compaction_pending_bytes",
       "What compaction still has to rewrite, estimated."},
      {"rocksdb.num-running-compactions", "stator_engine_compactions_running",
       "Compactions under way."},
      {"rocksdb.num-running-flushes", "stator_engine_memtable_flushes_running",
       "Memory tables being written to files."},
      {"rocksdb.actual-delayed-write-rate", "stator_engine_delayed_write_rate_bytes",
       "Bytes a second to which writes are slowed down; 0 if they are not."},
      {"rocksdb.is-write-stopped", "stator_engine_writes_stopped",
       "1 while writes wait for compaction."},
      {"rocksdb.num-snapshots", "stator_engine_views", "Consistent views that are open."},
  };
  for (const Property& property : kProperties) {
    uint64_t value = 0;
    if (db_->GetIntProperty(property.property, &value))
      text.gauge(property.name, property.help, static_cast<double>(value));
  }
}

Store::Found Store::get(bool cached, const rocksdb::Snapshot* snapshot, std::string_view key,
                        std::string& value) {
  const Found found = look_up(cached, snapshot, key, value);
  if (found != Found::kNotInMemory) {
    (cached || durability_ == Durability::kMemory ? memory_reads_ : disk_reads_).add();
  }
  return found;
}

Store::Found Store::look_up(bool cached, const rocksdb::Snapshot* snapshot, std::string_view key,
                            std::string& value) {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  // In memory every read is from memory.
  cached = cached && durability_ != Durability::kMemory;
  if (cached) options.read_tier = rocksdb::kBlockCacheTier;
  const rocksdb::Status status = db_->Get(options, rocksdb::Slice(key.data(), key.size()), &value);
  if (status.ok()) {
    // RocksDB before 9.1 answers with an empty value if the file that may hold the key is not open.
    return cached && value.empty() ? Found::kNotInMemory : Found::kValue;
  }
  if (status.IsNotFound()) return Found::kNothing;
  if (cached && status.IsIncomplete()) return Found::kNotInMemory;
  throw_status("The store cannot be read", status);
}

}  // namespace stator::engine
