#include "triggers/workers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>

namespace stator::triggers {
namespace {

TEST(Workers, RunEverythingOnAtMostSoManyThreads) {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  {
    Workers workers(3);
    for (int i = 0; i < 100; ++i) {
      workers.post([&] {
        const int now = ++running;
        int known = most;
        while (known < now && !most.compare_exchange_weak(known, now)) {
        }
        --running;
        ++done;
      });
    }
  }
  EXPECT_EQ(done, 100);
  EXPECT_LE(most, 3);
}

TEST(Workers, AreIdleWhenNothingWaitsOrRuns) {
  Workers workers(2);
  EXPECT_TRUE(workers.idle());
  std::latch release(1);
  workers.post([&] { release.wait(); });
  EXPECT_FALSE(workers.idle());
  // A second one does not wait for the first.
  std::latch second(1);
  workers.post([&] { second.count_down(); });
  second.wait();
  EXPECT_FALSE(workers.idle());
  release.count_down();
  while (!workers.idle()) std::this_thread::yield();
}

}  // namespace
}  // namespace stator::triggers
