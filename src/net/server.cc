#include "net/server.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <stdexcept>
#include <thread>

#include "common/log.h"
#include "net/worker.h"

namespace stator::net {

namespace {

// Accepted at a time, so that a storm of connections does not hold up those that are there.
constexpr int kAcceptAtOnce = 64;

}  // namespace

// Accepts connections and deals them out to the workers. Not SO_REUSEPORT: the kernel would
// spread few connections unevenly, and a second server on the same port would not be noticed. Runs
// on the first worker's thread.
class Listener final : private EventLoop::Watcher {
 public:
  Listener(const ServerOptions& options, Workers& workers)
      : options_(options), workers_(workers), loop_(workers.all.front()->loop()) {}

  void bind() {
    const Address address = resolve();
    const auto* where = reinterpret_cast<const sockaddr*>(&address.storage);
    socket_ = Descriptor(::socket(where->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    if (!socket_.is_open() ||
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(socket_.get(), where, address.size) != 0) {
      throw_cannot_listen(std::strerror(errno));
    }
  }

  void listen() {
    if (::listen(socket_.get(), SOMAXCONN) != 0 || !loop_.watch(socket_.get(), *this, EPOLLIN))
      throw_cannot_listen(std::strerror(errno));
  }

  uint16_t port() const {
    Address address;
    ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.size);
    if (address.storage.ss_family == AF_INET6)
      return ntohs(reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in&>(address.storage).sin_port);
  }

  // Returns once the port is closed: whoever sees a connection end because of a drain meets no
  // server there any more. Not from a worker's thread.
  void stop() {
    std::promise<void> closed;
    loop_.call([this, &closed] {
      socket_.close();
      closed.set_value();
    });
    closed.get_future().wait();
  }

 private:
  struct Address {
    sockaddr_storage storage{};
    socklen_t size = sizeof storage;
  };

  Address resolve() const {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    const int failed =
        ::getaddrinfo(options_.host.c_str(), std::to_string(options_.port).c_str(), &hints, &found);
    if (failed != 0) throw_cannot_listen(::gai_strerror(failed));
    Address address;
    std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
    address.size = found->ai_addrlen;
    ::freeaddrinfo(found);
    return address;
  }

  [[noreturn]] void throw_cannot_listen(const char* why) const {
    throw std::runtime_error(
        fmt::format("cannot listen on {}:{}: {}", options_.host, options_.port, why));
  }

  bool is_full() const {
    size_t count = 0;
    for (const auto& worker : workers_.all) count += worker->connection_count();
    return count >= options_.max_connections;
  }

  void ready(uint32_t) override { accept(); }

  // Takes what waits. The loop tells of those who come later only when none is left here.
  void accept() {
    if (pausing_ || !socket_.is_open()) return;
    for (int i = 0; i < kAcceptAtOnce; ++i) {
      if (is_full()) return make_room();
      Descriptor taken(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (taken.is_open()) {
        const uint64_t number = next_++;
        Worker& worker = *workers_.all[workers_.balance.home_of(number)];
        worker.counts().accepted.add();
        worker.adopt(std::move(taken), number);
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // Out of file descriptors or memory: that passes, and a loop without a pause would not help
      // it.
      spdlog::warn("cannot accept a connection: {}", std::strerror(errno));
      return accept_after(std::chrono::milliseconds(100));
    }
    accept_after(std::chrono::milliseconds(0));
  }

  // Idle connections give way only if somebody is there to take their place.
  void make_room() {
    pollfd waiting{socket_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 0) != 1) return;  // the loop tells of the next one
    for (auto& worker : workers_.all) worker->make_room();
    accept_after(std::chrono::milliseconds(10));
  }

  void accept_after(std::chrono::milliseconds pause) {
    pausing_ = true;
    loop_.call_after(pause, [this] {
      pausing_ = false;
      accept();
    });
  }

  const ServerOptions& options_;
  Workers& workers_;
  EventLoop& loop_;
  Descriptor socket_;
  uint64_t next_ = 0;
  bool pausing_ = false;
};

Server::Server(ServerOptions options)
    : options_(std::move(options)), memory_(options_.memory_limit_bytes) {
  if (options_.threads == 0) options_.threads = std::max(1u, std::thread::hardware_concurrency());
  workers_ = std::make_unique<Workers>(options_.threads);
  for (unsigned i = 0; i < options_.threads; ++i) {
    workers_->all.push_back(std::make_unique<Worker>(options_, memory_, counts_, *workers_, i));
  }
  listener_ = std::make_unique<Listener>(options_, *workers_);
}

Server::~Server() {
  if (started_ && !ended_) {
    hurry();
    drain();
  }
  for (auto& worker : workers_->all) worker->join();
  // The listener's socket lives in the first worker's loop.
  listener_.reset();
}

void Server::bind() {
  listener_->bind();
}

void Server::start(Handler& handler) {
  listener_->listen();
  for (auto& worker : workers_->all) worker->start(handler);
  started_ = true;
}

uint16_t Server::port() const {
  return listener_->port();
}

size_t Server::connection_count() const {
  size_t count = 0;
  for (const auto& worker : workers_->all) count += worker->connection_count();
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
  workers_->draining = true;
  listener_->stop();
  for (auto& worker : workers_->all) worker->drain();
  const bool in_time = wait_for_workers(options_.drain_timeout);
  if (!in_time) {
    const size_t open = connection_count();
    if (open > 0) spdlog::warn("closing {} connections with requests under way", open);
    for (auto& worker : workers_->all) worker->cut_off();
  }
  // A handler is never abandoned: its coroutine is in other hands until it comes back.
  for (auto& worker : workers_->all) worker->join();
  ended_ = true;
  return in_time;
}

bool Server::wait_for_workers(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    bool any = false;
    for (const auto& worker : workers_->all) any = any || worker->is_running();
    if (!any) return true;
    if (hurried_ || std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace stator::net
