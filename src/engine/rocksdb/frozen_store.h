// Frozen copies of the rocksdb engine: checkpoints, which share the files of the store by hard
// links. Each is a folder beside the store's own, named after the copy.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/thread_pool.h"
#include "engine/engine.h"
#include "engine/rocksdb/store.h"

namespace stator::engine {

// Thread-safe. A copy at first costs its own log and nothing else; it grows to its full size as the
// store rewrites the files that they share.
class FrozenStore {
 public:
  // Removes what a crash has left half made.
  FrozenStore(Store& store, ThreadPool& readers);

  Task<void> freeze(std::string name, Range keep);
  std::unique_ptr<View> view(const std::string& name);
  Task<void> drop(std::string name);
  std::vector<std::string> names();

 private:
  std::string path(const std::string& name) const { return root_ + "/" + name; }
  void make(const std::string& name, const Range& keep);
  void sync_folder(const std::string& folder);
  void remove(const std::string& name);
  void remove_folder(const std::string& folder);

  Store& store_;
  ThreadPool& readers_;
  rocksdb::Env* const env_;
  const std::string root_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<rocksdb::DB>> open_;
  ThreadPool pool_{"frozen", 1};  // makes and drops copies, one at a time
};

}  // namespace stator::engine
