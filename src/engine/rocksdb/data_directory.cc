#include "engine/rocksdb/data_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <rocksdb/env.h>
#include <rocksdb/transaction_log.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string_view>
#include <system_error>

#include "common/log.h"
#include "engine/engine.h"

namespace stator::engine {

namespace {

// Raised whenever an older program could not read what this one writes.
constexpr int kFormat = 1;
constexpr std::string_view kFormatHead = "stator-rocksdb-format ";
constexpr std::string_view kLogStartHead = "stator-log-start ";

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

[[noreturn]] void throw_no_data(const std::filesystem::path& directory) {
  throw EngineError("The directory " + quoted(directory) + " holds no data of Stator.");
}

void sync_directory(const std::filesystem::path& directory, const std::filesystem::path& named) {
  const int file = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) throw_errno(named, "open", errno);
  const int failed = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  if (failed != 0) throw_errno(named, "fsync", failed);
}

// True if it was not there.
bool make_directory(const std::filesystem::path& directory) {
  std::error_code error;
  const bool created = std::filesystem::create_directories(directory, error);
  if (error) throw_errno(directory, "cannot be created", error.value());
  if (!std::filesystem::is_directory(directory, error)) throw_errno(directory, "open", ENOTDIR);
  return created;
}

// So that a directory that was made stays. One whose parent may not be opened was made by others.
void sync_parent(const std::filesystem::path& directory) {
  std::filesystem::path path = std::filesystem::absolute(directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // a slash at its end
  if (::access(path.parent_path().c_str(), R_OK) == 0)
    sync_directory(path.parent_path(), directory);
}

// Replaces a file of one line as a whole; after `before_it_is_there`.
void write_line(
    const std::filesystem::path& directory, const std::string& name, const std::string& line,
    const std::function<void()>& before_it_is_there = [] {}) {
  const std::filesystem::path path = directory / name;
  const std::filesystem::path fresh = directory / (name + ".new");
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) throw_errno(directory, name, errno);
  const std::string text = line + "\n";
  const bool written =
      ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  if (!written) throw_errno(directory, name, error);
  before_it_is_there();
  if (::rename(fresh.c_str(), path.c_str()) != 0) throw_errno(directory, name, errno);
  sync_directory(directory, directory);
}

std::optional<uint64_t> read_log_start(const std::filesystem::path& directory) {
  std::ifstream file(directory / "LOG-START");
  std::string text;
  if (!std::getline(file, text) || !text.starts_with(kLogStartHead)) return std::nullopt;
  return std::strtoull(text.c_str() + kLogStartHead.size(), nullptr, 10);
}

}  // namespace

DataDirectory::DataDirectory(const std::filesystem::path& directory, bool read_only)
    : directory_(directory), data_(directory / "rocksdb") {
  if (!read_only) {
    make_directory(directory_);
  } else if (std::error_code error; !std::filesystem::is_directory(data_, error)) {
    throw_no_data(directory_);
  }
  lock(read_only);
  try {
    check_format(read_only);
    if (!read_only && make_directory(data_)) sync_parent(data_);
    log_start_ = read_log_start(directory_);
  } catch (...) {
    if (lock_file_ >= 0) ::close(lock_file_);
    throw;
  }
}

size_t DataDirectory::data_file_count() const {
  std::error_code ignored;
  size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(data_, ignored))
    count += file.path().extension() == ".sst" ? 1 : 0;
  return count;
}

DataDirectory::~DataDirectory() {
  finish();
  if (lock_file_ >= 0) ::close(lock_file_);
}

std::string DataDirectory::name() const {
  return quoted(directory_);
}

// Held until the process ends or the file is closed.
void DataDirectory::lock(bool read_only) {
  const std::filesystem::path path = directory_ / "LOCK";
  const int flags = read_only ? O_RDONLY : O_RDWR | O_CREAT;
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (file < 0) {
    if (read_only && errno == ENOENT) return;  // nobody has used it since it was copied
    throw_errno(directory_, "LOCK", errno);
  }
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
    lock_file_ = file;
    return;
  }
  const int error = errno;
  ::close(file);
  if (error == EWOULDBLOCK)
    throw EngineError("The data directory " + name() + " is in use by another process.");
  throw_errno(directory_, "lock", error);
}

// The format file comes before the first data, so data without it is not ours or not whole.
void DataDirectory::check_format(bool read_only) {
  const std::filesystem::path path = directory_ / "FORMAT";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    if (std::filesystem::exists(data_ / "CURRENT", error)) {
      throw EngineError("The data directory " + name() +
                        " is damaged: it has data but no file FORMAT.");
    }
    if (read_only) throw_no_data(directory_);
    // Before the other, whose flush of the directory is then one for both.
    std::filesystem::create_directory(data_, error);
    write_line(directory_, "FORMAT", std::string(kFormatHead) + std::to_string(kFormat),
               [this] { sync_parent(directory_); });
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
    throw EngineError("The data directory " + name() + " is damaged: its file FORMAT is.");
  if (format > kFormat) {
    throw EngineError(
        "The data directory " + name() + " was written by a newer version of Stator (format " +
        std::to_string(format) + ", this one knows up to " + std::to_string(kFormat) + ").");
  }
}

void DataDirectory::check_is_whole() const {
  if (!log_start_) return;
  std::error_code error;
  if (!std::filesystem::exists(data_ / "CURRENT", error)) {
    throw EngineError("The data directory " + name() +
                      " is damaged: its file rocksdb/CURRENT is missing.");
  }
  for (const auto& entry : std::filesystem::directory_iterator(data_, error)) {
    if (entry.path().extension() != ".log") continue;
    if (std::strtoull(entry.path().stem().c_str(), nullptr, 10) >= *log_start_) return;
  }
  throw EngineError(
      fmt::format("The data directory {} is damaged: its log {:06}.log, or a newer one, is "
                  "missing, and with it "
                  "what was written last.",
                  name(), *log_start_));
}

void DataDirectory::note_logs(rocksdb::DB& db) {
  noting_ = std::thread([this, &db] {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return has_new_log_ || ends_; });
      if (!has_new_log_) return;
      has_new_log_ = false;
      lock.unlock();
      note_current_log(db);
      lock.lock();
    }
  });
}

void DataDirectory::note_new_log() {
  const std::lock_guard lock(mutex_);
  has_new_log_ = true;
  wake_.notify_one();
}

void DataDirectory::note_current_log(rocksdb::DB& db) {
  std::unique_ptr<rocksdb::LogFile> log;
  if (!db.GetCurrentWalFile(&log).ok() || log->LogNumber() == log_start_) return;
  try {
    // The log is there before anything says so.
    std::unique_ptr<rocksdb::Directory> folder;
    rocksdb::Status status = db.GetEnv()->NewDirectory(data_.string(), &folder);
    if (status.ok()) status = folder->Fsync();
    if (!status.ok()) throw EngineError(status.ToString());
    write_line(directory_, "LOG-START",
               std::string(kLogStartHead) + std::to_string(log->LogNumber()));
    log_start_ = log->LogNumber();
  } catch (const EngineError& error) {
    spdlog::warn("The current log cannot be noted: {}", error.what());
  }
}

void DataDirectory::finish() {
  if (!noting_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
    wake_.notify_one();
  }
  noting_.join();
}

}  // namespace stator::engine
