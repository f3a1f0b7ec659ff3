// One thread's event loop over epoll: sockets that became ready, calls handed over by other
// threads, and a few timers. Written out rather than Asio's because a server's hot path is then two
// system calls a request: Asio tries every read before it waits for it. Internal to net.
#pragma once

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace stator::net {

using SteadyTime = std::chrono::steady_clock::time_point;

// A file descriptor that is closed at its end.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void close();

 private:
  int fd_;
};

// Runs on one thread. post() and call() may come from any.
class EventLoop {
 public:
  // Of a descriptor that is watched. It may unwatch or destroy itself, and no other, when it is
  // told.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    virtual void ready(uint32_t events) = 0;  // as epoll has them
  };

  // Throws std::system_error if the process has no descriptor left.
  EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Tells of each change to readable or writable, once. False if the system refuses. A descriptor
  // that is closed is not watched any more.
  bool watch(int fd, Watcher& watcher, uint32_t events);
  void unwatch(int fd);

  // Resumes or calls it soon, on the loop's thread, in the order in which they came from a thread.
  void post(std::coroutine_handle<> handle);
  void call(std::function<void()> function);
  // On the loop's thread.
  void call_after(std::chrono::milliseconds delay, std::function<void()> function);

  // True while others became ready in the same turn and have not been told yet: what is posted now
  // runs right after them.
  bool others_wait() const { return others_wait_; }

  // Called at the end of each turn. Before run().
  void after_turns(std::function<void()> function) { after_turn_ = std::move(function); }
  // Of descriptors that became ready, so far. From any thread.
  uint64_t event_count() const { return event_count_.load(std::memory_order_relaxed); }

  // The time at the beginning of this turn.
  SteadyTime now() const { return now_; }

  // Serves until stop() was called, from the loop's thread, and what was posted before is done.
  void run();
  void stop() { stopped_ = true; }

 private:
  struct Posted {
    std::coroutine_handle<> handle;
    std::function<void()> function;
  };

  void hand_over(Posted posted);
  void wake();
  bool run_posted();
  void run_timers();
  int wait_ms() const;

  Descriptor epoll_;
  Descriptor wake_up_;
  bool stopped_ = false;
  bool others_wait_ = false;
  SteadyTime now_;
  std::function<void()> after_turn_;
  std::atomic<uint64_t> event_count_{0};
  std::multimap<SteadyTime, std::function<void()>> timers_;
  std::vector<Posted> own_;  // posted by the loop's thread
  std::vector<Posted> running_;
  std::mutex mutex_;
  std::vector<Posted> foreign_;  // by others
  std::atomic<bool> has_foreign_{false};
  std::atomic<bool> asleep_{false};
};

}  // namespace stator::net
