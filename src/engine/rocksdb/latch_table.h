// Who may change what right now. A change holds a latch on every key it reads or writes: shared or
// alone.
//
// A latch belongs to the 64-bit hash of a key: two keys with the same hash share one, which costs a
// wait and nothing else. Latches are taken in the order of their hashes, so no circle of waiters
// can form. Each latch is first come, first served. Nothing blocks a thread: whoever must wait is a
// suspended coroutine, and goes on on the thread that released the last latch it needed.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/executor.h"
#include "engine/rocksdb/ready.h"

namespace stator::engine {

// Thread-safe.
class LatchTable {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The latches of one change, at rest in the frame of its coroutine while it waits. Used by one
  // thread at a time.
  class Request {
   public:
    // `home` is where the coroutine came from, or null.
    Request(const std::vector<std::string>& shared, const std::vector<std::string>& exclusive,
            std::chrono::milliseconds patience, Executor* home);
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

    // True if acquire() gave up; then nothing is held.
    bool timed_out() const { return timed_out_; }
    // True if the coroutine was suspended, and so may be on another thread than before.
    bool waited() const { return waited_; }

   private:
    friend class LatchTable;
    struct Latch {
      uint64_t hash;
      bool exclusive;
    };
    static constexpr size_t kInline = 8;

    Latch& at(size_t i) { return size_ <= kInline ? few_[i] : many_[i]; }

    std::array<Latch, kInline> few_;
    std::vector<Latch> many_;
    size_t size_ = 0;
    size_t held_ = 0;  // the first so many are held
    std::chrono::milliseconds patience_;
    Time deadline_;
    ReadyCoroutine waiter_;
    Request* next_ = nullptr;
    bool timed_out_ = false;
    bool waited_ = false;
  };

  // `on_wait` is called when somebody begins to wait, so that expire() gets called from then on.
  explicit LatchTable(std::function<void()> on_wait);
  ~LatchTable();
  LatchTable(const LatchTable&) = delete;
  LatchTable& operator=(const LatchTable&) = delete;

  class Acquire {
   public:
    Acquire(LatchTable& table, Request& request) : table_(table), request_(request) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> handle) const {
      request_.waiter_.handle = handle;
      return !table_.advance(request_);
    }
    // True if everything is held.
    bool await_resume() const noexcept { return !request_.timed_out_; }

   private:
    LatchTable& table_;
    Request& request_;
  };
  // co_await of it holds every latch, or none once patience ran out. Does not suspend if all are
  // free.
  Acquire acquire(Request& request) { return Acquire(*this, request); }

  // Gives back what is held and lets those go on, here and now, who waited for it.
  void release(Request& request);

  // Ends the waits whose time is over.
  void expire(Time now);
  bool anyone_waits() const { return waiting_.load() > 0; }

 private:
  struct Entry {
    uint64_t hash;
    uint32_t shared = 0;
    bool exclusive = false;
    Request* first = nullptr;
    Request* last = nullptr;
  };
  struct Shard;
  using Requests = std::vector<Request*>;
  using Ready = std::vector<ReadyCoroutine>;

  bool advance(Request& request);
  void grant(Entry& entry, Requests& granted);
  void release_held(Request& request, Requests& granted);
  void settle(Requests& granted, Ready& ready);
  Shard& shard_of(uint64_t hash);

  const std::function<void()> on_wait_;
  std::unique_ptr<Shard[]> shards_;
  std::atomic<int64_t> waiting_{0};
};

}  // namespace stator::engine
