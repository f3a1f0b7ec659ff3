#include "engine/rocksdb/gate.h"

#include <utility>
#include <vector>

namespace stator::engine {

Gate::Gate(size_t change_limit, size_t byte_limit, std::function<void()> on_wait)
    : change_limit_(change_limit == 0 ? 1 : change_limit),
      byte_limit_(byte_limit),
      on_wait_(std::move(on_wait)) {}

bool Gate::has_room() const {
  return inside_.load() < change_limit_ && bytes_.load() < byte_limit_;
}

// The common case takes no lock: a few may enter above the limit at the same moment, which does no
// harm.
bool Gate::try_enter() {
  if (waiting_.load() > 0 || !has_room()) return false;
  inside_.fetch_add(1);
  return true;
}

bool Gate::Enter::await_suspend(std::coroutine_handle<> handle) {
  {
    const std::lock_guard lock(gate_.mutex_);
    // From here on leave() sees somebody waiting, or this sees the room that leave() made.
    gate_.waiting_.fetch_add(1);
    if (gate_.waiters_.empty() && gate_.has_room()) {
      gate_.waiting_.fetch_sub(1);
      gate_.inside_.fetch_add(1);
      return false;
    }
    if (patience_.count() <= 0) {
      gate_.waiting_.fetch_sub(1);
      entered_ = false;
      return false;
    }
    deadline_ = std::chrono::steady_clock::now() + patience_;
    handle_ = handle;
    gate_.waiters_.push_back(this);
    gate_.on_wait_();
  }
  return true;
}

void Gate::leave(size_t changes, size_t bytes) {
  bytes_.fetch_sub(bytes);
  inside_.fetch_sub(changes);
  if (waiting_.load() == 0) return;
  std::vector<Enter*> entered;
  {
    const std::lock_guard lock(mutex_);
    while (!waiters_.empty() && has_room()) {
      entered.push_back(waiters_.front());
      waiters_.pop_front();
      waiting_.fetch_sub(1);
      inside_.fetch_add(1);
    }
  }
  for (Enter* enter : entered) resume_on(enter->home_, enter->handle_);
}

void Gate::expire(Time now) {
  if (!anyone_waits()) return;
  std::vector<Enter*> expired;
  {
    const std::lock_guard lock(mutex_);
    for (auto it = waiters_.begin(); it != waiters_.end();) {
      if ((*it)->deadline_ > now) {
        ++it;
        continue;
      }
      (*it)->entered_ = false;
      expired.push_back(*it);
      it = waiters_.erase(it);
      waiting_.fetch_sub(1);
    }
  }
  for (Enter* enter : expired) resume_on(enter->home_, enter->handle_);
}

}  // namespace stator::engine
