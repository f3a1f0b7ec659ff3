#include "engine/rocksdb/store.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/table.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "common/log.h"
#include "engine/rocksdb/indexed_memtable.h"
#include "engine/rocksdb/no_wait.h"
#include "engine/rocksdb/wal_tail.h"

namespace stator::engine {

namespace {

// At its end the store writes its memory out if there is more than this in it, so that the next
// start need not replay.
constexpr uint64_t kFlushAtCloseBytes = 8 * 1024 * 1024;

// To open so many takes several threads.
constexpr size_t kFilesWorthThreads = 64;

constexpr std::string_view kNoOptions = "options are not kept";

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
    // Each frozen copy makes it say so, and nothing is wrong.
    if (line.find("File Deletions ") != std::string_view::npos) return;
    // As is meant: see WithoutOptions.
    if (line.find(kNoOptions) != std::string_view::npos) return;
    // Whoever opens it says so himself.
    if (line.find("DB::Open() failed") != std::string_view::npos) return;
    spdlog::log(level == rocksdb::WARN_LEVEL ? spdlog::level::warn : spdlog::level::err,
                "The store says: {}", line);
  }
};

// RocksDB writes its options down at every start, flushes them, and reads them again to compare: a
// fifth of opening a small store. Nobody else reads them.
class WithoutOptions final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "WithoutOptions"; }
  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override {
    if (std::string_view(name).substr(name.rfind('/') + 1).starts_with("OPTIONS-"))
      return rocksdb::IOStatus::NotSupported(kNoOptions.data());
    return FileSystemWrapper::NewWritableFile(name, options, result, debug);
  }
};

// What goes wrong in the background is logged. A log that could not be written stays as it is:
// nothing may be written behind a hole.
class StoreEvents final : public rocksdb::EventListener {
 public:
  StoreEvents(std::shared_ptr<std::atomic<bool>> has_files,
              std::shared_ptr<std::atomic<bool>> stopped, Activity* activity,
              std::function<void()> on_new_log)
      : has_files_(std::move(has_files)),
        stopped_(std::move(stopped)),
        activity_(activity),
        on_new_log_(std::move(on_new_log)) {}
  // Memory that is to be written out has its log to itself: another one was begun.
  void OnMemTableSealed(const rocksdb::MemTableInfo&) override { on_new_log_(); }
  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
    has_files_->store(true);
    if (activity_ != nullptr) activity_->begin();
  }
  // Not called for a flush that failed, after which nothing is written anyway.
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override {
    if (activity_ != nullptr) activity_->end();
  }
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    if (activity_ != nullptr) activity_->begin();
  }
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override {
    if (activity_ != nullptr) activity_->end();
  }
  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override {
    if (is_of_log(reason)) stopped_->store(true);
    spdlog::error("The store reports: {}.", error->ToString());
  }
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason, rocksdb::Status,
                            bool* auto_recovery) override {
    if (is_of_log(reason)) *auto_recovery = false;
  }

 private:
  static bool is_of_log(rocksdb::BackgroundErrorReason reason) {
    return reason == rocksdb::BackgroundErrorReason::kWriteCallback ||
           reason == rocksdb::BackgroundErrorReason::kMemTable;
  }

  const std::shared_ptr<std::atomic<bool>> has_files_;
  const std::shared_ptr<std::atomic<bool>> stopped_;
  Activity* const activity_;
  const std::function<void()> on_new_log_;
};

// The store keeps all its files open, see max_open_files below.
void raise_open_files_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// RocksDB's own choice is parts of half a megabyte and more. An item of 400 KB, or what a file has
// to find its blocks by, then drives everything else out of its part: at 20 million items, 9 of 10
// processor seconds went into reading the same blocks again.
int cache_shard_bits(size_t capacity) {
  constexpr size_t kShardBytes = 32 * 1024 * 1024;
  constexpr int kMaxBits = 6;
  return std::min(static_cast<int>(std::bit_width(capacity / kShardBytes | 1)) - 1, kMaxBits);
}

rocksdb::Options make_options(const RocksdbOptions& options) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache =
      rocksdb::NewLRUCache(options.block_cache_bytes, cache_shard_bits(options.block_cache_bytes));
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  // A file's index and filter in blocks of their own: those of a large file would not fit.
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 8 * 1024;
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
  result.memtable_factory = std::make_shared<IndexedMemtableFactory>();

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
  // Starting sixteen threads takes longer than opening a few files.
  result.max_file_opening_threads = 1;
  result.target_file_size_base = options.write_buffer_bytes;
  result.target_file_size_multiplier = 2;
  result.max_bytes_for_level_base = 4 * options.write_buffer_bytes;
  result.skip_stats_update_on_db_open = true;
  result.paranoid_checks = true;
  // A log that is followed by another, once it is flushed, is named with its size among the parts.
  // (The file that names them must not be begun anew meanwhile: RocksDB before 7.10 could then name
  // a log that is not needed any more. It is at each start; its limit, 1 GB, is far away.)
  result.track_and_verify_wals_in_manifest = options.durability != Durability::kMemory;

  result.info_log = std::make_shared<StoreLog>();
  result.info_log_level = rocksdb::WARN_LEVEL;
  result.stats_dump_period_sec = 0;
  result.stats_persist_period_sec = 0;
  result.avoid_flush_during_shutdown = false;
  if (options.durability == Durability::kOs) result.wal_bytes_per_sync = 1024 * 1024;
  return result;
}

// What RocksDB says, without what it says twice. It looks for data files under a second name, and
// names that one.
std::string text_of(const rocksdb::Status& status) {
  std::string text = status.ToString();
  for (const std::string_view head : {"Corruption: ", "Corruption: ", "IO error: "}) {
    if (text.starts_with(head)) text.erase(0, head.size());
  }
  for (size_t at = text.find(".ldb"); at != std::string::npos; at = text.find(".ldb", at))
    text.replace(at, 4, ".sst");
  return text;
}

// The log that is named among the parts of the store and is not there, if that is what is wrong.
std::optional<uint64_t> missing_log(const rocksdb::Status& status) {
  static constexpr std::string_view kHead = "Missing WAL with log number: ";
  const std::string text = status.ToString();
  const size_t at = text.find(kHead);
  if (!status.IsCorruption() || at == std::string::npos) return std::nullopt;
  return std::strtoull(text.c_str() + at + kHead.size(), nullptr, 10);
}

[[noreturn]] void throw_not_opened(const DataDirectory& directory, const rocksdb::Status& status,
                                   const LogOrder& order) {
  if (!status.IsCorruption() && !status.IsPathNotFound()) {
    throw EngineError("The data directory " + directory.name() +
                      " cannot be opened: " + text_of(status) + ".");
  }
  if (const std::optional<uint64_t> log = missing_log(status)) {
    throw EngineError("The data directory " + directory.name() + " is damaged: its log " +
                      log_path("", *log).string() + " is missing.");
  }
  std::string what = text_of(status);
  bool is_log = order.found_gap();
  if (is_log) what = "records are missing in its log";
  for (const LogDamage& log : read_logs(directory.data(), order.first_log())) {
    if (!log.damaged_at || log.is_torn || is_log) continue;
    what = "its log " + log.name + " is not what was written, from byte " +
           std::to_string(*log.damaged_at) + " on";
    is_log = true;
  }
  if (is_log) what += " (with durability os it opens without what was written after that)";
  throw EngineError("The data directory " + directory.name() + " is damaged: " + what + ".");
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
      reads_can_end_(options.durability != Durability::kMemory && options.file_system == nullptr),
      has_files_(std::make_shared<std::atomic<bool>>(false)),
      stopped_(std::make_shared<std::atomic<bool>>(false)) {
  open(options);
}

void Store::open(const RocksdbOptions& options) {
  rocksdb::Options rocksdb_options = make_options(options);
  rocksdb_options.listeners.push_back(
      std::make_shared<StoreEvents>(has_files_, stopped_, options.activity, [this] {
        if (directory_) directory_->note_new_log();
      }));
  rocksdb::DB* db = nullptr;
  if (durability_ == Durability::kMemory) {
    memory_.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
    use_files(memory_->GetFileSystem(), rocksdb_options);
    env_->CreateDirIfMissing("/memory");
    const rocksdb::Status status = rocksdb::DB::Open(rocksdb_options, "/memory", &db);
    if (!status.ok()) throw_status("The store in memory cannot be opened", status);
    db_.reset(db);
    return;
  }

  use_files(options.file_system != nullptr ? options.file_system : files_that_need_not_wait(),
            rocksdb_options);
  open_files(options, rocksdb_options);

  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  if (!files.empty()) has_files_->store(true);
  std::string version;
  try {
    if (get(false, nullptr, kVersionCeilingKey, version) == Found::kValue)
      opened_version_ = decode_big_endian(version);
  } catch (const EngineError& error) {
    throw EngineError("The data directory " + directory_->name() + " is damaged: " + error.what() +
                      ".");
  }
  // Last, since its thread uses the database: one that does not open after all is gone before.
  if (!options.read_only) directory_->note_logs(*db_);
}

void Store::use_files(const std::shared_ptr<rocksdb::FileSystem>& files,
                      rocksdb::Options& options) {
  env_ = rocksdb::NewCompositeEnv(std::make_shared<WithoutOptions>(files));
  options.env = env_.get();
}

void Store::open_files(const RocksdbOptions& options, rocksdb::Options& rocksdb_options) {
  directory_.emplace(options.directory, options.read_only);
  const std::string data = directory_->data().string();
  directory_->check_is_whole();
  // A store that was once opened is never made anew because the file that names its parts is gone.
  if (options.read_only || directory_->was_opened()) rocksdb_options.create_if_missing = false;
  if (options.read_only) mark_failed();  // nothing is written, not even at the end
  raise_open_files_limit();
  if (directory_->data_file_count() >= kFilesWorthThreads)
    rocksdb_options.max_file_opening_threads = 16;
  if (durability_ == Durability::kSync && last_record_was_altered(data)) {
    throw EngineError("The data directory " + directory_->name() +
                      " is damaged: the last record of its log was changed after it was written "
                      "(with durability os it opens without that record).");
  }
  rocksdb::DB* db = nullptr;
  const auto open = [&](rocksdb::WALRecoveryMode mode) {
    rocksdb_options.wal_recovery_mode = mode;
    const bool ends = mode == rocksdb::WALRecoveryMode::kPointInTimeRecovery;
    log_order_ = std::make_unique<LogOrder>(directory_->data(),
                                            ends ? LogOrder::AtGap::kEnd : LogOrder::AtGap::kRefuse,
                                            durability_ == Durability::kOs);
    rocksdb_options.wal_filter = log_order_.get();
    return options.read_only ? rocksdb::DB::OpenForReadOnly(rocksdb_options, data, &db)
                             : rocksdb::DB::Open(rocksdb_options, data, &db);
  };
  // A record cut off at the end of the log was never acknowledged. Any other damage must be seen:
  // what was written behind it was.
  rocksdb::Status status = open(rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords);
  if (status.IsCorruption() && !missing_log(status)) {
    // The machine may have stopped in the middle of a flush and kept some later part of a commit
    // but not an earlier one. And without flushes any part of the log may be missing.
    const bool torn =
        !log_order_->found_gap() && only_last_record_is_torn(data, log_order_->first_log());
    if (torn || durability_ == Durability::kOs) {
      spdlog::warn(
          "The log in {} {}: {}.", directory_->name(),
          torn ? "ends in the middle of a commit that was never acknowledged, which is dropped"
               : "is damaged, and what was written after that is lost",
          log_order_->found_gap() ? "records are missing between two others" : status.ToString());
      // A log that is shorter than it was named is damaged too. (RocksDB cannot do without what is
      // named when it only reads.)
      if (!options.read_only) rocksdb_options.track_and_verify_wals_in_manifest = false;
      status = open(rocksdb::WALRecoveryMode::kPointInTimeRecovery);
    }
  }
  if (!status.ok()) throw_not_opened(*directory_, status, *log_order_);
  db_.reset(db);
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
  if (directory_) directory_->finish();
  if (db_ != nullptr) db_->Close();
  db_.reset();
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
  const uint64_t blocks_before = rocksdb::get_perf_context()->block_read_count;
  const Found found = look_up(cached, snapshot, key, value);
  if (found != Found::kNotInMemory) {
    const bool read_file = rocksdb::get_perf_context()->block_read_count != blocks_before;
    (read_file && durability_ != Durability::kMemory ? disk_reads_ : memory_reads_).add();
  }
  return found;
}

Store::Found Store::look_up(bool cached, const rocksdb::Snapshot* snapshot, std::string_view key,
                            std::string& value) {
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  // In memory every read is from memory.
  cached = cached && durability_ != Durability::kMemory;
  std::optional<NoWait> no_wait;
  if (cached && reads_can_end_) no_wait.emplace();
  if (cached && !reads_can_end_) options.read_tier = rocksdb::kBlockCacheTier;
  const rocksdb::Status status = db_->Get(options, rocksdb::Slice(key.data(), key.size()), &value);
  if (NoWait::has_ended_read()) return Found::kNotInMemory;
  if (status.ok()) {
    // RocksDB before 9.1 answers with an empty value if the file that may hold the key is not open.
    return cached && !reads_can_end_ && value.empty() ? Found::kNotInMemory : Found::kValue;
  }
  if (status.IsNotFound()) return Found::kNothing;
  if (cached && status.IsIncomplete()) return Found::kNotInMemory;
  throw_status("The store cannot be read", status);
}

}  // namespace stator::engine
