// What engine.h promises, on every engine and durability.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "engine/adversary.h"
#include "engine_test_tools.h"

namespace stator::engine {
namespace {

enum class Flavour { kSync, kOs, kMemory, kAdversary };

class EngineContract : public testing::TestWithParam<Flavour> {
 protected:
  void SetUp() override { open(); }

  void open() {
    engine_.reset();
    RocksdbOptions options;
    options.directory = directory_.path();
    options.block_cache_bytes = 8 * 1024 * 1024;
    options.clock = &clock_;
    switch (GetParam()) {
      case Flavour::kSync:
        options.durability = Durability::kSync;
        break;
      case Flavour::kOs:
        options.durability = Durability::kOs;
        break;
      case Flavour::kMemory:
      case Flavour::kAdversary:
        options.durability = Durability::kMemory;
        break;
    }
    engine_ = open_rocksdb(options);
    if (GetParam() == Flavour::kAdversary) engine_ = make_adversary(std::move(engine_), {});
  }
  bool keeps_data() const { return GetParam() == Flavour::kSync || GetParam() == Flavour::kOs; }

  uint64_t version_at(int64_t second) { return run_blocking(engine_->version_at(second)); }

  ManualClock clock_{1'000'000'000LL * 1'000'000};
  TempDirectory directory_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(EngineContract, a_put_is_seen_by_a_new_view_and_not_by_an_old_one) {
  const std::unique_ptr<View> before = engine_->view();
  const Outcome outcome = put(*engine_, "k", "v");
  EXPECT_TRUE(outcome.committed());
  EXPECT_GE(engine_->committed_version(), outcome.version);
  EXPECT_EQ(get(*engine_, "k"), "v");
  EXPECT_EQ(get(*before, "k"), std::nullopt);
}

TEST_P(EngineContract, the_body_sees_what_its_keys_hold) {
  put(*engine_, "a", "1");
  put(*engine_, "b", "2");
  std::vector<std::optional<std::string>> seen;
  const Outcome outcome =
      mutate(*engine_, {"a", "none"}, {"b", "c"}, [&](const Held& held, Batch& batch) {
        seen = {held.shared(0), held.shared(1), held.exclusive(0), held.exclusive(1)};
        batch.put("b", "3");
        batch.erase("c");
      });
  EXPECT_TRUE(outcome.committed());
  EXPECT_EQ(seen, (std::vector<std::optional<std::string>>{"1", std::nullopt, "2", std::nullopt}));
  EXPECT_EQ(get(*engine_, "b"), "3");
}

TEST_P(EngineContract, a_key_may_be_named_twice_and_shared_and_exclusive_at_once) {
  const Outcome outcome =
      mutate(*engine_, {"k", "k"}, {"k"}, [](const Held&, Batch& batch) { batch.put("k", "v"); });
  EXPECT_TRUE(outcome.committed());
  EXPECT_EQ(get(*engine_, "k"), "v");
}

TEST_P(EngineContract, a_batch_is_applied_in_order) {
  mutate(*engine_, {}, {"k"}, [](const Held&, Batch& batch) {
    batch.put("k", "1");
    batch.erase("k");
    batch.put("k", "2");
    batch.put("l", "1");
    batch.erase("l");
  });
  EXPECT_EQ(get(*engine_, "k"), "2");
  EXPECT_EQ(get(*engine_, "l"), std::nullopt);
}

TEST_P(EngineContract, concurrent_increments_of_one_key_are_isolated) {
  constexpr int kThreads = 8;
  constexpr int kEach = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        const Outcome outcome =
            mutate(*engine_, {"guard"}, {"hot"}, [](const Held& held, Batch& batch) {
              const int before = held.exclusive(0) ? std::stoi(*held.exclusive(0)) : 0;
              batch.put("hot", std::to_string(before + 1));
            });
        EXPECT_TRUE(outcome.committed()) << outcome.detail;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(get(*engine_, "hot"), std::to_string(kThreads * kEach));
}

TEST_P(EngineContract, changes_started_together_on_one_key_all_count) {
  constexpr int kChanges = 500;
  std::atomic<int> done = 0;
  std::binary_semaphore finished(0);
  const auto increment = [](const Held& held, Batch& batch) {
    const int before = held.exclusive(0) ? std::stoi(*held.exclusive(0)) : 0;
    batch.put("hot", std::to_string(before + 1));
  };
  for (int i = 0; i < kChanges; ++i) {
    start(mutate_until_done(*engine_, {}, {"hot"}, increment),
          [&](std::exception_ptr, std::optional<Outcome> outcome) {
            EXPECT_TRUE(outcome && outcome->committed());
            if (++done == kChanges) finished.release();
          });
  }
  finished.acquire();
  EXPECT_EQ(get(*engine_, "hot"), std::to_string(kChanges));
}

TEST_P(EngineContract, transfers_between_many_keys_keep_their_sum) {
  constexpr int kKeys = 8;
  constexpr int kThreads = 6;
  const auto key = [](int i) { return "account" + std::to_string(i); };
  for (int i = 0; i < kKeys; ++i) put(*engine_, key(i), "100");
  std::atomic<bool> stop = false;
  std::thread observer([&] {
    while (!stop) {
      const std::optional<Rows> rows = try_scan(*engine_, {"account", "accounu"});
      if (!rows) continue;
      int sum = 0;
      for (size_t i = 0; i < rows->size(); ++i) sum += std::stoi(std::string(rows->value(i)));
      EXPECT_EQ(sum, kKeys * 100);
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::minstd_rand random(static_cast<unsigned>(t + 1));
      for (int i = 0; i < 100; ++i) {
        const std::string from = key(static_cast<int>(random() % kKeys));
        const std::string to = key(static_cast<int>(random() % kKeys));
        if (from == to) continue;
        mutate(*engine_, {}, {from, to}, [&](const Held& held, Batch& batch) {
          batch.put(from, std::to_string(std::stoi(*held.exclusive(0)) - 1));
          batch.put(to, std::to_string(std::stoi(*held.exclusive(1)) + 1));
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  observer.join();
}

TEST_P(EngineContract, a_key_held_alone_keeps_sharers_out_until_patience_ends) {
  std::binary_semaphore holding(0);
  std::binary_semaphore let_go(0);
  std::once_flag once;
  std::thread holder([&] {
    mutate(*engine_, {}, {"guard"}, [&](const Held&, Batch& batch) {
      std::call_once(once, [&] {
        holding.release();
        let_go.acquire();
      });
      batch.put("guard", "2");
    });
  });
  holding.acquire();
  bool ran = false;
  const Outcome outcome = mutate(
      *engine_, {"guard"}, {"k"}, [&](const Held&, Batch&) { ran = true; },
      std::chrono::milliseconds(30));
  EXPECT_EQ(outcome.kind, Outcome::Kind::kTimedOut);
  const Outcome at_once = mutate(
      *engine_, {"guard"}, {}, [&](const Held&, Batch&) { ran = true; },
      std::chrono::milliseconds(0));
  EXPECT_EQ(at_once.kind, Outcome::Kind::kTimedOut);
  EXPECT_FALSE(ran);
  // Everything the one who gave up held is free again.
  const Outcome other =
      mutate(*engine_, {}, {"k"}, [](const Held&, Batch& batch) { batch.put("k", "v"); });
  EXPECT_TRUE(other.committed());
  let_go.release();
  holder.join();
  EXPECT_TRUE(mutate(*engine_, {"guard"}, {}, [&](const Held& held, Batch&) {
                EXPECT_EQ(held.shared(0), "2");
              }).committed());
}

TEST_P(EngineContract, sharers_of_a_key_do_not_keep_each_other_out) {
  std::binary_semaphore holding(0);
  std::binary_semaphore let_go(0);
  std::once_flag once;
  std::thread holder([&] {
    mutate(*engine_, {"guard"}, {"a"}, [&](const Held&, Batch& batch) {
      std::call_once(once, [&] {
        holding.release();
        let_go.acquire();
      });
      batch.put("a", "1");
    });
  });
  holding.acquire();
  const Outcome sharer =
      mutate(*engine_, {"guard"}, {"b"}, [](const Held&, Batch& batch) { batch.put("b", "1"); });
  EXPECT_TRUE(sharer.committed());
  const Outcome owner = mutate(
      *engine_, {}, {"guard"}, [](const Held&, Batch&) {}, std::chrono::milliseconds(20));
  EXPECT_EQ(owner.kind, Outcome::Kind::kTimedOut);
  let_go.release();
  holder.join();
}

TEST_P(EngineContract, an_exception_of_the_body_reaches_the_awaiter_and_writes_nothing) {
  const auto body = [](const Held&, Batch& batch) {
    batch.put("k", "v");
    throw std::logic_error("no");
  };
  EXPECT_THROW(mutate(*engine_, {"guard"}, {"k"}, body), std::logic_error);
  EXPECT_EQ(get(*engine_, "k"), std::nullopt);
  EXPECT_TRUE(put(*engine_, "k", "w").committed());
}

TEST_P(EngineContract, an_empty_batch_commits_nothing) {
  const uint64_t before = put(*engine_, "k", "v").version;
  const Outcome outcome = mutate(*engine_, {}, {"k"}, [](const Held&, Batch&) {});
  EXPECT_TRUE(outcome.committed());
  EXPECT_EQ(outcome.version, before);
}

TEST_P(EngineContract, adds_of_many_threads_sum_up) {
  constexpr int kThreads = 4;
  constexpr int kEach = 100;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        mutate(*engine_, {}, {"k" + std::to_string(t)}, [](const Held&, Batch& batch) {
          batch.add("count", 3);
          batch.add("count", -1);
          batch.add("other", -1);
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter(*engine_, "count"), kThreads * kEach * 2);
  EXPECT_EQ(counter(*engine_, "other"), -kThreads * kEach);
}

TEST_P(EngineContract, a_held_counter_counts_every_add_that_was_acknowledged_before) {
  // Adders wait for each other, so that some adds are queued while a reader looks.
  constexpr int kAdds = 300;
  std::atomic<int64_t> started = 0;
  std::atomic<int64_t> finished = 0;
  std::vector<std::thread> adders;
  for (int t = 0; t < 3; ++t) {
    adders.emplace_back([&] {
      for (int i = 0; i < kAdds; ++i) {
        ++started;
        mutate(*engine_, {}, {}, [](const Held&, Batch& batch) { batch.add("count", 1); });
        ++finished;
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    const int64_t at_least = finished;
    int64_t seen = 0;
    const Outcome outcome = mutate(*engine_, {"count"}, {}, [&](const Held& held, Batch&) {
      seen = held.shared(0) ? decode(*held.shared(0)) : 0;
    });
    EXPECT_TRUE(outcome.committed());
    const int64_t at_most = started;
    EXPECT_GE(seen, at_least);
    EXPECT_LE(seen, at_most);
  }
  for (std::thread& adder : adders) adder.join();
  EXPECT_EQ(counter(*engine_, "count"), 3 * kAdds);
}

TEST_P(EngineContract, a_counter_goes_on_from_what_was_put_or_erased) {
  const auto add = [&](int64_t delta) {
    mutate(*engine_, {}, {}, [&](const Held&, Batch& batch) { batch.add("n", delta); });
  };
  add(5);
  put(*engine_, "n", std::string("\x0a\0\0\0\0\0\0\0", 8));
  add(1);
  EXPECT_EQ(counter(*engine_, "n"), 11);
  mutate(*engine_, {}, {"n"}, [](const Held&, Batch& batch) { batch.erase("n"); });
  EXPECT_EQ(get(*engine_, "n"), std::nullopt);
  add(2);
  EXPECT_EQ(counter(*engine_, "n"), 2);
  mutate(*engine_, {}, {"n"}, [](const Held&, Batch& batch) {
    batch.add("n", 100);
    batch.erase_range({"n", "o"});
    batch.add("n", 7);
    batch.add("o", 1);
  });
  EXPECT_EQ(counter(*engine_, "n"), 7);
  mutate(*engine_, {}, {"n"}, [](const Held&, Batch& batch) {
    batch.add("n", 1);
    batch.put("n", std::string("\x01\0\0\0\0\0\0\0", 8));
    batch.add("n", 1);
  });
  EXPECT_EQ(counter(*engine_, "n"), 2);
  mutate(*engine_, {}, {"n"}, [](const Held&, Batch& batch) {
    batch.add("n", 1);
    batch.erase("n");
  });
  EXPECT_EQ(get(*engine_, "n"), std::nullopt);
}

TEST_P(EngineContract, appends_are_ordered_by_version_and_ordinal) {
  std::vector<uint64_t> versions;
  for (int i = 0; i < 3; ++i) {
    const Outcome outcome = mutate(*engine_, {}, {"k"}, [](const Held&, Batch& batch) {
      batch.append("log/", "first");
      batch.put("k", "v");
      batch.append("log/", "second");
      batch.append("other/", "third");
    });
    versions.push_back(outcome.version);
  }
  EXPECT_LT(versions[0], versions[1]);
  EXPECT_LT(versions[1], versions[2]);
  const Rows rows = scan(*engine_, {"log/", "log0"});
  ASSERT_EQ(rows.size(), 6u);
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string_view key = rows.key(i);
    ASSERT_EQ(key.size(), 4u + 12u);
    EXPECT_EQ(big_endian(key.substr(4, 8)), versions[i / 2]);
    EXPECT_EQ(big_endian(key.substr(12, 4)), i % 2);
    EXPECT_EQ(rows.value(i), i % 2 == 0 ? "first" : "second");
  }
  const Rows others = scan(*engine_, {"other/", "other0"});
  ASSERT_EQ(others.size(), 3u);
  EXPECT_EQ(big_endian(others.key(0).substr(14, 4)), 2u);
}

TEST_P(EngineContract, versions_of_concurrent_changes_are_distinct_and_rise) {
  constexpr int kThreads = 4;
  std::vector<std::vector<uint64_t>> versions(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        versions[static_cast<size_t>(t)].push_back(
            put(*engine_, "k" + std::to_string(t), "v").version);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<uint64_t> all;
  for (const auto& own : versions) {
    EXPECT_TRUE(std::is_sorted(own.begin(), own.end()));
    all.insert(all.end(), own.begin(), own.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()), all.end());
  EXPECT_GE(engine_->committed_version(), all.back());
}

TEST_P(EngineContract, a_second_tells_versions_before_it_from_those_after) {
  constexpr int64_t kSecond_us = 1'000'000;
  const int64_t start_s = clock_.now_s();
  const uint64_t first = put(*engine_, "k", "0").version;
  clock_.advance_us(kSecond_us);
  const uint64_t second = put(*engine_, "k", "1").version;
  put(*engine_, "k", "2");
  clock_.advance_us(3 * kSecond_us);
  EXPECT_EQ(version_at(start_s + 2), engine_->committed_version() + 1);
  const uint64_t fourth = put(*engine_, "k", "3").version;
  EXPECT_LE(version_at(start_s), first);
  EXPECT_EQ(version_at(start_s + 1), second);
  EXPECT_EQ(version_at(start_s + 2), fourth);
  EXPECT_EQ(version_at(start_s + 4), fourth);
  EXPECT_EQ(version_at(start_s + 5), engine_->committed_version() + 1);
  if (!keeps_data()) return;
  open();
  clock_.advance_us(kSecond_us);
  put(*engine_, "k", "4");
  EXPECT_EQ(version_at(start_s + 1), second);
  EXPECT_EQ(version_at(start_s + 3), fourth);
}

TEST_P(EngineContract, a_clock_set_back_leaves_versions_in_order) {
  const int64_t start_s = clock_.now_s();
  clock_.advance_us(10 * 1'000'000);
  const uint64_t first = put(*engine_, "k", "0").version;
  clock_.advance_us(-9 * 1'000'000);
  const uint64_t second = put(*engine_, "k", "1").version;
  clock_.advance_us(10 * 1'000'000);
  const uint64_t third = put(*engine_, "k", "2").version;
  EXPECT_EQ(version_at(start_s + 1), first);
  EXPECT_EQ(version_at(start_s + 11), third);
  EXPECT_LT(second, third);
}

TEST_P(EngineContract, a_scan_keeps_to_its_range_direction_and_limits) {
  mutate(*engine_, {}, {}, [](const Held&, Batch& batch) {
    for (const char c : std::string("abcdefg")) batch.put(std::string("k") + c, std::string(10, c));
    batch.put("j", "below");
    batch.put("l", "above");
  });
  EXPECT_EQ(keys(scan(*engine_, {"k", "l"})), "ka kb kc kd ke kf kg");
  EXPECT_EQ(keys(scan(*engine_, {"k", "l"}, Direction::kBackward)), "kg kf ke kd kc kb ka");
  EXPECT_EQ(keys(scan(*engine_, {"kb", "kd"})), "kb kc");
  EXPECT_EQ(keys(scan(*engine_, {"kb", "kd"}, Direction::kBackward)), "kc kb");
  EXPECT_EQ(keys(scan(*engine_, {"kb2", "kd2"}, Direction::kBackward)), "kd kc");
  EXPECT_EQ(keys(scan(*engine_, {"l", "k"})), "");
  EXPECT_EQ(keys(scan(*engine_, {"k", "k"})), "");
  EXPECT_EQ(keys(scan(*engine_, {"", "\xff\xff"})), "j ka kb kc kd ke kf kg l");

  const Rows two = scan(*engine_, {"k", "l"}, Direction::kForward, {2, 1000});
  EXPECT_EQ(keys(two), "ka kb");
  EXPECT_TRUE(two.more());
  const Rows last = scan(*engine_, {"kf", "l"}, Direction::kForward, {2, 1000});
  EXPECT_EQ(keys(last), "kf kg");
  EXPECT_FALSE(last.more());
  const Rows by_bytes = scan(*engine_, {"k", "l"}, Direction::kBackward, {100, 25});
  EXPECT_EQ(keys(by_bytes), "kg kf");
  EXPECT_TRUE(by_bytes.more());
  const Rows at_least_one = scan(*engine_, {"k", "l"}, Direction::kForward, {100, 1});
  EXPECT_EQ(keys(at_least_one), "ka");
  EXPECT_TRUE(at_least_one.more());
}

TEST_P(EngineContract, get_many_answers_in_order) {
  put(*engine_, "a", "1");
  put(*engine_, "c", "");
  EXPECT_EQ(get_many(*engine_, {"c", "b", "a", "a"}),
            (std::vector<std::optional<std::string>>{"", std::nullopt, "1", "1"}));
}

TEST_P(EngineContract, an_erased_range_is_gone_and_may_be_reclaimed) {
  mutate(*engine_, {}, {}, [](const Held&, Batch& batch) {
    for (int i = 0; i < 1000; ++i) batch.put("t" + std::to_string(i), std::string(100, 'x'));
    batch.put("u", "stays");
  });
  const std::unique_ptr<View> before = engine_->view();
  mutate(*engine_, {}, {"guard"}, [](const Held&, Batch& batch) { batch.erase_range({"t", "u"}); });
  EXPECT_TRUE(scan(*engine_, {"t", "u"}).empty());
  engine_->reclaim({"t", "u"});
  EXPECT_EQ(get(*engine_, "u"), "stays");
  if (GetParam() != Flavour::kAdversary) {
    EXPECT_EQ(get(*before, "t500"), std::string(100, 'x'));
  }
}

TEST_P(EngineContract, an_erased_range_is_gone_for_a_change_right_behind_it) {
  put(*engine_, "t1", "old");
  std::binary_semaphore finished(0);
  std::atomic<int> left = 2;
  const auto done = [&](std::exception_ptr, std::optional<Outcome>) {
    if (--left == 0) finished.release();
  };
  start(mutate_until_done(*engine_, {}, {"t"},
                          [](const Held&, Batch& batch) {
                            batch.erase_range({"t", "u"});
                          }),
        done);
  std::optional<std::string> seen = "nothing";
  start(mutate_until_done(*engine_, {"t"}, {"t1"},
                          [&](const Held& held, Batch& batch) {
                            seen = held.exclusive(0);
                            batch.put("t1", "new");
                          }),
        done);
  finished.acquire();
  if (GetParam() != Flavour::kAdversary) {
    EXPECT_EQ(seen, std::nullopt);
    EXPECT_EQ(get(*engine_, "t1"), "new");
  }
}

TEST_P(EngineContract, limits_are_named_when_they_are_crossed) {
  const std::string longest(kMaxKeyBytes, 'k');
  EXPECT_TRUE(put(*engine_, longest, "v").committed());
  EXPECT_EQ(get(*engine_, longest), "v");
  EXPECT_THROW(put(*engine_, longest + "k", "v"), EngineError);
  const auto too_large = [](const Held&, Batch& batch) {
    batch.put("k", std::string(kMaxBatchBytes / 2, 'x'));
    batch.put("l", std::string(kMaxBatchBytes / 2, 'x'));
  };
  try {
    mutate(*engine_, {}, {"k"}, too_large);
    FAIL();
  } catch (const EngineError& error) {
    EXPECT_NE(std::string(error.what()).find("8388608"), std::string::npos) << error.what();
  }
  const Outcome large = mutate(*engine_, {}, {"k"}, [](const Held&, Batch& batch) {
    batch.put("k", std::string(kMaxBatchBytes - 1, 'x'));
    batch.append("log/", std::string(kMaxBatchBytes, 'x'));
  });
  EXPECT_TRUE(large.committed());
  EXPECT_THROW(mutate(*engine_, {}, {"k"},
                      [](const Held&, Batch& batch) {
                        batch.append("log/", std::string(kMaxAppendedBytes, 'x'));
                      }),
               EngineError);
}

TEST_P(EngineContract, many_large_changes_pass_the_gate) {
  constexpr int kChanges = 60;
  std::atomic<int> done = 0;
  std::binary_semaphore finished(0);
  for (int i = 0; i < kChanges; ++i) {
    const std::string key = "k" + std::to_string(i);
    start(mutate_until_done(
              *engine_, {}, {key},
              [key](const Held&, Batch& batch) { batch.put(key, std::string(2'000'000, 'x')); }),
          [&](std::exception_ptr, std::optional<Outcome> outcome) {
            EXPECT_TRUE(outcome && outcome->committed());
            if (++done == kChanges) finished.release();
          });
  }
  finished.acquire();
  for (int i = 0; i < kChanges; ++i) EXPECT_TRUE(get(*engine_, "k" + std::to_string(i)));
}

TEST_P(EngineContract, everything_acknowledged_is_there_after_a_reopen_and_versions_go_on) {
  uint64_t version = 0;
  for (int i = 0; i < 50; ++i) {
    const std::string key = "k" + std::to_string(i);
    version = mutate(*engine_, {}, {key}, [&](const Held&, Batch& batch) {
                batch.put(key, "v");
                batch.add("count", 1);
                batch.append("log/", key);
              }).version;
  }
  open();
  if (!keeps_data()) {
    EXPECT_EQ(get(*engine_, "k0"), std::nullopt);
    return;
  }
  EXPECT_GE(engine_->committed_version(), version);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(get(*engine_, "k" + std::to_string(i)), "v");
  EXPECT_EQ(counter(*engine_, "count"), 50);
  const Outcome outcome = mutate(*engine_, {}, {"k0"}, [](const Held&, Batch& batch) {
    batch.add("count", 1);
    batch.append("log/", "after");
  });
  EXPECT_GT(outcome.version, version);
  EXPECT_EQ(counter(*engine_, "count"), 51);
  const Rows log = scan(*engine_, {"log/", "log0"});
  ASSERT_EQ(log.size(), 51u);
  EXPECT_EQ(log.value(50), "after");
}

std::string flavour_name(const testing::TestParamInfo<Flavour>& info) {
  switch (info.param) {
    case Flavour::kSync:
      return "sync";
    case Flavour::kOs:
      return "os";
    case Flavour::kMemory:
      return "memory";
    case Flavour::kAdversary:
      return "adversary";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineContract,
                         testing::Values(Flavour::kSync, Flavour::kOs, Flavour::kMemory,
                                         Flavour::kAdversary),
                         flavour_name);

}  // namespace
}  // namespace stator::engine
