// What the store keeps beside RocksDB's own files: FORMAT says what wrote the directory, LOCK that
// somebody uses it, LOG-START which log was the newest when that was noted last. RocksDB's files
// are in rocksdb/.
#pragma once

#include <rocksdb/db.h>

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace stator::engine {

// Held by one process at a time, until this ends.
class DataDirectory {
 public:
  // Makes what is missing, unless `read_only`. Throws EngineError with one clear sentence.
  DataDirectory(const std::filesystem::path& directory, bool read_only);
  ~DataDirectory();
  DataDirectory(const DataDirectory&) = delete;
  DataDirectory& operator=(const DataDirectory&) = delete;

  // RocksDB's files.
  const std::filesystem::path& data() const { return data_; }
  // How many of them hold data, beside the logs.
  size_t data_file_count() const;
  // As it appears in messages.
  std::string name() const;
  // A store was opened here before: it is never made anew because a file of it is gone.
  bool was_opened() const { return log_start_.has_value(); }
  // A store always has a log that is at least as new as the one that was noted: without one, what
  // was written since is gone. And it has the file that names its parts. Throws EngineError.
  void check_is_whole() const;
  // Keeps the number of the current log, in the background, and again after each note_new_log():
  // nobody waits for its flushes. If the process or the machine ends before, the older number is
  // still true.
  void note_logs(rocksdb::DB& db);
  // A log was begun. From any thread; does not wait.
  void note_new_log();
  // Ends what note_logs began, once everything is noted; before the database ends.
  void finish();

 private:
  void lock(bool read_only);
  void check_format(bool read_only);
  void note_current_log(rocksdb::DB& db);

  const std::filesystem::path directory_;
  const std::filesystem::path data_;
  int lock_file_ = -1;
  std::optional<uint64_t> log_start_;  // then the noting thread's

  std::mutex mutex_;
  std::condition_variable wake_;
  bool has_new_log_ = true;
  bool ends_ = false;
  std::thread noting_;
};

}  // namespace stator::engine
