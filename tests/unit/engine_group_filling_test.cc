#include "engine/rocksdb/group_filling.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace stator::engine
