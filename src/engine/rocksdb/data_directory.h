// What the store keeps beside RocksDB's own files: FORMAT says what wrote the directory, LOCK that
// somebody uses it, LOG-START which log was current at the last start. RocksDB's files are in
// rocksdb/.
#pragma once

#include <rocksdb/db.h>

#include <cstdint>
#include <filesystem>
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
  // A store always has a log that is at least as new as the one that was current at the last start:
  // without one, what was written since is gone. And it has the file that names its parts. Throws
  // EngineError.
  void check_is_whole() const;
  // Keeps the number of the current log, in the background: nobody waits for its flushes. If the
  // process or the machine ends before, the older number is still true.
  void note_log(rocksdb::DB& db);
  // Ends what note_log began; before the database ends.
  void finish();

 private:
  void lock(bool read_only);
  void check_format(bool read_only);

  const std::filesystem::path directory_;
  const std::filesystem::path data_;
  int lock_file_ = -1;
  std::optional<uint64_t> log_start_;
  std::thread noting_;
};

}  // namespace stator::engine
