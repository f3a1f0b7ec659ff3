// Notes: small durable things beside the tables.
#include <gtest/gtest.h>

#include <filesystem>

#include <unistd.h>

#include "database/database.h"

namespace stator {
namespace {

std::unique_ptr<Database> open_at(const std::filesystem::path& directory) {
  DatabaseOptions options;
  options.directory = directory;
  options.durability = engine::Durability::kOs;
  return Database::open(options);
}

class NotesTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  NotesTest() {
    DatabaseOptions options;
    options.durability = engine::Durability::kMemory;
    options.adversary_seed = GetParam();
    database_ = Database::open(options);
  }
  void keep(std::vector<Note> notes) { run_blocking(database_->keep(std::move(notes))); }
  std::vector<Note> kept(std::string prefix) { return run_blocking(database_->kept(prefix)); }

  std::unique_ptr<Database> database_;
};

TEST_P(NotesTest, AreFoundByPrefixInOrder) {
  keep({{"a/2", "two"}, {"a/1", "one"}, {"b/1", ""}});
  EXPECT_EQ(kept("a/"), (std::vector<Note>{{"a/1", "one"}, {"a/2", "two"}}));
  EXPECT_EQ(kept("b"), (std::vector<Note>{{"b/1", ""}}));
  EXPECT_EQ(kept("c"), std::vector<Note>{});
  EXPECT_EQ(kept("").size(), 3U);
}

TEST_P(NotesTest, AreReplacedAndForgottenTogether) {
  keep({{"a", "1"}, {"b", "1"}});
  keep({{"a", std::nullopt}, {"b", "2"}, {"c", std::nullopt}});
  EXPECT_EQ(kept(""), (std::vector<Note>{{"b", "2"}}));
  keep({});
  EXPECT_EQ(kept("").size(), 1U);
}

TEST_P(NotesTest, MoreThanAPage) {
  std::vector<Note> notes;
  for (int i = 1000; i < 3500; ++i)
    notes.push_back({"n" + std::to_string(i), std::string(200, 'x')});
  keep(notes);
  EXPECT_EQ(kept("n"), notes);
}

TEST_P(NotesTest, AChangeIsANewVersion) {
  const uint64_t before = database_->version();
  keep({{"a", "1"}});
  EXPECT_GT(database_->version(), before);
}

INSTANTIATE_TEST_SUITE_P(Engines, NotesTest, ::testing::Values(0, 7));

TEST(Notes, SurviveARestart) {
  const auto directory =
      std::filesystem::temp_directory_path() / ("stator_notes_" + std::to_string(getpid()));
  run_blocking(open_at(directory)->keep({{"a", "1"}}));
  EXPECT_EQ(run_blocking(open_at(directory)->kept("")), (std::vector<Note>{{"a", "1"}}));
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace stator
