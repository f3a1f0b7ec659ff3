// The machine stops in the middle of writes, and the disk keeps of what was not flushed whatever it
// likes. STATOR_ROUNDS and STATOR_CRASH_SEED prolong or repeat a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine_test_tools.h"
#include "support/engine_fragile_files.h"

namespace stator::engine {
namespace {

constexpr int kWriters = 4;
constexpr uint64_t kRoundsOfADirectory = 20;

uint64_t from_environment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::unique_ptr<Engine> open(const std::filesystem::path& directory, Durability durability,
                             std::shared_ptr<FragileFiles> files = nullptr) {
  RocksdbOptions options;
  options.directory = directory;
  options.durability = durability;
  options.block_cache_bytes = 1024 * 1024;
  options.write_buffer_bytes = 128 * 1024;  // so that files are written, and logs end, all the time
  options.file_system = std::move(files);
  return open_rocksdb(options);
}

std::string key_of(int writer, size_t i) {
  return "w" + std::to_string(writer) + "/" + std::to_string(1'000'000 + i);
}

// A pair of keys, a counter and a log entry that belong together.
Outcome write_one(Engine& engine, int writer, size_t i) {
  return mutate(engine, {}, {key_of(writer, i)}, [&](const Held&, Batch& batch) {
    batch.put(key_of(writer, i), std::string(100 + i * 37 % 900, 'v'));
    batch.put("pair/" + key_of(writer, i), "v");
    batch.add("count", 1);
    batch.append("log/", key_of(writer, i));
  });
}

class PowerLoss : public testing::TestWithParam<Durability> {
 protected:
  // Writes until the machine stops; what was acknowledged is added to `acknowledged_`.
  void write_until_it_stops(std::mt19937_64& random, FragileFiles& files, Engine& engine) {
    std::vector<std::thread> writers;
    for (int w = 0; w < kWriters; ++w) {
      writers.emplace_back([&, w] {
        while (write_one(engine, w, next_[w]).committed()) ++next_[w];
      });
    }
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + random() % 40'000));
    files.stop_machine();
    for (std::thread& writer : writers) writer.join();
  }

  // Every change is there with all its parts or not at all, and of each writer none is missing
  // before one that is there.
  void expect_whole(Engine& engine) {
    const ScanLimit all{1'000'000, 1'000'000'000};
    const Rows rows = scan(engine, {"w", "x"}, Direction::kForward, all);
    const Rows pairs = scan(engine, {"pair/", "pair0"}, Direction::kForward, all);
    const Rows log = scan(engine, {"log/", "log0"}, Direction::kForward, all);
    ASSERT_EQ(rows.size(), pairs.size());
    ASSERT_EQ(rows.size(), log.size());
    if (rows.size() > 0) {
      EXPECT_EQ(counter(engine, "count"), static_cast<int64_t>(rows.size()));
    }
    for (size_t i = 0; i < rows.size(); ++i)
      ASSERT_EQ("pair/" + std::string(rows.key(i)), pairs.key(i));
    size_t found = 0;
    for (int w = 0; w < kWriters; ++w) {
      size_t there = 0;
      while (get(engine, key_of(w, there))) ++there;
      if (GetParam() == Durability::kSync) {
        EXPECT_GE(there, next_[w]) << "acknowledged and lost";
      }
      next_[w] = there;
      found += there;
    }
    EXPECT_EQ(found, rows.size());
  }

  size_t next_[kWriters] = {};
};

TEST_P(PowerLoss, what_was_acknowledged_is_there_and_nothing_is_half_there) {
  const uint64_t seed = from_environment("STATOR_CRASH_SEED", std::random_device()());
  std::mt19937_64 random(seed);
  SCOPED_TRACE("STATOR_CRASH_SEED=" + std::to_string(seed));
  for (uint64_t left = from_environment("STATOR_ROUNDS", 20); left > 0;) {
    // Everything is read after each loss, so that a long run begins anew now and then.
    const TempDirectory directory;
    std::fill(std::begin(next_), std::end(next_), 0);
    for (uint64_t round = 0; round < kRoundsOfADirectory && left > 0; ++round, --left) {
      const auto files = std::make_shared<FragileFiles>();
      {
        const std::unique_ptr<Engine> engine = open(directory.path(), GetParam(), files);
        expect_whole(*engine);
        if (HasFailure()) return;
        write_until_it_stops(random, *files, *engine);
      }
      files->lose_unsynced(random);
    }
    expect_whole(*open(directory.path(), GetParam()));
  }
}

INSTANTIATE_TEST_SUITE_P(Durabilities, PowerLoss,
                         testing::Values(Durability::kSync, Durability::kOs), [](const auto& info) {
                           return info.param == Durability::kSync ? "sync" : "os";
                         });

}  // namespace
}  // namespace stator::engine
