// How the rocksdb engine keeps its promises: queued images, threads, the disk that fails, data that
// is not in memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/thread_pool.h"
#include "engine_test_tools.h"

namespace stator::engine {
namespace {

RocksdbOptions options_for(const TempDirectory& directory,
                           Durability durability = Durability::kSync) {
  RocksdbOptions options;
  options.directory = directory.path();
  options.durability = durability;
  options.block_cache_bytes = 1024 * 1024;
  return options;
}

// Several changes started from one thread, and the order in which they ended.
class Changes {
 public:
  Changes(Engine& engine, int count) : engine_(engine), left_(count) {}
  void add(const std::string& name, std::vector<std::string> exclusive, Body body) {
    start(mutate_until_done(engine_, {}, std::move(exclusive), std::move(body)),
          [this, name](std::exception_ptr, std::optional<Outcome> outcome) {
            {
              const std::lock_guard lock(mutex_);
              EXPECT_TRUE(outcome && outcome->committed());
              ended_ += name;
            }
            if (--left_ == 0) all_ended_.release();
          });
  }
  std::string wait() {
    all_ended_.acquire();
    return ended_;
  }

 private:
  Engine& engine_;
  std::mutex mutex_;
  std::string ended_;
  std::atomic<int> left_;
  std::binary_semaphore all_ended_{0};
};

TEST(RocksdbEngine, a_change_sees_what_is_queued_before_it_is_on_disk) {
  const TempDirectory directory;
  const std::unique_ptr<Engine> engine = open_rocksdb(options_for(directory));
  constexpr int kChanges = 200;
  Changes changes(*engine, kChanges);
  int bodies = 0;
  for (int i = 0; i < kChanges; ++i) {
    changes.add("", {"k"}, [&bodies, i](const Held& held, Batch& batch) {
      EXPECT_EQ(held.exclusive(0), i == 0 ? std::nullopt : std::optional(std::to_string(i)));
      ++bodies;
      batch.put("k", std::to_string(i + 1));
    });
    // Nothing was waited for: the latch is free as soon as the change is queued.
    EXPECT_EQ(bodies, i + 1);
  }
  changes.wait();
  EXPECT_EQ(get(*engine, "k"), std::to_string(kChanges));
}

TEST(RocksdbEngine, a_queued_erase_is_seen) {
  const TempDirectory directory;
  const std::unique_ptr<Engine> engine = open_rocksdb(options_for(directory));
  put(*engine, "k", "v");
  Changes changes(*engine, 3);
  changes.add("a", {"k"}, [](const Held&, Batch& batch) { batch.erase("k"); });
  changes.add("b", {"k"}, [](const Held& held, Batch& batch) {
    EXPECT_EQ(held.exclusive(0), std::nullopt);
    batch.put("k", "w");
  });
  changes.add("c", {"k"}, [](const Held& held, Batch&) { EXPECT_EQ(held.exclusive(0), "w"); });
  changes.wait();
}

TEST(RocksdbEngine, who_saw_a_queued_image_ends_after_it_is_durable_even_without_writing) {
  const TempDirectory directory;
  const std::unique_ptr<Engine> engine = open_rocksdb(options_for(directory));
  for (int i = 0; i < 20; ++i) {
    Changes changes(*engine, 2);
    changes.add("writer ", {"k"},
                [&](const Held&, Batch& batch) { batch.put("k", std::to_string(i)); });
    changes.add("reader ", {"k"},
                [&](const Held& held, Batch&) { EXPECT_EQ(held.exclusive(0), std::to_string(i)); });
    EXPECT_EQ(changes.wait(), "writer reader ");
  }
}

TEST(RocksdbEngine, queued_adds_count_for_who_holds_the_counter) {
  const TempDirectory directory;
  const std::unique_ptr<Engine> engine = open_rocksdb(options_for(directory));
  mutate(*engine, {}, {}, [](const Held&, Batch& batch) { batch.add("n", 1000); });
  constexpr int kChanges = 300;
  Changes changes(*engine, kChanges);
  for (int i = 0; i < kChanges; ++i) {
    changes.add("", {"n"}, [i](const Held& held, Batch& batch) {
      EXPECT_EQ(decode(held.exclusive(0).value_or("")), 1000 + i);
      batch.add("n", 1);
    });
  }
  changes.wait();
  EXPECT_EQ(counter(*engine, "n"), 1000 + kChanges);
}

TEST(RocksdbEngine, a_full_queue_lets_changes_wait_and_loses_none) {
  const TempDirectory directory;
  RocksdbOptions options = options_for(directory);
  options.queue_limit = 3;
  const std::unique_ptr<Engine> engine = open_rocksdb(options);
  constexpr int kChanges = 100;
  Changes changes(*engine, kChanges);
  for (int i = 0; i < kChanges; ++i) {
    const std::string key = "k" + std::to_string(i);
    changes.add("", {key}, [key](const Held&, Batch& batch) { batch.put(key, "v"); });
  }
  changes.wait();
  EXPECT_EQ(scan(*engine, {"k", "l"}).size(), static_cast<size_t>(kChanges));
}

Task<bool> comes_home(Engine& engine, Executor* home, int changes, int reads) {
  SwitchTo to_home(home);
  co_await to_home;
  bool at_home = true;
  for (int i = 0; i < changes; ++i) {
    Mutation mutation;
    mutation.exclusive = {"hot"};
    mutation.body = [](const Held&, Batch& batch) { batch.put("hot", "v"); };
    Task<Outcome> change = engine.mutate(std::move(mutation));
    const Outcome outcome = co_await change;
    at_home = at_home && outcome.committed() && Executor::current() == home;
  }
  const std::unique_ptr<View> view = engine.view();
  for (int i = 0; i < reads; ++i) {
    const std::string key = "cold" + std::to_string(i);
    Task<std::optional<std::string>> get = view->get(key);
    const std::optional<std::string> value = co_await get;
    at_home = at_home && value && value->size() == 1000 && Executor::current() == home;
  }
  co_return at_home;
}

TEST(RocksdbEngine, a_coroutine_goes_on_on_the_executor_it_came_from) {
  for (const Durability durability : {Durability::kSync, Durability::kOs, Durability::kMemory}) {
    const TempDirectory directory;
    const std::unique_ptr<Engine> engine = open_rocksdb(options_for(directory, durability));
    ThreadPool first("first", 1);
    ThreadPool second("second", 1);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        EXPECT_TRUE(run_blocking(comes_home(*engine, t % 2 == 0 ? &first : &second, 50, 0)));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(RocksdbEngine, what_is_not_in_memory_is_read_by_the_reader_pool) {
  const TempDirectory directory;
  constexpr int kRows = 12'000;
  const std::string value(1000, 'v');
  const auto key = [](int i) { return "cold" + std::to_string(i); };
  RocksdbOptions many_files = options_for(directory, Durability::kOs);
  many_files.write_buffer_bytes = 256 * 1024;
  {
    const std::unique_ptr<Engine> engine = open_rocksdb(many_files);
    for (int i = 0; i < kRows; i += 1000) {
      mutate(*engine, {}, {"k"}, [&](const Held&, Batch& batch) {
        for (int j = i; j < i + 1000; ++j) batch.put(key(j), value);
        batch.add("count", 1000);
      });
    }
  }
  const std::unique_ptr<Engine> engine = open_rocksdb(many_files);
  ThreadPool home("home", 1);
  EXPECT_TRUE(run_blocking(comes_home(*engine, &home, 0, 500)));
  for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
    Range range{"cold", "cole"};
    size_t rows = 0;
    for (bool more = true; more;) {
      const Rows page = scan(*engine, range, direction, {700, 300'000});
      rows += page.size();
      more = page.more();
      if (page.empty()) break;
      for (size_t i = 1; i < page.size(); ++i) {
        EXPECT_EQ(page.key(i - 1) < page.key(i), direction == Direction::kForward);
      }
      const std::string last(page.key(page.size() - 1));
      (direction == Direction::kForward ? range.begin : range.end) =
          direction == Direction::kForward ? last + '\0' : last;
    }
    EXPECT_EQ(rows, static_cast<size_t>(kRows));
  }
  std::vector<std::string> some;
  for (int i = 0; i < kRows; i += 997) some.push_back(key(i));
  for (const std::optional<std::string>& found : get_many(*engine, some)) EXPECT_EQ(found, value);
  for (int i = 0; i < kRows; i += 499) {
    mutate(*engine, {key(i + 1)}, {key(i)}, [&](const Held& held, Batch& batch) {
      EXPECT_EQ(held.exclusive(0), value);
      batch.put(key(i), "new");
      batch.add("count", 1);
    });
  }
  EXPECT_EQ(counter(*engine, "count"), kRows + (kRows + 498) / 499);
}

TEST(RocksdbEngine, a_write_that_fails_ends_all_writing_and_acknowledges_nothing) {
  for (const Durability durability : {Durability::kSync, Durability::kOs}) {
    const TempDirectory directory;
    {
      const std::unique_ptr<Engine> engine = open_rocksdb(options_for(directory, durability));
      EXPECT_TRUE(put(*engine, "before", "v").committed());
      // Files may not grow any more.
      std::signal(SIGXFSZ, SIG_IGN);
      rlimit old_limit{};
      ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
      rlimit new_limit = old_limit;
      new_limit.rlim_cur = 4096;
      ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &new_limit), 0);
      const Outcome failed = put(*engine, "failed", std::string(100'000, 'x'));
      ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
      EXPECT_EQ(failed.kind, Outcome::Kind::kFailed);
      EXPECT_NE(failed.detail.find("the store cannot be written"), std::string::npos)
          << failed.detail;
      // The disk is well again, but the log is not.
      const Outcome later = put(*engine, "later", "v");
      EXPECT_EQ(later.kind, Outcome::Kind::kFailed);
      EXPECT_NE(later.detail.find("the store cannot be written"), std::string::npos)
          << later.detail;
      EXPECT_EQ(get(*engine, "before"), "v");
      EXPECT_EQ(get(*engine, "failed"), std::nullopt);
      EXPECT_EQ(get(*engine, "later"), std::nullopt);
    }
    const std::unique_ptr<Engine> engine = open_rocksdb(options_for(directory, durability));
    EXPECT_EQ(get(*engine, "before"), "v");
    EXPECT_EQ(get(*engine, "later"), std::nullopt);
    EXPECT_TRUE(put(*engine, "later", "v").committed());
  }
}

TEST(RocksdbEngine, what_is_queued_is_committed_before_the_engine_ends) {
  const TempDirectory directory;
  constexpr int kChanges = 300;
  {
    std::unique_ptr<Engine> engine = open_rocksdb(options_for(directory));
    Changes changes(*engine, kChanges);
    for (int i = 0; i < kChanges; ++i) {
      const std::string key = "k" + std::to_string(i);
      changes.add("", {key}, [key](const Held&, Batch& batch) { batch.put(key, "v"); });
    }
    engine.reset();
    changes.wait();
  }
  EXPECT_EQ(scan(*open_rocksdb(options_for(directory)), {"k", "l"}).size(),
            static_cast<size_t>(kChanges));
}

TEST(RocksdbEngine, a_slowed_down_store_in_memory_still_takes_every_write) {
  const TempDirectory directory;
  RocksdbOptions options = options_for(directory, Durability::kMemory);
  options.write_buffer_bytes = 256 * 1024;
  const std::unique_ptr<Engine> engine = open_rocksdb(options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 400; ++i) {
        const std::string key = "k" + std::to_string(t) + "/" + std::to_string(i);
        const Outcome outcome = mutate(*engine, {"guard"}, {key}, [&](const Held&, Batch& batch) {
          batch.put(key, std::string(20'000, 'x'));
          batch.add("count", 1);
        });
        EXPECT_TRUE(outcome.committed()) << outcome.detail;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter(*engine, "count"), 1600);
  for (int i = 0; i < 400; ++i) EXPECT_TRUE(get(*engine, "k3/" + std::to_string(i)));
}

TEST(RocksdbEngine, a_reclaimed_range_gives_its_memory_back_and_keeps_its_neighbours) {
  const TempDirectory directory;
  const std::unique_ptr<Engine> engine = open_rocksdb(options_for(directory, Durability::kOs));
  for (int i = 0; i < 20; ++i) {
    mutate(*engine, {}, {}, [&](const Held&, Batch& batch) {
      for (const char c : {'a', 'b', 'c'}) {
        batch.put(std::string(1, c) + std::to_string(i), std::string(100'000, c));
      }
    });
  }
  mutate(*engine, {}, {"guard"}, [](const Held&, Batch& batch) { batch.erase_range({"b", "c"}); });
  engine->reclaim({"b", "c"});
  const auto bytes = [&] {
    uintmax_t sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path() / "rocksdb")) {
      std::error_code error;
      const uintmax_t size = entry.file_size(error);
      if (!error) sum += size;
    }
    return sum;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (bytes() > 5'000'000 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_LE(bytes(), 5'000'000u);
  EXPECT_EQ(scan(*engine, {"a", "b"}, Direction::kForward, {1000, 1 << 30}).size(), 20u);
  EXPECT_EQ(scan(*engine, {"b", "c"}).size(), 0u);
  EXPECT_EQ(scan(*engine, {"c", "d"}, Direction::kForward, {1000, 1 << 30}).size(), 20u);
}

}  // namespace
}  // namespace stator::engine
