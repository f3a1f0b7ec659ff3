#include "net/server.h"

#include <fmt/format.h>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <future>
#include <stdexcept>
#include <thread>

#include "common/log.h"
#include "net/worker.h"

namespace stator::net {

namespace asio = boost::asio;
using boost::system::error_code;
using Tcp = asio::ip::tcp;

// Accepts connections and deals them out to the workers in turn. Not SO_REUSEPORT: the kernel would
// spread few connections unevenly, and a second server on the same port would not be noticed. Runs
// on the first worker's thread.
class Listener {
 public:
  Listener(const ServerOptions& options, std::vector<std::unique_ptr<Worker>>& workers)
      : options_(options),
        workers_(workers),
        acceptor_(workers.front()->context()),
        retry_(workers.front()->context()) {}

  void bind() {
    try {
      const Tcp::endpoint endpoint = resolve();
      acceptor_.open(endpoint.protocol());
      acceptor_.set_option(Tcp::acceptor::reuse_address(true));
      acceptor_.bind(endpoint);
    } catch (const boost::system::system_error& e) {
      throw_cannot_listen(e);
    }
  }

  void listen() {
    try {
      acceptor_.listen();
    } catch (const boost::system::system_error& e) {
      throw_cannot_listen(e);
    }
    asio::post(acceptor_.get_executor(), [this] { accept(); });
  }

  uint16_t port() const { return acceptor_.local_endpoint().port(); }

  // Returns once the port is closed: whoever sees a connection end because of a drain meets no
  // server there any more. Not from a worker's thread.
  void stop() {
    std::promise<void> closed;
    asio::post(acceptor_.get_executor(), [this, &closed] {
      stopped_ = true;
      error_code ignored;
      acceptor_.close(ignored);
      retry_.cancel();
      closed.set_value();
    });
    closed.get_future().wait();
  }

 private:
  Tcp::endpoint resolve() {
    error_code ec;
    const auto address = asio::ip::make_address(options_.host, ec);
    if (!ec) return {address, options_.port};
    Tcp::resolver resolver(workers_.front()->context());
    return *resolver.resolve(options_.host, std::to_string(options_.port)).begin();
  }

  [[noreturn]] void throw_cannot_listen(const boost::system::system_error& e) const {
    throw std::runtime_error(fmt::format("cannot listen on {}:{}: {}", options_.host, options_.port,
                                         e.code().message()));
  }

  bool is_full() const {
    size_t count = 0;
    for (const auto& worker : workers_) count += worker->connection_count();
    return count >= options_.max_connections;
  }

  void accept() {
    if (stopped_) return;
    if (is_full()) {
      accept_with_room();
      return;
    }
    Worker& worker = *workers_[next_];
    next_ = (next_ + 1) % workers_.size();
    acceptor_.async_accept(worker.context(), [this, &worker](const error_code& ec, Socket socket) {
      if (stopped_ || ec == asio::error::operation_aborted) return;
      if (!ec) {
        worker.counts().accepted.add();
        worker.adopt(std::move(socket));
        accept();
        return;
      }
      // Out of file descriptors or memory: that passes, and a loop without a pause would not help
      // it.
      spdlog::warn("cannot accept a connection: {}", ec.message());
      accept_after(std::chrono::milliseconds(100));
    });
  }

  // Idle connections give way only if somebody is there to take their place.
  void accept_with_room() {
    acceptor_.async_wait(Tcp::acceptor::wait_read, [this](const error_code& ec) {
      if (stopped_ || ec == asio::error::operation_aborted) return;
      if (is_full()) {
        for (auto& worker : workers_) worker->make_room();
      }
      accept_after(std::chrono::milliseconds(is_full() ? 10 : 0));
    });
  }

  void accept_after(std::chrono::milliseconds pause) {
    retry_.expires_after(pause);
    retry_.async_wait([this](const error_code& cancelled) {
      if (!cancelled) accept();
    });
  }

  const ServerOptions& options_;
  std::vector<std::unique_ptr<Worker>>& workers_;
  asio::basic_socket_acceptor<Tcp, asio::io_context::executor_type> acceptor_;
  asio::steady_timer retry_;
  size_t next_ = 0;
  bool stopped_ = false;
};

Server::Server(ServerOptions options)
    : options_(std::move(options)), memory_(options_.memory_limit_bytes) {
  if (options_.threads == 0) options_.threads = std::max(1u, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < options_.threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(options_, memory_, counts_));
  }
  listener_ = std::make_unique<Listener>(options_, workers_);
}

Server::~Server() {
  if (started_ && !ended_) {
    hurry();
    drain();
  }
  for (auto& worker : workers_) worker->join();
  // The listener's socket lives in the first worker's loop.
  listener_.reset();
}

void Server::bind() {
  listener_->bind();
}

void Server::start(Handler& handler) {
  listener_->listen();
  for (auto& worker : workers_) worker->start(handler);
  started_ = true;
}

uint16_t Server::port() const {
  return listener_->port();
}

size_t Server::connection_count() const {
  size_t count = 0;
  for (const auto& worker : workers_) count += worker->connection_count();
  return count;
}

void Server::write_metrics(metrics::Text& text) const {
  text.gauge("stator_connections", "Connections that are open.",
             static_cast<double>(connection_count()));
  text.gauge("stator_connections_max", "Connections that may be open at a time.",
             static_cast<double>(options_.max_connections));
  text.counter("stator_connections_accepted_total", "Connections accepted.",
               counts_.accepted.value());
  text.counter("stator_connections_gave_way_total",
               "Idle connections that were closed because others waited and there was no room.",
               counts_.gave_way.value());
  text.counter("stator_requests_refused_total",
               "Requests answered before they were read: not HTTP, too large, or too much memory.",
               counts_.refused.value());
  text.counter("stator_received_bytes_total", "Bytes received from clients.",
               counts_.received_bytes.value());
  text.counter("stator_sent_bytes_total", "Bytes sent to clients.", counts_.sent_bytes.value());
  text.gauge("stator_request_memory_bytes",
             "What large requests and answers not yet taken hold of --request-memory-mb.",
             static_cast<double>(memory_.taken_bytes()));
}

bool Server::drain() {
  if (!started_ || ended_) return true;
  draining_ = true;
  listener_->stop();
  for (auto& worker : workers_) worker->drain();
  const bool in_time = wait_for_workers(options_.drain_timeout);
  if (!in_time) {
    const size_t open = connection_count();
    if (open > 0) spdlog::warn("closing {} connections with requests under way", open);
    for (auto& worker : workers_) worker->cut_off();
  }
  // A handler is never abandoned: its coroutine is in other hands until it comes back.
  for (auto& worker : workers_) worker->join();
  ended_ = true;
  return in_time;
}

bool Server::wait_for_workers(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    bool any = false;
    for (const auto& worker : workers_) any = any || worker->is_running();
    if (!any) return true;
    if (hurried_ || std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace stator::net
