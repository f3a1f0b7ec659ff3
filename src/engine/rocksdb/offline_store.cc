#include "engine/rocksdb/offline_store.h"

#include <rocksdb/convenience.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "engine/rocksdb/data_directory.h"
#include "engine/rocksdb/wal_tail.h"

namespace stator::engine {

namespace {

constexpr std::string_view kHalfMade = ".tmp";  // a frozen copy that was never finished

rocksdb::ReadOptions whole_store() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = 2 * 1024 * 1024;
  return options;
}

rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

std::unique_ptr<Store> open(const std::filesystem::path& directory, Durability durability) {
  RocksdbOptions options;
  options.directory = directory;
  options.durability = durability;
  options.read_only = true;
  options.block_cache_bytes = 64 * 1024 * 1024;
  return std::make_unique<Store>(options);
}

// Sorted by name.
std::vector<std::filesystem::path> children(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

// Frozen copies share files with the store: each is read once.
class FileReader {
 public:
  explicit FileReader(OfflineStore::Files& files) : files_(files) {}

  // Of the names in `live` only, if that is given; the others are left over.
  void read_folder(const std::filesystem::path& folder, const std::string& shown,
                   const std::set<std::string>* live = nullptr) {
    for (const std::filesystem::path& path : children(folder)) {
      if (path.extension() != ".sst") continue;
      if (live != nullptr && !live->contains(path.filename().string())) {
        files_.left_over.push_back(shown + path.filename().string());
        continue;
      }
      if (!is_new(path)) continue;
      ++files_.count;
      const rocksdb::Status status =
          rocksdb::VerifySstFileChecksum(options_, rocksdb::EnvOptions(), path.string());
      if (!status.ok())
        files_.damaged.push_back(shown + path.filename().string() + ": " + status.ToString());
    }
  }

 private:
  bool is_new(const std::filesystem::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) return true;
    return seen_.emplace(status.st_dev, status.st_ino).second;
  }

  OfflineStore::Files& files_;
  const rocksdb::Options options_;
  std::set<std::pair<dev_t, ino_t>> seen_;
};

}  // namespace

OfflineStore::OfflineStore(const std::filesystem::path& directory) : directory_(directory) {
  DataDirectory(directory, true);  // says whether there is something to look at
  try {
    store_ = open(directory, Durability::kSync);
    return;
  } catch (const EngineError& error) {
    failure_ = error.what();
  }
  // What is before the damage of a log can still be read.
  try {
    store_ = open(directory, Durability::kOs);
  } catch (const EngineError&) {
  }
}

OfflineStore::Files OfflineStore::read_files() {
  Files files;
  FileReader reader(files);
  const std::filesystem::path data = directory_ / "rocksdb";
  if (store_ != nullptr) {
    std::vector<rocksdb::LiveFileMetaData> known;
    store_->db().GetLiveFilesMetaData(&known);
    std::set<std::string> live;
    for (const rocksdb::LiveFileMetaData& file : known) live.insert(file.name.substr(1));
    reader.read_folder(data, "", &live);
  } else {
    reader.read_folder(data, "");
  }
  for (const std::string& copy : copies())
    reader.read_folder(directory_ / "backups" / copy, "backups/" + copy + "/");
  const uint64_t first_log = store_ != nullptr ? store_->first_log() : 0;
  for (const uint64_t number : log_numbers(data)) {
    if (number < first_log) files.left_over.push_back(log_path(data, number).filename().string());
  }
  for (const LogDamage& log : read_logs(data, first_log)) {
    ++files.count;
    if (log.is_torn) files.ends_in_a_torn_record = true;
    if (log.damaged_at && !log.is_torn) {
      files.damaged.push_back(log.name + ": the record at byte " + std::to_string(*log.damaged_at) +
                              " is not what was written");
    }
  }
  return files;
}

std::vector<std::string> OfflineStore::copies() const {
  std::vector<std::string> names;
  for (const std::filesystem::path& path : children(directory_ / "backups")) {
    if (!path.native().ends_with(kHalfMade)) names.push_back(path.filename().string());
  }
  return names;
}

std::optional<std::string> OfflineStore::get(std::string_view key) {
  std::string value;
  const bool found = store_->get(false, nullptr, key, value) == Store::Found::kValue;
  return found ? std::optional(std::move(value)) : std::nullopt;
}

void OfflineStore::for_each(std::string_view prefix, const Visit& visit) {
  const std::unique_ptr<rocksdb::Iterator> rows(store_->db().NewIterator(whole_store()));
  for (rows->Seek(slice(prefix)); rows->Valid() && rows->key().starts_with(slice(prefix));
       rows->Next()) {
    visit({rows->key().data(), rows->key().size()}, {rows->value().data(), rows->value().size()});
  }
  if (!rows->status().ok()) throw_status("The store cannot be read", rows->status());
}

std::optional<std::string> OfflineStore::first_key(std::string_view from) {
  const std::unique_ptr<rocksdb::Iterator> rows(store_->db().NewIterator(rocksdb::ReadOptions()));
  rows->Seek(slice(from));
  if (!rows->status().ok()) throw_status("The store cannot be read", rows->status());
  return rows->Valid() ? std::optional(rows->key().ToString()) : std::nullopt;
}

}  // namespace stator::engine
