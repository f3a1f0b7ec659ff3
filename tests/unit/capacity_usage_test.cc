#include "capacity/usage.h"

#include <gtest/gtest.h>

namespace stator::capacity {
namespace {

TEST(Usage, CountsTablesAndIndexesApart) {
  Usage usage;
  usage.consumed({1, 0}, true, 3);
  usage.consumed({1, 0}, false, 0.5);
  usage.consumed({1, 2}, true, 1);
  usage.consumed({2, 0}, true, 10);
  usage.throttled({1, 2}, false);
  EXPECT_EQ(usage.totals({1, 0}).write_units, 3);
  EXPECT_EQ(usage.totals({1, 0}).read_units, 0.5);
  EXPECT_EQ(usage.totals({1, 2}).write_units, 1);
  EXPECT_EQ(usage.totals({1, 2}).throttled_reads, 1u);
  EXPECT_EQ(usage.totals({2, 0}).write_units, 10);
  EXPECT_EQ(usage.totals({3, 0}).write_units, 0);
}

TEST(Usage, TablesThatAreGoneMakeRoom) {
  Usage usage;
  // Far more than there is room for at a time, as a test suite makes them.
  for (model::TableNumber table = 1; table <= 100'000; ++table) {
    usage.consumed({table, 0}, true, 1);
    if (table % 1000 == 0) usage.keep_only({table});
  }
  usage.consumed({200'000, 0}, true, 1);
  EXPECT_EQ(usage.totals({100'000, 0}).write_units, 1);
  EXPECT_EQ(usage.totals({200'000, 0}).write_units, 1);
  EXPECT_EQ(usage.totals({5, 0}).write_units, 0);
}

TEST(Usage, TooManyTablesAreCountedTogetherNotWrongly) {
  Usage usage;
  for (model::TableNumber table = 1; table <= 50'000; ++table) usage.consumed({table, 0}, true, 1);
  for (model::TableNumber table = 1; table <= 50'000; ++table)
    EXPECT_LE(usage.totals({table, 0}).write_units, 1);
}

}  // namespace
}  // namespace stator::capacity
