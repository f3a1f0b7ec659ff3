// Frozen copies: one moment of an engine, beside it, until they are dropped.
#include "engine/frozen.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/adversary.h"
#include "engine_test_tools.h"

namespace stator::engine {
namespace {

enum class Flavour { kSync, kOs, kMemory, kAdversary };

class FrozenTest : public ::testing::TestWithParam<Flavour> {
 protected:
  FrozenTest() { open(); }

  void open() {
    engine_.reset();
    RocksdbOptions options;
    options.directory = directory_.path();
    options.durability = GetParam() == Flavour::kSync ? Durability::kSync
                         : GetParam() == Flavour::kOs ? Durability::kOs
                                                      : Durability::kMemory;
    engine_ = open_rocksdb(options);
    if (GetParam() == Flavour::kAdversary) engine_ = make_adversary(std::move(engine_), {});
  }
  bool is_kept() const { return GetParam() == Flavour::kSync || GetParam() == Flavour::kOs; }

  FrozenCopies& copies() { return frozen_copies(*engine_); }
  void freeze(const std::string& name) { run_blocking(copies().freeze(name, {"a", "z"})); }
  std::optional<std::string> frozen_get(const std::string& name, const std::string& key) {
    const auto view = copies().view_frozen(name);
    return get(*view, key);
  }

  TempDirectory directory_;
  std::unique_ptr<Engine> engine_;
};

TEST_P(FrozenTest, ACopyStaysAsItWas) {
  put(*engine_, "k1", "before");
  put(*engine_, "k2", "before");
  freeze("one");
  put(*engine_, "k1", "after");
  mutate(*engine_, {}, {"k2"}, [](const Held&, Batch& batch) { batch.erase("k2"); });
  freeze("two");
  EXPECT_EQ(frozen_get("one", "k1"), "before");
  EXPECT_EQ(frozen_get("one", "k2"), "before");
  EXPECT_EQ(frozen_get("two", "k1"), "after");
  EXPECT_EQ(frozen_get("two", "k2"), std::nullopt);
  EXPECT_EQ(copies().frozen(), (std::vector<std::string>{"one", "two"}));
  run_blocking(copies().drop_frozen("one"));
  run_blocking(copies().drop_frozen("never made"));
  EXPECT_EQ(copies().frozen(), std::vector<std::string>{"two"});
  EXPECT_THROW(copies().view_frozen("one"), EngineError);
  EXPECT_EQ(frozen_get("two", "k1"), "after");
}

TEST_P(FrozenTest, ACopyOutlivesARestart) {
  if (!is_kept()) GTEST_SKIP();
  put(*engine_, "k", "before");
  freeze("one");
  put(*engine_, "k", "after");
  open();
  EXPECT_EQ(copies().frozen(), std::vector<std::string>{"one"});
  EXPECT_EQ(frozen_get("one", "k"), "before");
}

TEST_P(FrozenTest, ACopyHoldsWhatWasAcknowledgedAndNoTornChange) {
  std::atomic<bool> stop = false;
  std::atomic<int> acknowledged = 0;
  std::thread writer([&] {
    for (int i = 1; !stop; ++i) {
      const std::string value = std::to_string(i);
      mutate(*engine_, {}, {"left", "right"}, [&](const Held&, Batch& batch) {
        batch.put("left", value);
        batch.put("right", value);
      });
      acknowledged = i;
    }
  });
  for (int i = 0; i < 8; ++i) {
    while (acknowledged < i * 5 + 1) std::this_thread::yield();
    const int least = acknowledged;
    const std::string name = "copy" + std::to_string(i);
    freeze(name);
    const int most = acknowledged + 1;
    const auto left = frozen_get(name, "left");
    ASSERT_TRUE(left);
    EXPECT_EQ(left, frozen_get(name, "right"));
    EXPECT_GE(std::stoi(*left), least);
    EXPECT_LE(std::stoi(*left), most);
  }
  stop = true;
  writer.join();
}

INSTANTIATE_TEST_SUITE_P(Engines, FrozenTest,
                         ::testing::Values(Flavour::kSync, Flavour::kOs, Flavour::kMemory,
                                           Flavour::kAdversary));

}  // namespace
}  // namespace stator::engine
