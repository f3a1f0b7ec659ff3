// Erases the data of deleted tables in the background. What is to be erased is in the catalog, so a crash in between
// loses nothing: the next start goes on.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "catalog/catalog.h"
#include "store/store.h"

namespace stator::work {

// Owns one thread. The catalog and the store outlive it.
class Cleaner {
 public:
  Cleaner(catalog::Catalog& catalog, store::Store& store);
  ~Cleaner();
  // There may be work now.
  void wake();
  // One round on the caller's thread. Returns how many tables were erased.
  size_t run_once();

 private:
  void run();

  catalog::Catalog& catalog_;
  store::Store& store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = true;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace stator::work
