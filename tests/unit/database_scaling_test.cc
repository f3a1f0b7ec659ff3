// Target tracking: capacity follows what is consumed, within its bounds, with a clock that the test
// moves.
#include <gtest/gtest.h>

#include "capacity/consumption.h"
#include "catalog/scaling.h"
#include "database/database.h"
#include "engine/rocksdb/rocksdb_engine.h"
#include "store/store.h"
#include "work/jobs.h"

namespace stator::work {
namespace {

constexpr int64_t kMinuteUs = 60'000'000;
const char* const kResource = "table/Scaled";
const char* const kDimension = "dynamodb:table:WriteCapacityUnits";

class ScalingTest : public ::testing::Test {
 protected:
  ScalingTest() {
    engine::RocksdbOptions options;
    options.durability = engine::Durability::kMemory;
    engine_ = engine::open_rocksdb(options);
    catalog_ = std::make_unique<catalog::Catalog>(
        *engine_, clock_, catalog::CatalogOptions{.region = "us-east-1", .account = "1"});
    scaling_ = std::make_unique<catalog::Scaling>(*engine_);
    store_ = std::make_unique<store::Store>(*engine_, *catalog_, clock_);
    backups_ = std::make_unique<catalog::Backups>(*engine_);
    job_ =
        make_scaling({*catalog_, *store_, clock_, *backups_, activity_}, *scaling_, consumption_);
    auto schema = std::make_shared<model::TableSchema>();
    schema->name = "Scaled";
    schema->key.partition.push_back({"pk", model::KeyType::kString});
    catalog::Table table;
    table.schema = std::move(schema);
    table.capacity.provisioned = {.read_units = 5, .write_units = 10, .decreases = 0};
    number_ = run_blocking(catalog_->create(std::move(table)))->schema->number;
  }

  void register_target(int64_t min, int64_t max, std::optional<catalog::ScalingPolicy> policy) {
    const catalog::Scaling::Change change = [&](std::optional<catalog::ScalableTarget>& target) {
      target.emplace();
      target->resource = kResource;
      target->dimension = kDimension;
      target->min = min;
      target->max = max;
      if (policy) target->policies.push_back(*policy);
    };
    run_blocking(scaling_->change(kResource, kDimension, change));
    job_->step();
  }

  static catalog::ScalingPolicy policy_at(double percent) {
    catalog::ScalingPolicy policy;
    policy.name = "follow";
    policy.id = "id";
    policy.target_percent = percent;
    return policy;
  }

  // Minutes in which so many units a second are consumed.
  void pass(int minutes, double units_per_s) {
    for (int i = 0; i < minutes; ++i) {
      consumption_.add({number_, 0, true}, units_per_s * 60);
      job_->step();
      clock_.advance_us(kMinuteUs);
      job_->step();
    }
  }

  int64_t units() const { return catalog_->find("Scaled")->capacity.provisioned.write_units; }

  ManualClock clock_{1'800'000'000'000'000};
  engine::Activity activity_;
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<catalog::Catalog> catalog_;
  std::unique_ptr<catalog::Scaling> scaling_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<catalog::Backups> backups_;
  capacity::Consumption consumption_;
  std::unique_ptr<Job> job_;
  model::TableNumber number_ = 0;
};

TEST_F(ScalingTest, CapacityIsBroughtIntoItsBounds) {
  register_target(20, 100, std::nullopt);
  EXPECT_EQ(units(), 20);
  EXPECT_EQ(catalog_->find("Scaled")->capacity.provisioned.read_units, 5);
  ASSERT_EQ(scaling_->activities().size(), 1u);
  EXPECT_EQ(scaling_->activities()[0].cause, "minimum capacity was set to 20");
  EXPECT_EQ(scaling_->activities()[0].description, "Setting write capacity units to 20.");
}

TEST_F(ScalingTest, RisesAfterTwoMinutesAboveTheTarget) {
  register_target(5, 100, policy_at(50));
  pass(1, 20);
  EXPECT_EQ(units(), 10);
  pass(1, 20);
  EXPECT_EQ(units(), 40);
  ASSERT_EQ(scaling_->activities().size(), 1u);
  EXPECT_EQ(scaling_->activities()[0].cause,
            "monitor alarm TargetTracking-table/Scaled-AlarmHigh-id in state ALARM triggered "
            "policy follow");
}

TEST_F(ScalingTest, DoesNotRiseAboveItsMaximum) {
  register_target(5, 30, policy_at(50));
  pass(5, 200);
  EXPECT_EQ(units(), 30);
}

TEST_F(ScalingTest, DoesNotRiseAgainBeforeItsCooldown) {
  auto policy = policy_at(50);
  policy.scale_out_cooldown_s = 600;
  register_target(5, 1000, policy);
  pass(2, 20);
  EXPECT_EQ(units(), 40);
  pass(8, 100);
  EXPECT_EQ(units(), 40);
  pass(3, 100);
  EXPECT_EQ(units(), 200);
}

TEST_F(ScalingTest, FallsAfterFifteenMinutesBelowTheTarget) {
  register_target(2, 100, policy_at(50));
  pass(14, 1);
  EXPECT_EQ(units(), 10);
  pass(1, 1);
  EXPECT_EQ(units(), 2);
}

TEST_F(ScalingTest, DoesNotFallWhileNothingIsConsumed) {
  register_target(2, 100, policy_at(50));
  pass(40, 0);
  EXPECT_EQ(units(), 10);
}

TEST_F(ScalingTest, DoesNotFallIfThatIsDisabled) {
  auto policy = policy_at(50);
  policy.disable_scale_in = true;
  register_target(2, 100, policy);
  pass(40, 1);
  EXPECT_EQ(units(), 10);
}

TEST_F(ScalingTest, FallsFourTimesADayAndThenOnceAnHour) {
  catalog::Capacity capacity;
  capacity.provisioned = {.read_units = 100, .write_units = 100, .decreases = 0};
  int64_t now_ms = 20'000LL * 24 * 60 * 60 * 1000;
  for (int i = 1; i <= 4; ++i) {
    EXPECT_TRUE(catalog::may_lower(capacity, now_ms));
    catalog::provision(capacity, 100 - i, 100, ++now_ms);
  }
  EXPECT_FALSE(catalog::may_lower(capacity, now_ms));
  now_ms += 60LL * 60 * 1000;
  EXPECT_TRUE(catalog::may_lower(capacity, now_ms));
}

TEST_F(ScalingTest, TargetsAreThereAfterARestart) {
  register_target(20, 100, policy_at(50));
  const catalog::Scaling again(*engine_);
  const auto target = again.find(kResource, kDimension);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->max, 100);
  ASSERT_EQ(target->policies.size(), 1u);
  EXPECT_EQ(target->policies[0].target_percent, 50);
  EXPECT_EQ(again.activities().size(), 1u);
}

// From operations to capacity, through a whole database. Its job runs on a thread of its own, so
// the test goes on until the capacity has risen.
TEST(DatabaseScalingTest, CapacityFollowsWhatOperationsConsume) {
  ManualClock clock(1'800'000'000'000'000);
  DatabaseOptions options;
  options.durability = engine::Durability::kMemory;
  options.clock = &clock;
  options.throttle = capacity::ThrottleMode::kOff;
  const auto database = Database::open(options);
  const auto ask = [&](const char* service, const char* operation, const char* body) {
    const Answer answer = run_blocking(database->execute(service, operation, body, Caller{}));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.body;
  };
  ask("DynamoDB_20120810", "CreateTable",
      R"({"TableName":"Scaled","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
          "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
          "ProvisionedThroughput":{"ReadCapacityUnits":1,"WriteCapacityUnits":1}})");
  ask("AnyScaleFrontendService", "RegisterScalableTarget",
      R"({"ServiceNamespace":"dynamodb","ResourceId":"table/Scaled","MinCapacity":1,"MaxCapacity":2,
          "ScalableDimension":"dynamodb:table:WriteCapacityUnits"})");
  bool risen = false;
  for (int i = 0; i < 1000 && !risen; ++i) {
    for (int put = 0; put < 100; ++put) {
      ask("DynamoDB_20120810", "PutItem", R"({"TableName":"Scaled","Item":{"pk":{"S":"a"}}})");
    }
    clock.advance_us(kMinuteUs);
    // Also wakes the job.
    ask("AnyScaleFrontendService", "PutScalingPolicy",
        R"({"PolicyName":"follow","ServiceNamespace":"dynamodb","ResourceId":"table/Scaled",
            "ScalableDimension":"dynamodb:table:WriteCapacityUnits","PolicyType":"TargetTrackingScaling",
            "TargetTrackingScalingPolicyConfiguration":{"TargetValue":70,
            "PredefinedMetricSpecification":{"PredefinedMetricType":"DynamoDBWriteCapacityUtilization"}}})");
    const std::string table =
        ask("DynamoDB_20120810", "DescribeTable", R"({"TableName":"Scaled"})");
    risen = table.find(R"("WriteCapacityUnits":2)") != std::string::npos;
  }
  EXPECT_TRUE(risen);
}

}  // namespace
}  // namespace stator::work
