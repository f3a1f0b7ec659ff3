// Runs coroutines that became ready on this thread, one after another, without nesting them.
#pragma once

#include <coroutine>
#include <vector>

#include "common/executor.h"

namespace stator::engine {

struct ReadyCoroutine {
  std::coroutine_handle<> handle;
  Executor* home;  // where it came from, or null
};

// Resumes every coroutine of `ready` on this thread. A call from inside a coroutine that is being
// resumed here only adds to the list of the outer call: a chain of hand-overs of any length uses no
// stack. A thread serves only so many in a row; the rest goes to its homes, so that one key that
// everybody wants does not hold a network thread for ever.
void run_ready(const std::vector<ReadyCoroutine>& ready);

}  // namespace stator::engine
