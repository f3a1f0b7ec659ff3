// Whether whoever reads the store's files has to wait for a disk, or finds them in the system's
// memory. Internal to the engine.
#pragma once

#include <rocksdb/perf_context.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>

namespace stator::engine {

// Thread-safe.
class FileReads {
 public:
  // True if none of the last ones waited: the next one is then not worth a change of threads.
  bool are_quick() const { return quick_.load(std::memory_order_relaxed) >= kEnough; }
  void saw(bool waited) {
    if (waited) {
      quick_.store(0, std::memory_order_relaxed);
    } else if (!are_quick()) {
      quick_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // Around one read, by one thread. A thread that waits for a disk gives its processor away.
  class Watch {
   public:
    explicit Watch(FileReads& reads)
        : reads_(reads), blocks_(blocks_read()), waits_(times_waited()) {}
    ~Watch() { reads_.saw(blocks_read() != blocks_ && times_waited() != waits_); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    static uint64_t blocks_read() { return rocksdb::get_perf_context()->block_read_count; }
    static long times_waited() {
      rusage used{};
      ::getrusage(RUSAGE_THREAD, &used);
      return used.ru_nvcsw;
    }

    FileReads& reads_;
    const uint64_t blocks_;
    const long waits_;
  };

 private:
  static constexpr uint32_t kEnough = 64;

  std::atomic<uint32_t> quick_{0};
};

}  // namespace stator::engine
