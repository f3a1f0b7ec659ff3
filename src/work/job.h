// Background work: what it is and the thread that does it. What is to be done is always in the
// catalog, so a crash in between loses nothing; the next start goes on.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "common/metrics.h"
#include "common/thread_pool.h"

namespace stator::work {

// One kind of work. Used by one thread.
class Job {
 public:
  virtual ~Job() = default;
  virtual const char* name() const = 0;
  // Does a bounded part of what there is to do. True if there may be more to do at once.
  virtual bool step() = 0;
};

// Owns a thread that runs its jobs in turn: again at once while there is work, else when woken or
// after a second (time alone makes work: a table is gone, an item expires).
class Background {
 public:
  explicit Background(std::vector<std::unique_ptr<Job>> jobs);
  ~Background();
  void wake();
  void write_metrics(metrics::Text& text) const;

 private:
  void run();
  bool run_jobs();

  struct Counts {
    metrics::Counter steps;  // that had something to do
    metrics::Counter failures;
    metrics::Counter busy_us;
  };

  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<Counts> counts_;  // one for each job
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = true;
  bool stopping_ = false;
  ThreadPool resume_{"stator-work",
                     1};  // where what a job awaits goes on: not on the engine's committer
  std::thread thread_;
};

}  // namespace stator::work
