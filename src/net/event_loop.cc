#include "net/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace stator::net {

namespace {

// Of one turn. What is left is told in the next.
constexpr int kMaxEvents = 64;

thread_local const EventLoop* running_here = nullptr;

int checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return fd;
}

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

EventLoop::EventLoop()
    : epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll")),
      wake_up_(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")),
      now_(std::chrono::steady_clock::now()) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;
  checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_up_.get(), &event), "epoll_ctl");
}

bool EventLoop::watch(int fd, Watcher& watcher, uint32_t events) {
  epoll_event event{};
  event.events = events | EPOLLET;
  event.data.ptr = &watcher;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void EventLoop::unwatch(int fd) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void EventLoop::post(std::coroutine_handle<> handle) {
  hand_over({handle, {}});
}

void EventLoop::call(std::function<void()> function) {
  hand_over({nullptr, std::move(function)});
}

void EventLoop::hand_over(Posted posted) {
  if (running_here == this) {
    own_.push_back(std::move(posted));
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    foreign_.push_back(std::move(posted));
  }
  wake();
}

// Either the loop sees that there is something before it sleeps, or this sees that it sleeps.
void EventLoop::wake() {
  has_foreign_.store(true);
  if (!asleep_.exchange(false)) return;
  const uint64_t one = 1;
  // It fails only if the loop has not read so many that it is awake anyway.
  [[maybe_unused]] const ssize_t written = ::write(wake_up_.get(), &one, sizeof one);
}

void EventLoop::call_after(std::chrono::milliseconds delay, std::function<void()> function) {
  timers_.emplace(now_ + delay, std::move(function));
}

// What is posted meanwhile waits for the next turn. False if there was nothing.
bool EventLoop::run_posted() {
  running_.swap(own_);
  if (has_foreign_.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(mutex_);
    has_foreign_.store(false, std::memory_order_relaxed);
    for (Posted& posted : foreign_) running_.push_back(std::move(posted));
    foreign_.clear();
  }
  if (running_.empty()) return false;
  for (Posted& posted : running_) {
    if (posted.handle) {
      posted.handle.resume();
    } else {
      posted.function();
    }
  }
  running_.clear();
  return true;
}

// Those that are due now; one that a timer starts anew waits for the next turn, however short.
void EventLoop::run_timers() {
  const auto end = timers_.upper_bound(now_);
  std::vector<std::function<void()>> due;
  for (auto timer = timers_.begin(); timer != end; ++timer) due.push_back(std::move(timer->second));
  timers_.erase(timers_.begin(), end);
  for (const std::function<void()>& function : due) function();
}

int EventLoop::wait_ms() const {
  if (timers_.empty()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first - now_);
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 60'000));
}

void EventLoop::run() {
  running_here = this;
  std::array<epoll_event, kMaxEvents> events;
  for (;;) {
    const bool ran = run_posted();
    if (stopped_ && !ran) break;
    run_timers();
    asleep_.store(true);
    const bool must_not_wait = !own_.empty() || stopped_ || has_foreign_.load();
    const int count =
        ::epoll_wait(epoll_.get(), events.data(), kMaxEvents, must_not_wait ? 0 : wait_ms());
    asleep_.store(false);
    now_ = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      others_wait_ = i + 1 < count;
      auto* const watcher = static_cast<Watcher*>(events[i].data.ptr);
      if (watcher != nullptr) {
        watcher->ready(events[i].events);
        continue;
      }
      uint64_t ignored = 0;
      [[maybe_unused]] const ssize_t read = ::read(wake_up_.get(), &ignored, sizeof ignored);
    }
    event_count_.store(event_count() + static_cast<uint64_t>(std::max(count, 0)),
                       std::memory_order_relaxed);
    if (after_turn_) after_turn_();
  }
  running_here = nullptr;
}

}  // namespace stator::net
