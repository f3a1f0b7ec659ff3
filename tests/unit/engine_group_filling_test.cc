#include "engine/rocksdb/group_filling.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stator::engine {
namespace {

TEST(GroupFilling, OneWhoIsAloneWaitsForNobody) {
  GroupFilling filling;
  EXPECT_EQ(filling.wait_for(1, 100).until_us, 0u);
  for (uint64_t now = 1000; now < 10'000; now += 1000) {
    filling.flushed(1, 0, 500, now);
    EXPECT_EQ(filling.wait_for(1, now + 50).until_us, 0u);
  }
}

TEST(GroupFilling, ThoseJustAnsweredAreWaitedForATenthOfAFlush) {
  GroupFilling filling;
  filling.flushed(16, 16, 2000, 10'000);
  const GroupFilling::Wait wait = filling.wait_for(16, 10'010);
  EXPECT_EQ(wait.changes, 32u);
  EXPECT_EQ(wait.until_us, 10'210u);
  EXPECT_EQ(filling.wait_for(32, 10'010).until_us, 0u);
}

TEST(GroupFilling, TheFlushTimeFollowsSlowly) {
  GroupFilling filling;
  filling.flushed(2, 0, 800, 10'000);
  filling.flushed(2, 0, 8000, 20'000);  // one slow flush does not buy a long wait
  EXPECT_EQ(filling.wait_for(1, 20'000).until_us, 20'170u);
}

TEST(GroupFilling, NobodyIsExpectedAfterAPause) {
  GroupFilling filling;
  filling.flushed(32, 0, 1000, 10'000);
  EXPECT_EQ(filling.wait_for(1, 11'001).until_us, 0u);
}

TEST(GroupFilling, WaitsThatBringNobodyBecomeRare) {
  GroupFilling filling;
  int waits = 0;
  for (uint64_t now = 10'000; now < 10'000 + 1000 * 1000; now += 1000) {
    filling.flushed(1, 1, 900, now);
    if (filling.wait_for(1, now).until_us == 0) continue;
    ++waits;
    filling.waited(1, 1);
  }
  EXPECT_LT(waits, 20);
  filling.waited(1, 2);
  filling.flushed(1, 1, 900, 2'000'000);
  EXPECT_NE(filling.wait_for(1, 2'000'000).until_us, 0u);
}

// Clients who each have one change under way, and who come back one after the other when they are
// answered. What a second brings, with flushes of `flush_us`.
class Clients {
 public:
  Clients(size_t count, uint64_t flush_us, uint64_t each_us)
      : flush_us_(flush_us), each_us_(each_us), queued_(count) {}

  double changes_a_second(int flushes) {
    const uint64_t begin_us = now_us_;
    uint64_t changes = 0;
    for (int i = 0; i < flushes; ++i) changes += flush();
    return static_cast<double>(changes) * 1e6 / static_cast<double>(now_us_ - begin_us);
  }
  void join(size_t more) { away_ += more; }
  GroupFilling filling;

 private:
  size_t flush() {
    if (queued_ == 0) pass(each_us_);
    const GroupFilling::Wait wait = filling.wait_for(queued_, now_us_);
    if (wait.until_us > now_us_) {
      const size_t before = queued_;
      while (now_us_ < wait.until_us && queued_ < wait.changes) pass(each_us_);
      filling.waited(before, queued_);
    }
    const size_t group = queued_;
    queued_ = 0;
    pass(flush_us_);
    filling.flushed(group, queued_, flush_us_, now_us_);
    away_ += group;
    return group;
  }
  void pass(uint64_t time_us) {
    now_us_ += time_us;
    spare_us_ += time_us;
    const size_t back = std::min<size_t>(away_, spare_us_ / each_us_);
    away_ -= back;
    queued_ += back;
    spare_us_ = away_ == 0 ? 0 : spare_us_ - back * each_us_;
  }

  const uint64_t flush_us_;
  const uint64_t each_us_;
  uint64_t now_us_ = 1'000'000;
  uint64_t spare_us_ = 0;
  size_t queued_;
  size_t away_ = 0;
};

TEST(GroupFilling, SlowFlushesWaitForAll) {
  Clients clients(32, 2000, 20);
  EXPECT_LT(clients.changes_a_second(100), 11'000);  // two halves
  clients.changes_a_second(2000);
  // 32 with each 2.64 ms.
  EXPECT_GT(clients.changes_a_second(2000), 11'700);
}

TEST(GroupFilling, FastFlushesDoNot) {
  Clients clients(32, 300, 30);
  const double first = clients.changes_a_second(100);
  clients.changes_a_second(2000);
  EXPECT_GT(clients.changes_a_second(5000), first * 0.97);
}

TEST(GroupFilling, MoreClientsAreNoReasonForALongWait) {
  for (int flushes = 400; flushes < 620; flushes += 20) {
    Clients clients(8, 300, 30);
    Clients twice(16, 300, 30);
    clients.changes_a_second(flushes);
    clients.join(8);
    clients.changes_a_second(200);
    EXPECT_GT(clients.changes_a_second(300), twice.changes_a_second(300) * 0.9) << flushes;
  }
}

}  // namespace
}  // namespace stator::engine
