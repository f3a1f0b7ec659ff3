#include "engine/rocksdb/frozen_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/log.h"
#include "engine/rocksdb/rocksdb_view.h"

namespace stator::engine {

namespace {

constexpr std::string_view kHalfMade = ".tmp";  // RocksDB's own suffix until a checkpoint is whole

// A copy is opened for a while beside the store: it gets little memory and does no work of its own.
rocksdb::Options small_options(rocksdb::Env* env) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(8 * 1024 * 1024);
  rocksdb::Options options;
  options.env = env;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.max_open_files = 64;
  options.max_file_opening_threads = 1;
  options.write_buffer_size = 1024 * 1024;
  options.disable_auto_compactions = true;
  options.skip_stats_update_on_db_open = true;
  options.skip_checking_sst_file_sizes_on_db_open = true;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.info_log_level = rocksdb::FATAL_LEVEL;
  options.keep_log_file_num = 1;
  // As in the store: RocksDB reads what the one names only if the other is asked to look at it.
  options.track_and_verify_wals_in_manifest = true;
  // The copied log may end in the middle of a commit that came too late for the copy.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  return options;
}

// The folder of copies beside that of the store.
std::string root_beside(const std::string& store) {
  return (std::filesystem::path(store).parent_path() / "backups").string();
}

class FrozenView final : public View {
 public:
  FrozenView(std::shared_ptr<rocksdb::DB> db, ThreadPool& readers)
      : db_(std::move(db)), readers_(readers) {}

  Task<std::optional<std::string>> get(std::string_view key) override {
    const std::vector<std::string> keys{std::string(key)};
    auto getting = get_many(keys);
    auto values = co_await getting;
    co_return std::move(values[0]);
  }

  Task<std::vector<std::optional<std::string>>> get_many(
      const std::vector<std::string>& keys) override {
    std::vector<std::optional<std::string>> values(keys.size());
    Executor* const home = Executor::current();
    SwitchTo to_reader(&readers_);
    co_await to_reader;
    rocksdb::Status failed;
    for (size_t i = 0; i < keys.size(); ++i) {
      std::string value;
      const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), keys[i], &value);
      if (status.ok()) {
        values[i] = std::move(value);
      } else if (!status.IsNotFound()) {
        failed = status;
      }
    }
    SwitchTo to_home(home);
    co_await to_home;
    if (!failed.ok()) throw_status("A backup cannot be read", failed);
    co_return values;
  }

  Task<Rows> scan(Range range, Direction direction, ScanLimit limit) override {
    Rows rows;
    if (range.end > kReservedPrefix) range.end = kReservedPrefix;
    if (range.begin >= range.end) co_return rows;
    Executor* const home = Executor::current();
    SwitchTo to_reader(&readers_);
    co_await to_reader;
    std::exception_ptr error;
    try {
      rows = read_rows(*db_, nullptr, range, direction, limit);
    } catch (...) {
      error = std::current_exception();
    }
    SwitchTo to_home(home);
    co_await to_home;
    if (error) std::rethrow_exception(error);
    co_return rows;
  }

 private:
  const std::shared_ptr<rocksdb::DB> db_;
  ThreadPool& readers_;
};

}  // namespace

FrozenStore::FrozenStore(Store& store, ThreadPool& readers)
    : store_(store),
      readers_(readers),
      env_(store.db().GetEnv()),
      root_(root_beside(store.db().GetName())) {
  std::vector<std::string> children;
  env_->GetChildren(root_, &children);
  for (const std::string& child : children) {
    if (child.ends_with(kHalfMade)) remove_folder(path(child));
  }
}

Task<void> FrozenStore::freeze(std::string name, Range keep) {
  Executor* const home = Executor::current();
  SwitchTo away(&pool_);
  co_await away;
  std::exception_ptr error;
  try {
    make(name, keep);
  } catch (...) {
    error = std::current_exception();
  }
  SwitchTo to_home(home);
  co_await to_home;
  if (error) std::rethrow_exception(error);
}

void FrozenStore::make(const std::string& name, const Range& keep) {
  if (store_.is_stopped()) throw EngineError("The store cannot be copied: it is not written to");
  env_->CreateDirIfMissing(root_);
  sync_folder(std::filesystem::path(root_).parent_path().string());
  rocksdb::Checkpoint* made = nullptr;
  rocksdb::Status status = rocksdb::Checkpoint::Create(&store_.db(), &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  // Everything in memory is written out first, so that the copy shares it too.
  if (status.ok()) status = checkpoint->CreateCheckpoint(path(name), 0);
  if (!status.ok()) {
    remove(name);
    throw_status("The store cannot be copied", status);
  }
  // Files that hold nothing of what is asked for need not be kept.
  rocksdb::DB* db = nullptr;
  status = rocksdb::DB::Open(small_options(env_), path(name), &db);
  if (!status.ok()) {
    remove(name);
    throw_status("The copy of the store cannot be opened", status);
  }
  const std::unique_ptr<rocksdb::DB> copy(db);
  const rocksdb::Slice begin(keep.begin);
  const rocksdb::Slice end(keep.end);
  rocksdb::DeleteFilesInRange(db, db->DefaultColumnFamily(), nullptr, &begin, false);
  rocksdb::DeleteFilesInRange(db, db->DefaultColumnFamily(), &end, nullptr, false);
  copy->Close();
  sync_folder(root_);
}

// What was made or renamed in a folder is there after the machine stopped only once the folder is
// flushed.
void FrozenStore::sync_folder(const std::string& folder) {
  std::unique_ptr<rocksdb::Directory> opened;
  rocksdb::Status status = env_->NewDirectory(folder, &opened);
  if (status.ok()) status = opened->Fsync();
  if (!status.ok()) throw_status("The folder of the backups cannot be flushed", status);
}

std::unique_ptr<View> FrozenStore::view(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<rocksdb::DB> db = open_[name].lock();
  if (!db) {
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status status =
        rocksdb::DB::OpenForReadOnly(small_options(env_), path(name), &opened);
    if (!status.ok()) {
      open_.erase(name);
      throw_status("The copy '" + name + "' of the store cannot be opened", status);
    }
    db.reset(opened);
    open_[name] = db;
  }
  return std::make_unique<FrozenView>(std::move(db), readers_);
}

Task<void> FrozenStore::drop(std::string name) {
  Executor* const home = Executor::current();
  SwitchTo away(&pool_);
  co_await away;
  remove(name);
  SwitchTo to_home(home);
  co_await to_home;
}

void FrozenStore::remove(const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    open_.erase(name);
  }
  // Under another name first: what is left of it after a crash is not taken for a copy.
  const std::string half = path(name) + std::string(kHalfMade);
  env_->RenameFile(path(name), half);
  remove_folder(half);
}

void FrozenStore::remove_folder(const std::string& folder) {
  std::vector<std::string> children;
  if (!env_->GetChildren(folder, &children).ok()) return;
  for (const std::string& child : children) {
    if (child != "." && child != "..") env_->DeleteFile(folder + "/" + child);
  }
  const rocksdb::Status status = env_->DeleteDir(folder);
  if (!status.ok()) spdlog::warn("{} cannot be removed: {}", folder, status.ToString());
}

std::vector<std::string> FrozenStore::names() {
  std::vector<std::string> children;
  env_->GetChildren(root_, &children);
  std::erase_if(children, [](const std::string& child) {
    return child == "." || child == ".." || child.ends_with(kHalfMade);
  });
  std::sort(children.begin(), children.end());
  return children;
}

}  // namespace stator::engine
