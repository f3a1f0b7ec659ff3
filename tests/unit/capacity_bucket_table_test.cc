#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "capacity/bucket_table.h"

namespace stator::capacity {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr Rate kFive{5, 300};

TEST(BucketTable, BeginsFull) {
  BucketTable buckets(64);
  const BucketKey key{.table = 1};
  buckets.take(key, kFive, 1499.5, 0);
  EXPECT_TRUE(buckets.has_units(key, kFive, 0));
  buckets.take(key, kFive, 0.5, 0);
  EXPECT_FALSE(buckets.has_units(key, kFive, 0));
}

TEST(BucketTable, FillsAtItsRate) {
  BucketTable buckets(64);
  const BucketKey key{.table = 1};
  buckets.take(key, kFive, 1500, 0);
  EXPECT_FALSE(buckets.has_units(key, kFive, 0));
  EXPECT_TRUE(buckets.has_units(key, kFive, kSecond));
  buckets.take(key, kFive, 5, kSecond);
  EXPECT_FALSE(buckets.has_units(key, kFive, kSecond));
}

TEST(BucketTable, KeepsNoMoreThanItsBurst) {
  BucketTable buckets(64);
  const BucketKey key{.table = 1};
  buckets.take(key, kFive, 1, 0);
  buckets.take(key, kFive, 1500, 1'000'000 * kSecond);
  EXPECT_FALSE(buckets.has_units(key, kFive, 1'000'000 * kSecond));
}

TEST(BucketTable, WhatWasTakenTooMuchIsMadeUpForFirst) {
  BucketTable buckets(64);
  const BucketKey key{.table = 1};
  buckets.take(key, kFive, 1520, 0);
  EXPECT_FALSE(buckets.has_units(key, kFive, 4 * kSecond));
  EXPECT_TRUE(buckets.has_units(key, kFive, 4 * kSecond + 1));
}

TEST(BucketTable, UnitsCanBeGivenBack) {
  BucketTable buckets(64);
  const BucketKey key{.table = 1};
  buckets.take(key, kFive, 1500, 0);
  buckets.take(key, kFive, -1, 0);
  EXPECT_TRUE(buckets.has_units(key, kFive, 0));
  buckets.take(key, kFive, -5000, 0);
  buckets.take(key, kFive, 1500, 0);
  EXPECT_FALSE(buckets.has_units(key, kFive, 0));
}

TEST(BucketTable, ANewRateCountsFromNowOn) {
  BucketTable buckets(64);
  const BucketKey key{.table = 1};
  const Rate hundred{100, 300};
  buckets.take(key, kFive, 1510, 0);
  EXPECT_FALSE(buckets.has_units(key, hundred, kSecond));  // -5: filled at the old rate until now
  EXPECT_TRUE(buckets.has_units(key, hundred, kSecond * 11 / 10));  // and at the new one since
}

TEST(BucketTable, KeysAreApart) {
  BucketTable buckets(64);
  buckets.take({.table = 1}, kFive, 1500, 0);
  EXPECT_FALSE(buckets.has_units({.table = 1}, kFive, 0));
  EXPECT_TRUE(buckets.has_units({.table = 2}, kFive, 0));
  EXPECT_TRUE(buckets.has_units({.table = 1, .index = 1}, kFive, 0));
  EXPECT_TRUE(buckets.has_units({.table = 1, .write = true}, kFive, 0));
  EXPECT_TRUE(buckets.has_units({.table = 1, .partition = 1}, kFive, 0));
}

TEST(BucketTable, AClockSetBackDoesNotStopTheFilling) {
  BucketTable buckets(64);
  const BucketKey key{.table = 1};
  buckets.take(key, kFive, 1500, 3600 * kSecond);
  EXPECT_FALSE(buckets.has_units(key, kFive, 0));
  EXPECT_TRUE(buckets.has_units(key, kFive, kSecond));
}

TEST(BucketTable, IsBounded) {
  BucketTable buckets(640);
  for (uint64_t i = 0; i < 100'000; ++i)
    buckets.take({.table = 1, .partition = i}, {1000, 1}, 1.0 + i % 7, 0);
  EXPECT_LE(buckets.size(), 640u);
}

TEST(BucketTable, ForgetsFullBucketsBeforeEmptyOnes) {
  BucketTable buckets(640);
  const BucketKey hot{.table = 1, .partition = 1};
  buckets.take(hot, {1000, 1}, 1'000'000, 0);
  for (uint64_t i = 2; i < 100'000; ++i) {
    buckets.take({.table = 1, .partition = i}, {1000, 1}, 1, static_cast<int64_t>(i) * 1000);
  }
  EXPECT_FALSE(buckets.has_units(hot, {1000, 1}, 100 * kSecond));
}

TEST(BucketTable, ThreadsLoseNothing) {
  BucketTable buckets(64);
  const BucketKey key{.table = 1};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 1000; ++k) buckets.take(key, {10, 400}, 1, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(buckets.has_units(key, {10, 400}, 0));
  EXPECT_TRUE(buckets.has_units(key, {10, 400}, 1));
}

}  // namespace
}  // namespace stator::capacity
