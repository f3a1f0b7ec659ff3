#include "net/balance.h"

#include <gtest/gtest.h>

#include <set>

namespace stator::net {
namespace {

using std::chrono::milliseconds;

Balance::Load load(double busiest, double together, double request_us = 10) {
  return {busiest, together, request_us, milliseconds(50)};
}

void calm(Balance& balance, double together, int times) {
  for (int i = 0; i < times; ++i) balance.measured(load(together / 2, together));
}

TEST(Balance, BeginsWithAllThreads) {
  const Balance balance(4);
  std::set<unsigned> homes;
  for (uint64_t number = 0; number < 8; ++number) homes.insert(balance.home_of(number));
  EXPECT_EQ(homes, (std::set<unsigned>{0, 1, 2, 3}));
}

TEST(Balance, LetsThreadsGoThatAreNotNeededForAWhile) {
  Balance balance(2);
  calm(balance, 0.5, 3);
  EXPECT_EQ(balance.active(), 2u);
  calm(balance, 0.5, 1);
  EXPECT_EQ(balance.active(), 1u);
  for (uint64_t number = 0; number < 8; ++number) EXPECT_EQ(balance.home_of(number), 0u);
  calm(balance, 0.5, 10);
  EXPECT_EQ(balance.active(), 1u);
}

TEST(Balance, ABusyMomentBeginsTheWhileAnew) {
  Balance balance(2);
  calm(balance, 0.5, 3);
  calm(balance, 1.2, 1);
  calm(balance, 0.5, 3);
  EXPECT_EQ(balance.active(), 2u);
}

TEST(Balance, TakesOneMoreAsSoonAsOneIsFull) {
  Balance balance(3);
  calm(balance, 0.1, 20);
  ASSERT_EQ(balance.active(), 1u);
  balance.measured(load(0.95, 0.95));
  EXPECT_EQ(balance.active(), 2u);
  balance.measured(load(0.95, 1.9));
  EXPECT_EQ(balance.active(), 3u);
  balance.measured(load(1, 3));
  EXPECT_EQ(balance.active(), 3u);
}

TEST(Balance, LongRequestsGetAllThreads) {
  Balance balance(4);
  calm(balance, 0.1, 20);
  ASSERT_EQ(balance.active(), 1u);
  balance.measured(load(0.3, 0.3, 2000));
  EXPECT_EQ(balance.active(), 4u);
  for (int i = 0; i < 20; ++i) balance.measured(load(0.3, 0.3, 2000));
  EXPECT_EQ(balance.active(), 4u);
}

TEST(Balance, AThreadThatStaysKeepsItsConnections) {
  Balance balance(4);
  calm(balance, 0.1, 4);
  ASSERT_EQ(balance.active(), 3u);
  for (uint64_t number = 0; number < 40; ++number) {
    if (number % 4 < 3) {
      EXPECT_EQ(balance.home_of(number), number % 4);
    } else {
      EXPECT_LT(balance.home_of(number), 3u);
    }
  }
}

}  // namespace
}  // namespace stator::net
