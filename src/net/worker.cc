#include "net/worker.h"

#include <pthread.h>

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
constexpr std::chrono::milliseconds kMeasure{20};

// What a thread has used of a processor; nothing if it is not there.
int64_t processor_ns(clockid_t clock) {
  timespec used{};
  if (clock == -1 || ::clock_gettime(clock, &used) != 0) return 0;
  return int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

}  // namespace

Worker::Worker(const ServerOptions& options, MemoryBudget& memory, ServerCounts& counts,
               Workers& workers, unsigned index)
    : options_(options), memory_(memory), counts_(counts), workers_(workers), index_(index) {
  if (index == 0) loop_.after_turns([this] { measure(); });
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
  clockid_t clock = -1;
  if (::pthread_getcpuclockid(::pthread_self(), &clock) == 0) processor_clock_ = clock;
  tick();
  loop_.run();
  running_.store(false, std::memory_order_release);
}

void Worker::post(std::coroutine_handle<> handle) {
  loop_.post(handle);
}

void Worker::adopt(Descriptor socket, uint64_t number) {
  count_.fetch_add(1);
  // A function can be copied, a socket cannot.
  auto held = std::make_shared<Descriptor>(std::move(socket));
  loop_.call([this, held, number] { serve(std::move(*held), number); });
}

void Worker::serve(Descriptor socket, uint64_t number) {
  if (draining_) {
    count_.fetch_sub(1);
    end_if_drained();
    return;
  }
  auto* connection = new Connection(*this, std::move(socket), number);
  connections_.insert(connection);
  stator::start(connection->run(), [connection](std::exception_ptr error) {
    if (error) {
      try {
        std::rethrow_exception(error);
      } catch (const std::exception& e) {
        spdlog::error("a connection ended: {}", e.what());
      }
    }
    connection->worker().end(connection);
  });
}

Worker* Worker::other_home(uint64_t number) const {
  const unsigned home = workers_.balance.home_of(number);
  return home == index_ ? nullptr : workers_.all[home].get();
}

bool Worker::move_here(Connection& connection, Worker& from, std::coroutine_handle<> handle) {
  // Either the server is seen to drain here, or it is seen there that one more is to come.
  count_.fetch_add(1);
  if (workers_.draining.load()) {
    count_.fetch_sub(1);
    // It may have been about to end but for this one.
    loop_.call([this] { end_if_drained(); });
    return false;
  }
  from.connections_.erase(&connection);
  from.count_.fetch_sub(1);
  loop_.call([this, &connection, handle] {
    connections_.insert(&connection);
    connection.arrive(*this);
    handle.resume();
  });
  return true;
}

void Worker::measure() {
  const SteadyTime now = loop_.now();
  if (now - measured_at_ < kMeasure) return;
  const auto elapsed = std::chrono::duration_cast<std::chrono::microseconds>(now - measured_at_);
  Balance::Load load;
  load.elapsed = elapsed;
  uint64_t requests = 0;
  processor_ns_.resize(workers_.all.size());
  for (size_t i = 0; i < processor_ns_.size(); ++i) {
    const Worker& worker = *workers_.all[i];
    const int64_t used_ns = processor_ns(worker.processor_clock_.load());
    const auto since_us = static_cast<double>(used_ns - processor_ns_[i]) / 1000;
    processor_ns_[i] = used_ns;
    const double share = since_us / static_cast<double>(elapsed.count());
    load.busiest = std::max(load.busiest, share);
    load.together += share;
    load.request_us += since_us;
    requests += worker.loop_.event_count();
  }
  load.request_us /= static_cast<double>(std::max<uint64_t>(requests - requests_, 1));
  requests_ = requests;
  const bool is_first = measured_at_ == SteadyTime();
  measured_at_ = now;
  if (!is_first) workers_.balance.measured(load);
}

void Worker::end(Connection* connection) {
  connections_.erase(connection);
  delete connection;
  count_.fetch_sub(1);
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
  if (draining_ && count_.load() == 0) loop_.stop();
}

}  // namespace stator::net
