// Gives back the space of erased ranges, in the background.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

#include "engine/engine.h"
#include "engine/rocksdb/store.h"

namespace stator::engine {

// Thread-safe. The thread starts with the first range. The destructor interrupts what is under way:
// what is not given back now is given back by the store's own compactions, later.
class Reclaimer {
 public:
  explicit Reclaimer(Store& store) : store_(store) {}
  ~Reclaimer();
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;

  void reclaim(Range range);

 private:
  struct Erased {
    Range range;
    uint64_t
        sequence;  // of the store, when it was asked for: who sees less may still read the range
  };

  void run();
  void give_back(const Erased& erased);
  bool wait_for_old_views(uint64_t sequence);

  Store& store_;
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Erased> queue_;
  std::thread thread_;
};

}  // namespace stator::engine
