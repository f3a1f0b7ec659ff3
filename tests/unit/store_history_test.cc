// The reader of the past against a model that knows the table at every version, with keys that are
// hard to keep apart.
#include "store/history.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "common/bytes.h"
#include "engine/adversary.h"
#include "engine/rocksdb/rocksdb_engine.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "store/change.h"

namespace stator::store {
namespace {

using namespace std::string_literals;

constexpr int64_t kDay_us = kDay_s * 1'000'000;

class HistoryTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  HistoryTest() {
    engine::RocksdbOptions options;
    options.durability = engine::Durability::kMemory;
    engine_ = engine::open_rocksdb(options);
    if (GetParam() != 0) {
      engine::AdversaryOptions adversary;
      adversary.seed = GetParam();
      engine_ = engine::make_adversary(std::move(engine_), adversary);
    }
    schema_.number = 7;
    schema_.key.partition = {{"pk", model::KeyType::kString}};
    schema_.key.sort = {{"sk", model::KeyType::kBinary}};
    schema_.history_era = 3;
  }

  std::string key_of(const std::string& pk, const std::string& sk) {
    const model::Value sort = model::Value::binary(sk);
    return model::item_key(schema_.number, model::Value::string(pk), &sort);
  }

  // Writes a value, or deletes with none; returns the version.
  uint64_t write(const std::string& pk, const std::string& sk, std::optional<int> value) {
    const std::string key = key_of(pk, sk);
    for (;;) {
      engine::Mutation mutation;
      mutation.exclusive = {key};
      mutation.body = [&](const engine::Held& held, engine::Batch& batch) {
        std::optional<Image> old;
        if (held.exclusive(0)) {
          old = Image{};
          old->record = *held.exclusive(0);
        }
        std::optional<Image> fresh;
        model::Item item;
        if (value) {
          item.set("pk", model::Value::string(pk));
          item.set("sk", model::Value::binary(sk));
          item.set("v", model::Value::number(model::Number::from_int(*value)));
          fresh = Image{&item, model::size_bytes(item)};
        }
        write_change(schema_, old, fresh, key, now_us_, batch);
      };
      const engine::Outcome outcome = run_blocking(engine_->mutate(std::move(mutation)));
      if (!outcome.committed()) continue;
      const std::string rest = key.substr(model::items_prefix(schema_.number).size());
      if (value) {
        model_[rest] = *value;
      } else {
        model_.erase(rest);
      }
      return outcome.version;
    }
  }

  static int value_of(std::string_view record) {
    const model::Item item = model::decode_record(record);
    return static_cast<int>(item.find("v")->as_number().to_int64().value_or(-1));
  }

  using Model = std::map<std::string, int>;
  Model read(const Past& past, engine::ScanLimit limit) {
    Model found;
    std::string from;
    std::string last;
    for (;;) {
      const PastPage page = run_blocking(read_past(*engine_, past, from, limit));
      for (size_t i = 0; i < page.items.size(); ++i) {
        const std::string key(page.items.key(i));
        EXPECT_TRUE(found.empty() || key > last);
        last = key;
        found[key] = value_of(page.items.value(i));
      }
      if (!page.next) return found;
      from = *page.next;
    }
  }

  std::unique_ptr<engine::Engine> engine_;
  model::TableSchema schema_;
  int64_t now_us_ = 20'000 * kDay_us;
  Model model_;
};

TEST_P(HistoryTest, EveryVersionReadsAsItWas) {
  std::mt19937 random(5);
  const std::vector<std::string> sorts = {"",         "a",      "a\0"s,      "a\0\0"s, "a\0\1"s,
                                          "a\0\xff"s, "a\xff"s, "\xff\xff"s, "b",      "\0"s};
  std::map<uint64_t, std::pair<int64_t, Model>> before;  // version -> its day, the table before it
  for (int i = 0; i < 1500; ++i) {
    const std::string pk = random() % 5 == 0 ? "hot" : std::string(1, char('a' + random() % 3));
    const std::string& sk = pk == "hot" ? sorts[0] : sorts[random() % sorts.size()];
    const Model then = model_;
    const uint64_t version = write(
        pk, sk,
        random() % 4 == 0 ? std::nullopt : std::optional<int>(static_cast<int>(random() % 50)));
    // A delete of nothing commits nothing and has no version of its own.
    if (!before.contains(version)) before[version] = {now_us_ / kDay_us, then};
    // A change may be dated a little earlier than one that was committed before it.
    if (random() % 100 == 0) now_us_ += kDay_us / 3;
  }
  for (int i = 0; i < 24; ++i) {
    auto at = before.begin();
    std::advance(at, random() % before.size());
    const Past past{.table = 7,
                    .era = 3,
                    .first_day = static_cast<uint32_t>(at->second.first - 1),
                    .cut = at->first};
    const size_t rows = 3 + random() % 7;
    EXPECT_EQ(read(past, {.rows = i % 2 == 0 ? rows : 1000, .bytes = 1 << 20}), at->second.second);
  }
}

TEST_P(HistoryTest, ChangesBetweenTwoVersionsHaveBothEnds) {
  std::mt19937 random(9);
  std::vector<std::pair<uint64_t, Model>> tables;  // a version and the table before it
  std::vector<std::pair<uint64_t, std::string>> changed;
  for (int i = 0; i < 400; ++i) {
    const std::string pk(1, char('a' + random() % 12));
    const Model then = model_;
    const std::optional<int> value =
        random() % 3 == 0 ? std::nullopt : std::optional<int>(static_cast<int>(random() % 4));
    const uint64_t version = write(pk, "", value);
    if (tables.empty() || tables.back().first != version) tables.emplace_back(version, then);
    if (model_ != then) {
      const std::string rest = key_of(pk, "").substr(model::items_prefix(schema_.number).size());
      changed.emplace_back(version, rest);
    }
    if (random() % 40 == 0) now_us_ += kDay_us / 2;
  }
  for (int i = 0; i < 14; ++i) {
    size_t first = random() % tables.size();
    size_t second = random() % tables.size();
    if (first > second) std::swap(first, second);
    const auto& [begin, table_at_begin] = tables[first];
    const auto& [end, table_at_end] = tables[second];
    const Past past{.table = 7, .era = 3, .first_day = 19'999, .cut = begin};
    std::map<std::string, std::pair<std::optional<int>, std::optional<int>>> found;
    std::string from;
    for (;;) {
      const PastChanges page = run_blocking(
          read_changes(*engine_, past, end, from, {.rows = 3 + i % 5U, .bytes = 1 << 20}));
      for (const PastChange& change : page.changes) {
        EXPECT_GE(change.written_us, 20'000 * kDay_us);
        found[change.key] = {change.before ? std::optional(value_of(*change.before)) : std::nullopt,
                             change.after ? std::optional(value_of(*change.after)) : std::nullopt};
      }
      if (!page.next) break;
      from = *page.next;
    }
    std::map<std::string, std::pair<std::optional<int>, std::optional<int>>> expected;
    const auto value_in = [](const Model& table, const std::string& key) {
      const auto at = table.find(key);
      return at == table.end() ? std::nullopt : std::optional(at->second);
    };
    for (const auto& [version, key] : changed) {
      if (version >= begin && version < end)
        expected[key] = {value_in(table_at_begin, key), value_in(table_at_end, key)};
    }
    EXPECT_EQ(found, expected);
  }
}

TEST_P(HistoryTest, AWriteThatChangesNothingLeavesNothing) {
  write("a", "", 1);
  write("a", "", 1);
  write("b", "", std::nullopt);
  const std::string prefix = model::history_prefix(7);
  for (;;) {
    try {
      const engine::Rows rows = run_blocking(
          engine_->view()->scan({prefix, prefix_end(prefix)}, engine::Direction::kForward, {}));
      EXPECT_EQ(rows.size(), 1U);
      return;
    } catch (const engine::ViewExpired&) {
    }
  }
}

TEST_P(HistoryTest, HistoryFromBeforeTheCutIsReadOnce) {
  constexpr int kItems = 60'000;
  constexpr int kTogether = 2'000;
  for (int begin = 0; begin < kItems;) {
    engine::Mutation mutation;
    mutation.exclusive = {"batch"};
    mutation.body = [&](const engine::Held&, engine::Batch& batch) {
      for (int i = begin; i < begin + kTogether; ++i) {
        model::Item item;
        const model::Value pk = model::Value::string("item-" + std::to_string(i));
        const model::Value sk = model::Value::binary("");
        item.set("pk", pk);
        item.set("sk", sk);
        item.set("v", model::Value::number(model::Number::from_int(i)));
        write_change(schema_, std::nullopt, Image{&item, model::size_bytes(item)},
                     model::item_key(schema_.number, pk, &sk), now_us_, batch);
      }
    };
    if (run_blocking(engine_->mutate(std::move(mutation))).committed()) begin += kTogether;
  }
  const Past past{.table = 7,
                  .era = 3,
                  .first_day = static_cast<uint32_t>(now_us_ / kDay_us),
                  .cut = engine_->committed_version() + 1};
  size_t items = 0;
  int pages = 0;
  for (std::optional<std::string> from = ""; from; ++pages) {
    PastPage page =
        run_blocking(read_past(*engine_, past, *from, {.rows = 10'000, .bytes = 1 << 24}));
    items += page.items.size();
    from = std::move(page.next);
  }
  EXPECT_EQ(items, static_cast<size_t>(kItems));
  EXPECT_LE(pages, 8);
}

INSTANTIATE_TEST_SUITE_P(Engines, HistoryTest, ::testing::Values(0, 11));

}  // namespace
}  // namespace stator::store
