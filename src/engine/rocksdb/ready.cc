#include "engine/rocksdb/ready.h"

#include <cstddef>
#include <deque>

namespace stator::engine {

namespace {
constexpr size_t kServedInARow = 64;

struct Running {
  std::deque<ReadyCoroutine> list;
  bool active = false;
};
}  // namespace

void run_ready(const std::vector<ReadyCoroutine>& ready) {
  thread_local Running running;
  if (ready.empty()) return;
  running.list.insert(running.list.end(), ready.begin(), ready.end());
  if (running.active) return;
  running.active = true;
  for (size_t served = 0; !running.list.empty(); ++served) {
    const ReadyCoroutine next = running.list.front();
    running.list.pop_front();
    resume_on(served < kServedInARow ? nullptr : next.home, next.handle);
  }
  running.active = false;
}

}  // namespace stator::engine
