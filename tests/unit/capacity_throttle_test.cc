#include <gtest/gtest.h>

#include "capacity/throttle.h"

namespace stator::capacity {
namespace {

constexpr int64_t kSecond = 1'000'000;

catalog::Table make_table(catalog::BillingMode billing) {
  model::TableSchema schema;
  schema.number = 7;
  schema.name = "t";
  model::Index index;
  index.number = 1;
  index.name = "g";
  index.global = true;
  schema.indexes.push_back(index);
  catalog::Table table;
  table.schema = std::make_shared<const model::TableSchema>(schema);
  table.billing = billing;
  table.index_capacity.resize(1);
  return table;
}

catalog::Table provisioned(int64_t table_units, int64_t index_units) {
  catalog::Table table = make_table(catalog::BillingMode::kProvisioned);
  table.capacity.provisioned = {table_units, table_units, 0};
  table.index_capacity[0].provisioned = {index_units, index_units, 0};
  return table;
}

class ThrottleTest : public ::testing::Test {
 protected:
  // How many requests of one unit are admitted before one is refused; at most `most`.
  static int admitted(Throttle& throttle, const catalog::Table& table, Access access, Place place,
                      int most) {
    place.units = 1;
    for (int i = 0; i < most; ++i) {
      if (throttle.admit(table, access, {&place, 1})) return i;
    }
    return most;
  }

  ManualClock clock_{1'700'000'000 * kSecond};
};

TEST_F(ThrottleTest, KeepsFiveMinutesThenTheRate) {
  Throttle throttle(ThrottleMode::kProvisioned, clock_);
  const auto table = provisioned(5, 1);
  EXPECT_EQ(admitted(throttle, table, Access::kRead, {}, 5000), 1500);
  clock_.advance_us(kSecond);
  EXPECT_EQ(admitted(throttle, table, Access::kRead, {}, 5000), 5);
  EXPECT_EQ(admitted(throttle, table, Access::kWrite, {}, 5000), 1500);
}

TEST_F(ThrottleTest, NamesWhereNothingIsLeft) {
  Throttle throttle(ThrottleMode::kProvisioned, clock_);
  const auto table = provisioned(100, 1);
  const model::Index* index = &table.schema->indexes[0];
  const Place places[] = {{nullptr, std::nullopt, 1}, {index, std::nullopt, 300}};
  EXPECT_FALSE(throttle.admit(table, Access::kWrite, places));
  const auto refusal = throttle.admit(table, Access::kWrite, places);
  ASSERT_TRUE(refusal);
  ASSERT_EQ(refusal->blocked.size(), 1u);
  EXPECT_EQ(refusal->blocked[0].index, index);
  EXPECT_EQ(refusal->blocked[0].limit, Limit::kProvisioned);
}

TEST_F(ThrottleTest, ARefusedRequestTakesNothing) {
  Throttle throttle(ThrottleMode::kProvisioned, clock_);
  const auto table = provisioned(5, 1);
  const model::Index* index = &table.schema->indexes[0];
  const Place all[] = {{nullptr, std::nullopt, 1499}, {index, std::nullopt, 300}};
  EXPECT_FALSE(throttle.admit(table, Access::kWrite, all));
  EXPECT_TRUE(throttle.admit(table, Access::kWrite, all));
  EXPECT_EQ(admitted(throttle, table, Access::kWrite, {}, 10), 1);
}

TEST_F(ThrottleTest, OnDemandHasNoLimitUnlessAskedFor) {
  Throttle throttle(ThrottleMode::kProvisioned, clock_);
  auto table = make_table(catalog::BillingMode::kPayPerRequest);
  EXPECT_FALSE(throttle.watches(table));
  table.capacity.max_read_request_units = -1;
  EXPECT_FALSE(throttle.watches(table));
  table.capacity.max_read_request_units = 2;
  EXPECT_TRUE(throttle.watches(table));
  EXPECT_EQ(admitted(throttle, table, Access::kRead, {}, 5000), 600);
  EXPECT_EQ(admitted(throttle, table, Access::kWrite, {}, 5000), 5000);
  const Place place{nullptr, std::nullopt, 1};
  EXPECT_EQ(throttle.check(table, Access::kRead, {&place, 1})->blocked[0].limit, Limit::kMaximum);
}

TEST_F(ThrottleTest, FullLimitsASingleKey) {
  Throttle throttle(ThrottleMode::kFull, clock_);
  const auto table = make_table(catalog::BillingMode::kPayPerRequest);
  EXPECT_TRUE(throttle.watches(table));
  EXPECT_EQ(admitted(throttle, table, Access::kWrite, {nullptr, 1, 0}, 5000), 1000);
  EXPECT_EQ(admitted(throttle, table, Access::kRead, {nullptr, 1, 0}, 5000), 3000);
  EXPECT_EQ(admitted(throttle, table, Access::kWrite, {nullptr, 2, 0}, 5000), 1000);
  clock_.advance_us(kSecond * 3600);
  EXPECT_EQ(admitted(throttle, table, Access::kWrite, {nullptr, 1, 0}, 5000), 1000);
  const Place place{nullptr, 1, 1};
  EXPECT_EQ(throttle.check(table, Access::kWrite, {&place, 1})->blocked[0].limit, Limit::kKeyRange);
}

TEST_F(ThrottleTest, OffRefusesNothing) {
  Throttle throttle(ThrottleMode::kOff, clock_);
  const auto table = provisioned(1, 1);
  EXPECT_FALSE(throttle.watches(table));
  EXPECT_EQ(admitted(throttle, table, Access::kRead, {nullptr, 1, 0}, 5000), 5000);
}

TEST_F(ThrottleTest, AChangedTableCountsAtOnce) {
  Throttle throttle(ThrottleMode::kProvisioned, clock_);
  EXPECT_EQ(admitted(throttle, provisioned(1, 1), Access::kRead, {}, 5000), 300);
  EXPECT_EQ(admitted(throttle, provisioned(10, 1), Access::kRead, {}, 5000), 0);
  clock_.advance_us(kSecond);
  EXPECT_EQ(admitted(throttle, provisioned(10, 1), Access::kRead, {}, 5000), 10);
}

}  // namespace
}  // namespace stator::capacity
