// run_blocking: the bridge from ordinary threads into tasks. Included by task.h.
#pragma once

#include <semaphore>

#include "common/task.h"

namespace stator {

template <typename T>
T run_blocking(Task<T> task) {
  std::binary_semaphore finished(0);
  std::exception_ptr failure;
  if constexpr (std::is_void_v<T>) {
    start(std::move(task), [&](std::exception_ptr error) {
      failure = error;
      finished.release();
    });
    finished.acquire();
    if (failure) std::rethrow_exception(failure);
  } else {
    std::optional<T> value;
    start(std::move(task), [&](std::exception_ptr error, std::optional<T> result) {
      failure = error;
      value = std::move(result);
      finished.release();
    });
    finished.acquire();
    if (failure) std::rethrow_exception(failure);
    return std::move(*value);
  }
}

}  // namespace stator
