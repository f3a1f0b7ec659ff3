// An HTTP/1.1 server: one listening socket, a few threads with an event loop each, connections
// spread over as many of them as there is work for. It knows framing, limits and time-outs; what a
// request means is the Handler's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/metrics.h"
#include "net/http_message.h"
#include "net/memory_budget.h"

namespace stator::net {

struct ServerOptions {
  std::string host = "127.0.0.1";  // an IP address, or a name that resolves to one
  uint16_t port = 8000;            // 0: any free one
  unsigned threads = 0;            // at the most; 0: as many as the hardware has
  // At this many open connections a further one waits until another ends. One that waits makes
  // those end that have had no request for longest.
  size_t max_connections = 10'000;
  size_t body_limit_bytes = 16 * 1024 * 1024;
  // Of large bodies and of answers not yet taken, all connections together. Beyond it requests get
  // 503.
  size_t memory_limit_bytes = size_t{1024} * 1024 * 1024;
  uint32_t header_limit_bytes = 16 * 1024;
  // From a request's first byte (or the connection's beginning) to the end of its header.
  std::chrono::milliseconds header_timeout{10'000};
  // Between two requests.
  std::chrono::milliseconds idle_timeout{300'000};
  // For a body to arrive and for an answer to be taken: this long, plus a second for each 64 KB
  // moved.
  std::chrono::milliseconds transfer_timeout{30'000};
  // How long drain() waits for requests under way.
  std::chrono::milliseconds drain_timeout{10'000};
};

struct Workers;
class Listener;

// What the connections of a server did since it started.
struct ServerCounts {
  metrics::Counter accepted;
  metrics::Counter gave_way;  // idle ones that were closed for others
  metrics::Counter refused;   // requests that are none, or too large, or too much at a time
  metrics::Counter received_bytes;
  metrics::Counter sent_bytes;
};

// Made, bound, started and drained on one thread.
class Server {
 public:
  explicit Server(ServerOptions options);
  // Ends the connections without waiting, if drain() did not before.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Takes the port. Throws std::runtime_error with one clear sentence if that is not possible.
  void bind();
  // Listens and serves. Throws like bind(). `handler` outlives the server.
  void start(Handler& handler);
  // The port it is bound to.
  uint16_t port() const;
  // Accepts no further connection, closes idle ones, lets requests under way be answered, then ends
  // the threads. True if all of them ended within the time-out; false if some had to be cut off.
  bool drain();
  // Makes a drain() under way give up waiting. From any thread.
  void hurry() { hurried_ = true; }

  size_t connection_count() const;
  bool is_draining() const { return draining_.load(); }
  // Shows connections and bytes, under names that begin with stator_. From any thread.
  void write_metrics(metrics::Text& text) const;

 private:
  bool wait_for_workers(std::chrono::milliseconds timeout);

  ServerOptions options_;
  MemoryBudget memory_;
  ServerCounts counts_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Listener> listener_;
  std::atomic<bool> hurried_{false};
  std::atomic<bool> draining_{false};
  bool started_ = false;
  bool ended_ = false;
};

}  // namespace stator::net
