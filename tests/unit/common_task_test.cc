#include "common/task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "common/thread_pool.h"
#include "common/waits.h"

namespace stator {
namespace {

// Resumes what was posted when the test says so, on the test's thread.
class Queue final : public Executor {
 public:
  void post(std::coroutine_handle<> handle) override { handles_.push_back(handle); }

  size_t run() {
    const Executor::Scope scope(this);
    size_t count = 0;
    while (!handles_.empty()) {
      const std::coroutine_handle<> handle = handles_.front();
      handles_.pop_front();
      handle.resume();
      ++count;
    }
    return count;
  }

 private:
  std::deque<std::coroutine_handle<>> handles_;
};

Task<int> value(int result) {
  co_return result;
}

Task<int> failure(std::string what) {
  throw std::runtime_error(what);
  co_return 0;
}

Task<void> nothing() {
  co_return;
}

Task<void> void_failure(std::string what) {
  throw std::runtime_error(what);
  co_return;
}

// Ends on a thread of `pool`.
Task<int> value_on(ThreadPool& pool, int result) {
  co_await SwitchTo(&pool);
  co_return result;
}

Task<int> failure_on(ThreadPool& pool, std::string what) {
  co_await SwitchTo(&pool);
  throw std::runtime_error(what);
}

template <typename F>
std::string message_of(F run) {
  try {
    run();
    return "no exception";
  } catch (const std::runtime_error& error) {
    return error.what();
  }
}

TEST(Task, RunsOnlyOnceItIsAwaited) {
  bool ran = false;
  const auto body = [&]() -> Task<int> {
    ran = true;
    co_return 1;
  };
  {
    const Task<int> dropped = body();
    EXPECT_FALSE(ran);
  }
  EXPECT_FALSE(ran);
  EXPECT_EQ(run_blocking(body()), 1);
  EXPECT_TRUE(ran);
}

TEST(Task, GivesItsValueToTheOneThatAwaitsIt) {
  const auto sum = []() -> Task<int> {
    const int first = co_await value(1);
    Task<int> second = value(2);
    co_return first + co_await second;
  };
  EXPECT_EQ(run_blocking(sum()), 3);
}

TEST(Task, GivesValuesThatCannotBeCopied) {
  const auto make = []() -> Task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); };
  EXPECT_EQ(*run_blocking(make()), 5);
}

TEST(Task, ThrowsInTheOneThatAwaitsIt) {
  const auto caught = []() -> Task<std::string> {
    std::string message;
    try {
      co_await failure("first");
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    try {
      co_await void_failure("second");
    } catch (const std::runtime_error& error) {
      message += error.what();
    }
    co_return message;
  };
  EXPECT_EQ(run_blocking(caught()), "firstsecond");
}

TEST(Task, IsMovedWithoutRunning) {
  Task<int> first = value(1);
  Task<int> second = std::move(first);
  Task<int> third;
  third = std::move(second);
  EXPECT_EQ(run_blocking(std::move(third)), 1);
  Task<int> replaced = value(2);
  replaced = value(3);
  EXPECT_EQ(run_blocking(std::move(replaced)), 3);
}

TEST(Task, FreesWhatItHoldsWhetherItRanOrNot) {
  const auto held = std::make_shared<int>(1);
  const auto body = [](std::shared_ptr<int> own) -> Task<int> { co_return *own; };
  EXPECT_EQ(run_blocking(body(held)), 1);
  EXPECT_EQ(held.use_count(), 1);
  { const Task<int> dropped = body(held); }
  EXPECT_EQ(held.use_count(), 1);
}

Task<int> depth(int left) {
  if (left == 0) co_return 0;
  const int below = co_await depth(left - 1);
  co_return below + 1;
}

TEST(Task, ChainsToADepthOfThousands) {
  EXPECT_EQ(run_blocking(depth(10'000)), 10'000);
}

TEST(RunBlocking, ThrowsWhatTheTaskThrew) {
  EXPECT_EQ(message_of([] { run_blocking(failure("a")); }), "a");
  EXPECT_EQ(message_of([] { run_blocking(void_failure("b")); }), "b");
  EXPECT_NO_THROW(run_blocking(nothing()));
}

TEST(RunBlocking, WaitsForATaskThatEndsOnAnotherThread) {
  ThreadPool pool("test", 2);
  EXPECT_EQ(run_blocking(value_on(pool, 4)), 4);
  EXPECT_EQ(message_of([&] { run_blocking(failure_on(pool, "there")); }), "there");
  const auto moved = [&]() -> Task<bool> {
    const auto before = std::this_thread::get_id();
    co_await SwitchTo(&pool);
    co_return before != std::this_thread::get_id() && Executor::current() == &pool;
  };
  EXPECT_TRUE(run_blocking(moved()));
}

TEST(Start, CallsBackOnceWithTheValueOrTheFailure) {
  int calls = 0;
  start(value(3), [&](std::exception_ptr error, std::optional<int> result) {
    ++calls;
    EXPECT_FALSE(error);
    EXPECT_EQ(result, 3);
  });
  start(failure("x"), [&](std::exception_ptr error, std::optional<int> result) {
    ++calls;
    EXPECT_TRUE(error);
    EXPECT_FALSE(result);
  });
  start(nothing(), [&](std::exception_ptr error) {
    ++calls;
    EXPECT_FALSE(error);
  });
  start(void_failure("y"), [&](std::exception_ptr error) {
    ++calls;
    EXPECT_TRUE(error);
  });
  EXPECT_EQ(calls, 4);
}

TEST(WhenAll, OfNothingIsEmpty) {
  EXPECT_TRUE(run_blocking(when_all(std::vector<Task<int>>())).empty());
}

TEST(WhenAll, GivesResultsInTheOrderOfTheTasks) {
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back(value(i));
  EXPECT_EQ(run_blocking(when_all(std::move(tasks))), (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(WhenAll, ThrowsTheFirstFailureInOrderOfTheTasks) {
  std::vector<Task<int>> tasks;
  tasks.push_back(value(1));
  tasks.push_back(failure("second"));
  tasks.push_back(failure("third"));
  EXPECT_EQ(message_of([&] { run_blocking(when_all(std::move(tasks))); }), "second");
}

TEST(WhenAll, WaitsForEveryTaskEvenIfSomeFail) {
  Queue queue;
  int ended = 0;
  const auto later = [&](bool fail) -> Task<int> {
    co_await SwitchTo(&queue);
    ++ended;
    if (fail) throw std::runtime_error("failed");
    co_return 1;
  };
  std::vector<Task<int>> tasks;
  tasks.push_back(failure("at once"));
  for (const bool fail : {true, false, false}) tasks.push_back(later(fail));
  std::string outcome;
  start(when_all(std::move(tasks)), [&](std::exception_ptr error, std::optional<std::vector<int>>) {
    outcome = message_of([&] { std::rethrow_exception(error); });
  });
  EXPECT_EQ(outcome, "");
  EXPECT_EQ(queue.run(), 3U);
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(outcome, "at once");
}

TEST(WhenAll, RunsItsTasksAtTheSameTime) {
  Queue queue;
  int started = 0;
  const auto body = [&]() -> Task<int> {
    ++started;
    co_await SwitchTo(&queue);
    co_return started;
  };
  std::vector<Task<int>> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(body());
  std::vector<int> results;
  start(when_all(std::move(tasks)),
        [&](std::exception_ptr, std::optional<std::vector<int>> all) { results = *all; });
  EXPECT_EQ(started, 3);
  queue.run();
  EXPECT_EQ(results, (std::vector<int>{3, 3, 3}));
}

TEST(WhenAll, GoesOnOnTheExecutorThatItWasAwaitedOn) {
  Queue home;
  ThreadPool pool("test", 4);
  std::atomic<bool> posted{false};
  std::vector<int> results;
  std::thread::id resumed_on;
  const auto waiter = [&]() -> Task<int> {
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 8; ++i) tasks.push_back(value_on(pool, i));
    results = co_await when_all(std::move(tasks));
    resumed_on = std::this_thread::get_id();
    co_return 0;
  };
  // Hands over to the test's thread through a post that other threads may make.
  class Home final : public Executor {
   public:
    Home(Queue& queue, std::atomic<bool>& posted) : queue_(queue), posted_(posted) {}
    void post(std::coroutine_handle<> handle) override {
      queue_.post(handle);
      posted_.store(true, std::memory_order_release);
      posted_.notify_one();
    }

   private:
    Queue& queue_;
    std::atomic<bool>& posted_;
  } executor(home, posted);
  bool done = false;
  {
    const Executor::Scope scope(&executor);
    start(waiter(), [&](std::exception_ptr error, std::optional<int>) { done = !error; });
  }
  if (!done) {
    posted.wait(false, std::memory_order_acquire);
    home.run();
  }
  EXPECT_TRUE(done);
  EXPECT_EQ(resumed_on, std::this_thread::get_id());
  EXPECT_EQ(results, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(WhenAll, HoldsUnderCompletionsRacingOnManyThreads) {
  ThreadPool pool("test", 4);
  for (int round = 0; round < 300; ++round) {
    std::vector<Task<int>> tasks;
    const int count = round % 9;
    for (int i = 0; i < count; ++i) {
      if (round % 4 == 3 && i >= 2) {
        tasks.push_back(failure_on(pool, "task " + std::to_string(i)));
      } else {
        tasks.push_back(i % 3 == 0 ? value(i) : value_on(pool, i));
      }
    }
    const bool fails = round % 4 == 3 && count > 2;
    std::vector<int> results;
    const std::string outcome =
        message_of([&] { results = run_blocking(when_all(std::move(tasks))); });
    ASSERT_EQ(outcome, fails ? "task 2" : "no exception");
    if (fails) continue;
    ASSERT_EQ(results.size(), static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) ASSERT_EQ(results[static_cast<size_t>(i)], i);
  }
}

TEST(WhenAll, Nests) {
  ThreadPool pool("test", 2);
  const auto sum = [&pool](int base) -> Task<int> {
    std::vector<Task<int>> tasks;
    for (int i = 0; i < 4; ++i) tasks.push_back(value_on(pool, base + i));
    int total = 0;
    for (const int part : co_await when_all(std::move(tasks))) total += part;
    co_return total;
  };
  std::vector<Task<int>> sums;
  for (int i = 0; i < 4; ++i) sums.push_back(sum(i * 10));
  EXPECT_EQ(run_blocking(when_all(std::move(sums))), (std::vector<int>{6, 46, 86, 126}));
}

TEST(Executor, IsTheCurrentOneForAScopeOfOneThread) {
  Queue outer;
  Queue inner;
  EXPECT_EQ(Executor::current(), nullptr);
  {
    const Executor::Scope scope(&outer);
    EXPECT_EQ(Executor::current(), &outer);
    {
      const Executor::Scope nested(&inner);
      EXPECT_EQ(Executor::current(), &inner);
      std::thread([] { EXPECT_EQ(Executor::current(), nullptr); }).join();
    }
    EXPECT_EQ(Executor::current(), &outer);
  }
  EXPECT_EQ(Executor::current(), nullptr);
}

Task<Waits*> own_waits() {
  OwnWaits own;
  Waits* const waits = co_await own;
  co_return waits;
}

Task<Waits*> waits_of_one_below(ThreadPool& pool) {
  SwitchTo to_pool(&pool);
  co_await to_pool;
  Task<Waits*> below = own_waits();
  Waits* const waits = co_await below;
  co_return waits;
}

Task<std::vector<Waits*>> waits_of_two_below(ThreadPool& pool) {
  std::vector<Task<Waits*>> tasks;
  tasks.push_back(waits_of_one_below(pool));
  tasks.push_back(own_waits());
  Task<std::vector<Waits*>> all = when_all(std::move(tasks));
  std::vector<Waits*> found = co_await all;
  co_return found;
}

TEST(Waits, AreHandedDownToAllThatATaskAwaits) {
  ThreadPool pool("test", 1);
  Waits waits;
  EXPECT_EQ(run_blocking(waits_of_one_below(pool)), nullptr);
  Task<Waits*> one = waits_of_one_below(pool);
  one.note_waits_in(&waits);
  EXPECT_EQ(run_blocking(std::move(one)), &waits);
  Task<std::vector<Waits*>> two = waits_of_two_below(pool);
  two.note_waits_in(&waits);
  EXPECT_EQ(run_blocking(std::move(two)), (std::vector<Waits*>{&waits, &waits}));
}

TEST(Waits, ATimerAddsWhatPassed) {
  Waits waits;
  {
    WaitTimer timer(&waits, &Waits::disk_us);
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(2)) {
    }
  }
  EXPECT_GE(waits.disk_us, 2000U);
  EXPECT_EQ(waits.commit_us, 0U);
  WaitTimer nobodys(nullptr, &Waits::keys_us);
}

}  // namespace
}  // namespace stator
