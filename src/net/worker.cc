#include "net/worker.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "common/log.h"
#include "net/connection.h"

namespace stator::net {

namespace {

// A client that has just been answered most likely asks again at once.
constexpr std::chrono::milliseconds kNotYetIdle{1'000};
constexpr size_t kGiveWayAtOnce = 32;

}  // namespace

Worker::Worker(const ServerOptions& options, MemoryBudget& memory, ServerCounts& counts)
    : options_(options), memory_(memory), counts_(counts) {
  // A time-out is noticed late by a quarter of the shortest one.
  const auto shortest =
      std::min({options.header_timeout, options.idle_timeout, options.transfer_timeout});
  tick_interval_ =
      std::clamp(shortest / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(1000));
}

Worker::~Worker() {
  join();
}

void Worker::start(Handler& handler) {
  handler_ = &handler;
  running_ = true;
  thread_ = std::thread([this] { run(); });
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

void Worker::run() {
  const Executor::Scope scope(this);
  tick();
  loop_.run();
  running_.store(false, std::memory_order_release);
}

void Worker::post(std::coroutine_handle<> handle) {
  loop_.post(handle);
}

void Worker::adopt(Descriptor socket) {
  count_.fetch_add(1, std::memory_order_relaxed);
  // A function can be copied, a socket cannot.
  auto held = std::make_shared<Descriptor>(std::move(socket));
  loop_.call([this, held] { serve(std::move(*held)); });
}

void Worker::serve(Descriptor socket) {
  if (draining_) {
    count_.fetch_sub(1, std::memory_order_relaxed);
    return;
  }
  auto* connection = new Connection(*this, std::move(socket));
  connections_.insert(connection);
  stator::start(connection->run(), [this, connection](std::exception_ptr error) {
    if (error) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& e) {
        spdlog::error("a connection ended: {}", e.what());
      }
    }
    end(connection);
  });
}

void Worker::end(Connection* connection) {
  connections_.erase(connection);
  delete connection;
  count_.fetch_sub(1, std::memory_order_relaxed);
  end_if_drained();
}

void Worker::tick() {
  for (Connection* connection : connections_) connection->close_if_late(loop_.now());
  loop_.call_after(tick_interval_, [this] { tick(); });
}

void Worker::make_room() {
  loop_.call([this] {
    const SteadyTime latest = loop_.now() - kNotYetIdle;
    std::vector<std::pair<SteadyTime, Connection*>> idle;
    for (Connection* connection : connections_) {
      const std::optional<SteadyTime> since = connection->idle_since();
      if (since && *since <= latest) idle.emplace_back(*since, connection);
    }
    const auto end = idle.begin() + static_cast<ptrdiff_t>(std::min(idle.size(), kGiveWayAtOnce));
    std::partial_sort(idle.begin(), end, idle.end());
    for (auto one = idle.begin(); one != end; ++one) {
      counts_.gave_way.add();
      one->second->close();
    }
  });
}

void Worker::drain() {
  loop_.call([this] {
    draining_ = true;
    for (Connection* connection : connections_) connection->close_if_idle();
    end_if_drained();
  });
}

void Worker::cut_off() {
  loop_.call([this] {
    draining_ = true;
    for (Connection* connection : connections_) connection->close();
    end_if_drained();
  });
}

void Worker::end_if_drained() {
  if (draining_ && connections_.empty()) loop_.stop();
}

}  // namespace stator::net
