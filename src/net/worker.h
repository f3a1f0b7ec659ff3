// One thread of the server: an event loop, the connections that live on it, and their time-outs.
// Internal to net.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <unordered_set>

#include "common/executor.h"
#include "net/event_loop.h"
#include "net/http_date.h"
#include "net/server.h"

namespace stator::net {

class Connection;

// Everything but post(), adopt(), make_room(), drain(), cut_off() and the counts runs on the
// worker's own thread.
class Worker final : public Executor {
 public:
  Worker(const ServerOptions& options, MemoryBudget& memory, ServerCounts& counts);
  ~Worker() override;

  void start(Handler& handler);
  void join();

  void post(std::coroutine_handle<> handle) override;
  // Serves a connection that was accepted. From any thread.
  void adopt(Descriptor socket);
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
  void serve(Descriptor socket);
  void end(Connection* connection);
  void tick();
  void end_if_drained();

  const ServerOptions& options_;
  MemoryBudget& memory_;
  ServerCounts& counts_;
  Handler* handler_ = nullptr;
  EventLoop loop_;
  std::chrono::milliseconds tick_interval_;
  std::unordered_set<Connection*> connections_;  // owned
  std::atomic<size_t> count_{0};
  std::atomic<bool> running_{false};
  bool draining_ = false;
  HttpDate date_;
  std::thread thread_;
};

}  // namespace stator::net
