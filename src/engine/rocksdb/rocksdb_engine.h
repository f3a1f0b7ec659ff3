// The embedded engine: the contract of engine.h on RocksDB.
#pragma once

#include <filesystem>
#include <memory>

#include "common/clock.h"
#include "engine/activity.h"
#include "engine/engine.h"

namespace rocksdb {
class FileSystem;
}

namespace stator::engine {

enum class Durability {
  kSync,    // acknowledged after the flush to disk; many changes share one flush
  kOs,      // survives the end of the process, not of the machine
  kMemory,  // no files; nothing is kept
};

struct RocksdbOptions {
  std::filesystem::path directory;  // unused with kMemory
  Durability durability = Durability::kSync;
  size_t block_cache_bytes = 256 * 1024 * 1024;
  size_t write_buffer_bytes = 64 * 1024 * 1024;
  int reader_threads = 4;        // serve reads that miss the cache
  const Clock* clock = nullptr;  // dates commits; the system's if null; outlives the engine
  Activity* activity = nullptr;  // counts flushes and compactions; outlives the engine
  size_t queue_limit = 16'384;   // changes queued for the committer; a further one waits
  // Opens what is there without writing anything; every change fails. The directory must exist.
  bool read_only = false;
  // Tests only: the store's files go through this one.
  std::shared_ptr<rocksdb::FileSystem> file_system = nullptr;
};

// Opens or creates the store. Throws EngineError with one clear sentence: the directory is not
// writable, is in use by another process, was written by a newer version, or is damaged.
std::unique_ptr<Engine> open_rocksdb(RocksdbOptions options);

}  // namespace stator::engine
