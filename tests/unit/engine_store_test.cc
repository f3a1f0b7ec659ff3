// What the rocksdb engine does with its directory.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "engine_test_tools.h"

namespace stator::engine {
namespace {

std::unique_ptr<Engine> open(const std::filesystem::path& directory,
                             Durability durability = Durability::kSync) {
  RocksdbOptions options;
  options.directory = directory;
  options.durability = durability;
  options.block_cache_bytes = 1024 * 1024;
  return open_rocksdb(options);
}

std::string failure_of_open(const std::filesystem::path& directory) {
  try {
    open(directory);
  } catch (const EngineError& error) {
    return error.what();
  }
  return "";
}

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The newest log that has something in it.
std::filesystem::path newest_log(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> logs;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "rocksdb")) {
    if (entry.path().extension() == ".log" && entry.file_size() > 0) logs.push_back(entry.path());
  }
  return *std::max_element(logs.begin(), logs.end());
}

TEST(EngineStore, a_directory_in_use_is_named) {
  const TempDirectory directory;
  const std::unique_ptr<Engine> engine = open(directory.path());
  EXPECT_EQ(failure_of_open(directory.path()),
            "The data directory '" + directory.path().string() + "' is in use by another process.");
}

TEST(EngineStore, a_directory_is_free_again_after_a_close_and_after_a_failed_open) {
  const TempDirectory directory;
  open(directory.path());
  write(directory.path() / "FORMAT", "stator-rocksdb-format 2\n");
  EXPECT_NE(failure_of_open(directory.path()), "");
  write(directory.path() / "FORMAT", "stator-rocksdb-format 1\n");
  EXPECT_EQ(failure_of_open(directory.path()), "");
}

TEST(EngineStore, a_commit_without_changes_writes_nothing) {
  const TempDirectory directory;
  {
    const std::unique_ptr<Engine> engine = open(directory.path());
    mutate(*engine, {}, {"a"}, [](const Held&, Batch&) {});
  }
  for (const auto& entry : std::filesystem::directory_iterator(directory.path() / "rocksdb")) {
    if (entry.path().extension() == ".log") {
      EXPECT_EQ(entry.file_size(), 0) << entry.path();
    }
  }
}

TEST(EngineStore, options_are_not_written_down) {
  const TempDirectory directory;
  put(*open(directory.path()), "a", "1");
  const std::unique_ptr<Engine> again = open(directory.path());
  for (const auto& entry : std::filesystem::directory_iterator(directory.path() / "rocksdb"))
    EXPECT_FALSE(entry.path().filename().string().starts_with("OPTIONS")) << entry.path();
  EXPECT_EQ(get(*again->view(), "a"), "1");
}

TEST(EngineStore, a_directory_may_have_any_name) {
  const TempDirectory directory;
  const std::filesystem::path named = directory.path() / "OPTIONS-1" / "OPTIONS-2";
  put(*open(named), "a", "1");
  EXPECT_EQ(get(*open(named)->view(), "a"), "1");
}

TEST(EngineStore, a_newer_format_is_refused) {
  const TempDirectory directory;
  open(directory.path());
  write(directory.path() / "FORMAT", "stator-rocksdb-format 7\n");
  EXPECT_EQ(failure_of_open(directory.path()),
            "The data directory '" + directory.path().string() +
                "' was written by a newer version of Stator (format 7, this one knows up to 1).");
}

TEST(EngineStore, a_damaged_or_missing_format_is_refused) {
  const TempDirectory directory;
  put(*open(directory.path()), "k", "v");
  for (const std::string text :
       {"", "nonsense", "stator-rocksdb-format 1x", "stator-rocksdb-format 99999999999999"}) {
    write(directory.path() / "FORMAT", text);
    EXPECT_NE(failure_of_open(directory.path()).find("is damaged"), std::string::npos) << text;
  }
  std::filesystem::remove(directory.path() / "FORMAT");
  EXPECT_NE(failure_of_open(directory.path()).find("is damaged"), std::string::npos);
}

TEST(EngineStore, a_path_that_cannot_be_a_directory_is_refused) {
  const TempDirectory directory;
  std::filesystem::create_directories(directory.path());
  write(directory.path() / "file", "");
  EXPECT_NE(failure_of_open(directory.path() / "file").find("cannot be used"), std::string::npos);
  EXPECT_NE(failure_of_open(directory.path() / "file" / "below").find("cannot be used"),
            std::string::npos);
  EXPECT_NE(failure_of_open("/proc/stator"), "");
}

TEST(EngineStore, a_directory_may_be_opened_with_another_durability) {
  const TempDirectory directory;
  const uint64_t first = put(*open(directory.path(), Durability::kOs), "k", "1").version;
  const std::unique_ptr<Engine> engine = open(directory.path(), Durability::kSync);
  EXPECT_EQ(get(*engine, "k"), "1");
  EXPECT_GT(put(*engine, "k", "2").version, first);
}

// A log whose records are all there but one. Each has a checksum, and none is damaged.
TEST(EngineStore, a_record_that_is_missing_in_the_log_is_noticed) {
  const TempDirectory directory;
  {
    const std::unique_ptr<Engine> engine = open(directory.path());
    for (int i = 0; i < 10; ++i) put(*engine, "k" + std::to_string(i), "some value");
  }
  const std::filesystem::path log = newest_log(directory.path());
  const std::string content = read(log);
  ASSERT_LT(content.size(), 32U * 1024) << "records lie one behind the other, without borders";
  // A record has a checksum (4 bytes), a length (2) and a type before its bytes.
  const auto end_of = [&](size_t begin) {
    return begin + 7 + static_cast<unsigned char>(content[begin + 4]) +
           256 * static_cast<size_t>(static_cast<unsigned char>(content[begin + 5]));
  };
  size_t begin = 0;
  while (end_of(begin) <= content.find("k5")) begin = end_of(begin);
  const size_t end = end_of(begin);
  std::ofstream(log, std::ios::binary | std::ios::trunc)
      << content.substr(0, begin) << content.substr(end);
  EXPECT_NE(failure_of_open(directory.path()).find("records are missing in its log"),
            std::string::npos);
  // Where less is promised it ends there: what follows was written later.
  const std::unique_ptr<Engine> engine = open(directory.path(), Durability::kOs);
  EXPECT_EQ(get(*engine, "k4"), "some value");
  EXPECT_EQ(get(*engine, "k5"), std::nullopt);
  EXPECT_EQ(get(*engine, "k6"), std::nullopt);
  EXPECT_TRUE(put(*engine, "k6", "again").committed());
}

class DamagedLog : public testing::Test {
 protected:
  void SetUp() override {
    const std::unique_ptr<Engine> engine = open(directory_.path());
    put(*engine, "first", std::string(1000, 'a'));
    put(*engine, "middle", std::string(100'000, 'b'));
    put(*engine, "last", std::string(200'000, 'c'));
  }
  // Sets bytes of the log that hold a value made of `c`, from the `skip`th on.
  void overwrite(char c, size_t skip, size_t bytes, char by) {
    const std::filesystem::path log = newest_log(directory_.path());
    std::string content = read(log);
    size_t at = content.find(std::string(100, c)) + skip;
    for (; bytes > 0; --bytes) content[at++] = by;
    std::ofstream(log, std::ios::binary | std::ios::trunc) << content;
  }
  void truncate(size_t bytes) {
    const std::filesystem::path log = newest_log(directory_.path());
    std::filesystem::resize_file(log, std::filesystem::file_size(log) - bytes);
  }
  void expect_only_last_is_lost() {
    const std::unique_ptr<Engine> engine = open(directory_.path());
    EXPECT_EQ(get(*engine, "first"), std::string(1000, 'a'));
    EXPECT_EQ(get(*engine, "middle"), std::string(100'000, 'b'));
    EXPECT_EQ(get(*engine, "last"), std::nullopt);
    EXPECT_TRUE(put(*engine, "last", "again").committed());
  }

  TempDirectory directory_;
};

TEST_F(DamagedLog, a_whole_log_loses_nothing) {
  EXPECT_EQ(get(*open(directory_.path()), "last"), std::string(200'000, 'c'));
}

TEST_F(DamagedLog, a_last_commit_that_was_cut_off_is_dropped) {
  truncate(10);
  expect_only_last_is_lost();
  EXPECT_EQ(get(*open(directory_.path()), "last"), "again");
}

TEST_F(DamagedLog, a_last_commit_with_a_hole_is_dropped) {
  overwrite('c', 70'000, 40'000, '\0');
  expect_only_last_is_lost();
  EXPECT_EQ(get(*open(directory_.path()), "last"), "again");
}

TEST_F(DamagedLog, a_last_commit_whose_beginning_is_missing_is_dropped) {
  overwrite('c', 0, 60'000, '\0');
  expect_only_last_is_lost();
}

TEST_F(DamagedLog, damage_before_an_acknowledged_commit_is_reported) {
  overwrite('b', 50'000, 10, 'x');
  EXPECT_NE(failure_of_open(directory_.path()).find("is damaged"), std::string::npos);
  overwrite('b', 0, 90'000, '\0');
  EXPECT_NE(failure_of_open(directory_.path()).find("is damaged"), std::string::npos);
  // Where nothing more was promised, what comes before it is kept.
  const std::unique_ptr<Engine> engine = open(directory_.path(), Durability::kOs);
  EXPECT_EQ(get(*engine, "first"), std::string(1000, 'a'));
  EXPECT_EQ(get(*engine, "middle"), std::nullopt);
}

}  // namespace
}  // namespace stator::engine
