// One thread of the server: an event loop, the connections that live on it, and their time-outs.
// Internal to net.
#pragma once

#include <atomic>
#include <chrono>
#include <coroutine>
#include <ctime>
#include <memory>
#include <thread>
#include <unordered_set>
#include <vector>

#include "common/executor.h"
#include "net/balance.h"
#include "net/event_loop.h"
#include "net/http_date.h"
#include "net/server.h"

namespace stator::net {

class Connection;
class Worker;

// All of a server's.
struct Workers {
  explicit Workers(unsigned threads) : balance(threads) {}

  std::vector<std::unique_ptr<Worker>> all;
  Balance balance;
  std::atomic<bool> draining{false};  // no connection changes its worker any more
};

// Everything but post(), adopt(), move_here(), make_room(), drain(), cut_off() and the counts runs
// on the worker's own thread.
class Worker final : public Executor {
 public:
  // The first one measures for all.
  Worker(const ServerOptions& options, MemoryBudget& memory, ServerCounts& counts, Workers& workers,
         unsigned index);
  ~Worker() override;

  void start(Handler& handler);
  void join();

  void post(std::coroutine_handle<> handle) override;
  // Serves a connection that was accepted. From any thread.
  void adopt(Descriptor socket, uint64_t number);
  // Where the connection with this number should be, if it is not here.
  Worker* other_home(uint64_t number) const;
  // A connection of `from`, between two requests, goes on here: `handle` is resumed. False if it
  // stays where it is since the server is about to end. On the thread of `from`.
  bool move_here(Connection& connection, Worker& from, std::coroutine_handle<> handle);
  // Closes a few of the connections that have been idle for a while, those of longest first.
  void make_room();
  // Closes idle connections, lets the others answer; the thread ends after the last one.
  void drain();
  // Closes all connections. The thread still ends only after the last request came back from its
  // handler.
  void cut_off();

  EventLoop& loop() { return loop_; }
  const ServerOptions& options() const { return options_; }
  MemoryBudget& memory() { return memory_; }
  ServerCounts& counts() { return counts_; }
  Handler& handler() { return *handler_; }
  bool is_draining() const { return draining_; }
  bool is_running() const { return running_.load(std::memory_order_acquire); }
  size_t connection_count() const { return count_.load(std::memory_order_relaxed); }
  HttpDate& date() { return date_; }

 private:
  void run();
  void serve(Descriptor socket, uint64_t number);
  void end(Connection* connection);
  void measure();
  void tick();
  void end_if_drained();

  const ServerOptions& options_;
  MemoryBudget& memory_;
  ServerCounts& counts_;
  Workers& workers_;
  const unsigned index_;
  Handler* handler_ = nullptr;
  EventLoop loop_;
  std::chrono::milliseconds tick_interval_;
  std::unordered_set<Connection*> connections_;  // owned
  std::atomic<size_t> count_{0};                 // with those that are on their way here
  std::atomic<clockid_t> processor_clock_{-1};
  // Of the first one: when it measured, and what it saw.
  SteadyTime measured_at_;
  std::vector<int64_t> processor_ns_;
  uint64_t requests_ = 0;
  std::atomic<bool> running_{false};
  bool draining_ = false;
  HttpDate date_;
  std::thread thread_;
};

}  // namespace stator::net
