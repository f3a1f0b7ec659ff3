// Reads of the store's files that end instead of waiting for a disk. Internal to the engine.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>

namespace stator::engine {

// As long as it is there, reads of this thread through such a file system (below) find what they
// read in the system's memory, or fail.
class NoWait {
 public:
  NoWait();
  ~NoWait();
  NoWait(const NoWait&) = delete;
  NoWait& operator=(const NoWait&) = delete;

  // True if a read failed for that since it began, on this thread. Whoever sees it trusts only what
  // he had before: RocksDB before 8.6 may go on without the rows that it could not read.
  static bool has_ended_read();
};

// The system's files, read as NoWait says.
std::shared_ptr<rocksdb::FileSystem> files_that_need_not_wait();

}  // namespace stator::engine
