// when_all: several tasks at once. Included by task.h.
#pragma once

#include <atomic>
#include <memory>

#include "common/executor.h"
#include "common/task.h"

namespace stator {

namespace task_detail {

// Shared by the tasks of one when_all. The last one to end resumes the waiter; the waiter itself
// counts as one, so that it is not resumed before it has suspended.
template <typename T>
struct Group {
  explicit Group(size_t count) : results(count), errors(count), left(count + 1) {}
  std::vector<std::optional<T>> results;
  std::vector<std::exception_ptr> errors;
  std::atomic<size_t> left;
  std::coroutine_handle<> waiter;
  Executor* executor = nullptr;

  // True for the one that ends the group.
  bool arrive() { return left.fetch_sub(1, std::memory_order_acq_rel) == 1; }
};

template <typename T>
struct GroupAwaiter {
  std::vector<Task<T>>& tasks;
  std::shared_ptr<Group<T>> group;

  bool await_ready() const noexcept { return tasks.empty(); }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> waiter) {
    for (Task<T>& task : tasks) task.note_waits_in(waiter.promise().waits);
    group->waiter = waiter;
    group->executor = Executor::current();
    // The waiter may be resumed, and this object gone, as soon as the last count is given back;
    // `own` outlives it.
    const std::shared_ptr<Group<T>> own = group;
    for (size_t i = 0; i < tasks.size(); ++i) {
      start(std::move(tasks[i]), [own, i](std::exception_ptr error, std::optional<T> result) {
        own->errors[i] = error;
        own->results[i] = std::move(result);
        if (own->arrive()) resume_on(own->executor, own->waiter);
      });
    }
    return !own->arrive();
  }
  void await_resume() const noexcept {}
};

}  // namespace task_detail

template <typename T>
Task<std::vector<T>> when_all(std::vector<Task<T>> tasks) {
  const auto group = std::make_shared<task_detail::Group<T>>(tasks.size());
  task_detail::GroupAwaiter<T> awaiter{tasks, group};
  co_await awaiter;
  std::vector<T> results;
  results.reserve(group->results.size());
  for (size_t i = 0; i < group->results.size(); ++i) {
    if (group->errors[i]) std::rethrow_exception(group->errors[i]);
    results.push_back(std::move(*group->results[i]));
  }
  co_return results;
}

}  // namespace stator
