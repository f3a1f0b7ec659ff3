#include "catalog/catalog.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "catalog_testing.h"
#include "engine/adversary.h"
#include "engine/rocksdb/rocksdb_engine.h"
#include "model/error.h"

namespace stator::catalog {
namespace {

constexpr int64_t kDelayMs = 1000;

std::unique_ptr<engine::Engine> memory_engine() {
  return engine::open_rocksdb({.directory = {}, .durability = engine::Durability::kMemory});
}

class CatalogTest : public testing::TestWithParam<bool> {
 protected:
  CatalogTest() {
    engine_ = memory_engine();
    if (GetParam()) engine_ = engine::make_adversary(std::move(engine_), {.seed = 7});
    reopen();
  }

  void reopen() {
    catalog_ = std::make_unique<Catalog>(
        *engine_, clock_,
        CatalogOptions{
            .region = "eu-west-1", .account = "123456789012", .table_delay_ms = kDelayMs});
  }

  void advance_ms(int64_t by_ms) { clock_.advance_us(by_ms * 1000); }

  TablePtr create(const std::string& name) {
    return run_blocking(catalog_->create(make_table(name)));
  }
  TablePtr create_active(const std::string& name) {
    auto table = create(name);
    advance_ms(kDelayMs);
    return table;
  }
  TablePtr remove(const std::string& name) {
    return run_blocking(catalog_->remove(name, [](const Table&) {}));
  }

  std::optional<std::string> guard(model::TableNumber table) {
    for (;;) {
      try {
        return run_blocking(engine_->view()->get(schema_guard_key(table)));
      } catch (const engine::ViewExpired&) {
      }
    }
  }

  std::vector<std::string> names(std::string_view after = {}, size_t limit = SIZE_MAX) {
    std::vector<std::string> names;
    for (const auto& table : catalog_->list(after, limit)) names.push_back(table->name());
    return names;
  }

  ManualClock clock_{1'700'000'000'000'000};
  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<Catalog> catalog_;
};

INSTANTIATE_TEST_SUITE_P(Engines, CatalogTest, testing::Values(false, true),
                         [](const auto& info) { return info.param ? "Adversary" : "Memory"; });

TEST_P(CatalogTest, ReloadFindsATableByANameOfAnyLength) {
  for (const size_t length : {3, 40, 255}) {
    const std::string name(length, 'n');
    const auto created = create_active(name);
    const auto found = run_blocking(catalog_->reload(name));
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->schema->number, created->schema->number);
  }
  EXPECT_EQ(run_blocking(catalog_->reload("nobody")), nullptr);
}

TEST_P(CatalogTest, GivesANewTableItsIdentity) {
  const auto table = create("Orders");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->arn, "arn:aws:dynamodb:eu-west-1:123456789012:table/Orders");
  EXPECT_EQ(table->id.size(), 36U);
  EXPECT_EQ(table->created_ms, clock_.now_ms());
  EXPECT_EQ(table->schema->version, 1U);
  EXPECT_EQ(table->schema->indexes[0].number, 1U);
  EXPECT_EQ(table->schema->indexes[1].number, 2U);
  EXPECT_EQ(table->schema->indexes[1].projected,
            (std::vector<std::string>{"a", "g", "h", "pk", "sk", "z"}));
  EXPECT_EQ(guard(table->schema->number), encode_schema_version(1));
  EXPECT_EQ(table->state(clock_.now_ms()), TableState::kCreating);
  advance_ms(kDelayMs);
  EXPECT_EQ(catalog_->find("Orders")->state(clock_.now_ms()), TableState::kActive);
  EXPECT_EQ(catalog_->find("orders"), nullptr);
}

TEST_P(CatalogTest, RefusesATakenName) {
  ASSERT_TRUE(create("t"));
  EXPECT_FALSE(create("t"));
  EXPECT_EQ(catalog_->list().size(), 1U);
}

TEST_P(CatalogTest, ListsInOrderOfNamesPageByPage) {
  for (const char* name : {"b", "c", "a", "B"}) create(name);
  EXPECT_EQ(names(), (std::vector<std::string>{"B", "a", "b", "c"}));
  EXPECT_EQ(names("B", 2), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(names("aa"), (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(names("c").empty());
}

TEST_P(CatalogTest, SettingsChangeWithoutANewSchemaVersion) {
  const auto table = create_active("t");
  const auto changed =
      run_blocking(catalog_->update("t", [](Table& t) { t.deletion_protection = true; }));
  ASSERT_TRUE(changed);
  EXPECT_TRUE(catalog_->find("t")->deletion_protection);
  EXPECT_FALSE(table->deletion_protection) << "a table that a request holds does not change";
  EXPECT_EQ(changed->schema->version, 1U);
  EXPECT_EQ(guard(table->schema->number), encode_schema_version(1));
}

TEST_P(CatalogTest, ANewSchemaRaisesTheVersionAndItsGuard) {
  const auto table = create_active("t");
  const auto changed = run_blocking(catalog_->update("t", [](Table& t) {
    auto schema = std::make_shared<model::TableSchema>(*t.schema);
    model::Index index = schema->indexes[1];
    index.number = 0;
    index.name = "another";
    schema->indexes[1] = index;
    t.schema = schema;
  }));
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->schema->version, 2U);
  EXPECT_EQ(changed->schema->number, table->schema->number);
  EXPECT_EQ(changed->schema->indexes[1].number, 3U) << "a number is never given again";
  EXPECT_EQ(guard(table->schema->number), encode_schema_version(2));
}

TEST_P(CatalogTest, AnUpdateThatThrowsChangesNothing) {
  create_active("t");
  EXPECT_THROW(run_blocking(catalog_->update("t",
                                             [](Table& t) {
                                               t.deletion_protection = true;
                                               invalid("no");
                                             })),
               ApiError);
  EXPECT_FALSE(catalog_->find("t")->deletion_protection);
  EXPECT_FALSE(run_blocking(catalog_->update("missing", [](Table&) {})));
}

TEST_P(CatalogTest, ARemovedTableIsDeletingThenGone) {
  const auto table = create_active("t");
  const auto removed = remove("t");
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->state(clock_.now_ms()), TableState::kDeleting);
  EXPECT_EQ(guard(table->schema->number), std::nullopt) << "no writer commits any more";
  EXPECT_TRUE(catalog_->find("t"));
  EXPECT_TRUE(catalog_->garbage().empty());
  EXPECT_FALSE(create("t")) << "the name is taken while the table is DELETING";

  advance_ms(kDelayMs);
  EXPECT_FALSE(catalog_->find("t"));
  EXPECT_TRUE(catalog_->list().empty());
  EXPECT_FALSE(remove("t"));
  EXPECT_EQ(catalog_->garbage(), std::vector<model::TableNumber>{table->schema->number});
}

TEST_P(CatalogTest, ARefusedRemovalChangesNothing) {
  create_active("t");
  EXPECT_THROW(run_blocking(catalog_->remove("t", [](const Table&) { invalid("protected"); })),
               ApiError);
  EXPECT_EQ(catalog_->find("t")->state(clock_.now_ms()), TableState::kActive);
  EXPECT_FALSE(run_blocking(catalog_->remove("missing", [](const Table&) {})));
}

TEST_P(CatalogTest, ANameCanBeUsedAgainButNotANumber) {
  const auto first = create_active("t");
  remove("t");
  advance_ms(kDelayMs);
  const auto second = create_active("t");
  ASSERT_TRUE(second);
  EXPECT_GT(second->schema->number, first->schema->number);
  EXPECT_NE(second->id, first->id);

  run_blocking(catalog_->garbage_erased(first->schema->number));
  EXPECT_TRUE(catalog_->garbage().empty());
  EXPECT_EQ(catalog_->find("t")->id, second->id);
  reopen();
  EXPECT_TRUE(catalog_->garbage().empty());
  EXPECT_EQ(catalog_->find("t")->id, second->id);
}

TEST_P(CatalogTest, FindsEverythingAgainAfterARestart) {
  create_active("kept");
  run_blocking(catalog_->update("kept", [](Table& t) { t.tags = {{"a", "b"}}; }));
  const auto gone = create_active("gone");
  remove("gone");
  advance_ms(kDelayMs);

  reopen();
  ASSERT_TRUE(catalog_->find("kept"));
  EXPECT_EQ(catalog_->find("kept")->tags.size(), 1U);
  EXPECT_FALSE(catalog_->find("gone"));
  EXPECT_EQ(catalog_->garbage(), std::vector<model::TableNumber>{gone->schema->number});
  run_blocking(catalog_->garbage_erased(gone->schema->number));
  reopen();
  EXPECT_TRUE(catalog_->garbage().empty());
  EXPECT_GT(create("next")->schema->number, gone->schema->number);
}

TEST_P(CatalogTest, ManyThreadsCreateEachTableOnce) {
  constexpr int kThreads = 4;
  constexpr int kTables = 20;
  std::atomic<int> created{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int t = 0; t < kTables; ++t) {
        if (create("table" + std::to_string(t))) ++created;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(created, kTables);
  std::set<model::TableNumber> numbers;
  for (const auto& table : catalog_->list()) numbers.insert(table->schema->number);
  EXPECT_EQ(numbers.size(), static_cast<size_t>(kTables));
}

TEST_P(CatalogTest, ConcurrentUpdatesAreAllKept) {
  create_active("t");
  constexpr int kThreads = 4;
  constexpr int kUpdates = 10;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kUpdates; ++n) {
        run_blocking(catalog_->update("t", [](Table& t) { ++t.capacity.provisioned.read_units; }));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(catalog_->find("t")->capacity.provisioned.read_units, 5 + kThreads * kUpdates);
  reopen();
  EXPECT_EQ(catalog_->find("t")->capacity.provisioned.read_units, 5 + kThreads * kUpdates);
}

TEST(CatalogLayout, IsNotedInANewStore) {
  const auto engine = memory_engine();
  const SystemClock clock;
  { const Catalog catalog(*engine, clock, {}); }
  EXPECT_EQ(run_blocking(engine->view()->get("mv")), "\x01");
}

TEST(CatalogLayout, ANewerLayoutIsRefused) {
  auto engine = memory_engine();
  engine::Mutation mutation;
  mutation.id = "test";
  mutation.exclusive = {"mv"};
  mutation.body = [](const engine::Held&, engine::Batch& batch) { batch.put("mv", "\x02"); };
  ASSERT_TRUE(run_blocking(engine->mutate(std::move(mutation))).committed());
  const SystemClock clock;
  EXPECT_THROW(Catalog(*engine, clock, {}), engine::EngineError);
}

}  // namespace
}  // namespace stator::catalog
