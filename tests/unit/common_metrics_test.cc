#include "common/metrics.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace stator::metrics {
namespace {

TEST(Metrics, ACounterAddsUpWhatManyThreadsCount) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) counter.add();
      counter.add(5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.value(), 20u * 1005);
}

TEST(Metrics, ABoundBelongsToItsRange) {
  static constexpr uint64_t kBounds[] = {10, 100};
  Histogram histogram(kBounds);
  for (const uint64_t value : {0, 10, 11, 100, 101, 5000}) histogram.observe(value);
  const Histogram::Snapshot seen = histogram.read();
  EXPECT_EQ(seen.counts[0], 2u);
  EXPECT_EQ(seen.counts[1], 2u);
  EXPECT_EQ(seen.counts[2], 2u);
  EXPECT_EQ(seen.count, 6u);
  EXPECT_EQ(seen.sum, 5222u);
}

TEST(Metrics, BoundsFitIntoAHistogram) {
  EXPECT_LE(latency_bounds().size(), Histogram::kMostBounds);
  EXPECT_LE(size_bounds().size(), Histogram::kMostBounds);
}

TEST(Metrics, TheTextIsThatOfPrometheus) {
  static constexpr uint64_t kBounds[] = {50, 2500};
  Histogram histogram(kBounds);
  histogram.observe(40);
  histogram.observe(1'000'000);
  Text text;
  text.family("stator_x_total", "counter", "Of x.");
  text.sample({{"table", "a\"b\\c\nd"}, {"index", ""}}, uint64_t{7});
  text.gauge("stator_y", "Of y.", 0.5);
  text.histogram("stator_z_seconds", "Of z.", histogram, 1e-6);
  EXPECT_EQ(text.take(),
            "# HELP stator_x_total Of x.\n"
            "# TYPE stator_x_total counter\n"
            "stator_x_total{table=\"a\\\"b\\\\c\\nd\",index=\"\"} 7\n"
            "# HELP stator_y Of y.\n"
            "# TYPE stator_y gauge\n"
            "stator_y 0.5\n"
            "# HELP stator_z_seconds Of z.\n"
            "# TYPE stator_z_seconds histogram\n"
            "stator_z_seconds_bucket{le=\"5e-05\"} 1\n"
            "stator_z_seconds_bucket{le=\"0.0025\"} 1\n"
            "stator_z_seconds_bucket{le=\"+Inf\"} 2\n"
            "stator_z_seconds_sum 1.00004\n"
            "stator_z_seconds_count 2\n");
}

}  // namespace
}  // namespace stator::metrics
