// Disks that are full, fail or lie: nothing is acknowledged that is not kept, nothing damaged is
// served, and the store opens again when the cause is gone.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine_test_tools.h"
#include "support/engine_fragile_files.h"

namespace stator::engine {
namespace {

using Doing = FragileFiles::Doing;

std::unique_ptr<Engine> open(const std::filesystem::path& directory,
                             std::shared_ptr<FragileFiles> files = nullptr) {
  RocksdbOptions options;
  options.directory = directory;
  options.block_cache_bytes = 1024;  // reads go to the files
  options.write_buffer_bytes = 128 * 1024;
  options.file_system = std::move(files);
  return open_rocksdb(options);
}

std::string key_of(int i) {
  return "k" + std::to_string(100'000 + i);
}

std::string value_of(int i) {
  std::mt19937_64 random(i);
  std::string value;
  for (int k = 0; k < 500; ++k) value.push_back(static_cast<char>(random()));
  return value;
}

// Puts keys from `from` on until one is not acknowledged, at most `count`. Returns the first that
// was not.
int put_until_failure(Engine& engine, int from, int count) {
  for (int i = from; i < from + count; ++i) {
    if (!put(engine, key_of(i), value_of(i)).committed()) return i;
  }
  return from + count;
}

void expect_all(Engine& engine, int count) {
  for (int i = 0; i < count; ++i) ASSERT_EQ(get(engine, key_of(i)), value_of(i)) << i;
}

struct WriteFault {
  std::string name;
  Doing doing;
  std::string suffix;
  bool no_space;
};

class EngineWriteFault : public testing::TestWithParam<WriteFault> {};

TEST_P(EngineWriteFault, nothing_is_acknowledged_that_is_not_kept) {
  const TempDirectory directory;
  const auto files = std::make_shared<FragileFiles>();
  int acknowledged = 0;
  {
    const std::unique_ptr<Engine> engine = open(directory.path(), files);
    ASSERT_EQ(put_until_failure(*engine, 0, 100), 100);
    files->fail(GetParam().doing, GetParam().suffix, GetParam().no_space, 3);
    acknowledged = put_until_failure(*engine, 100, 5000);
    ASSERT_LT(acknowledged, 5100) << "the fault was never noticed";
    EXPECT_GT(files->failures(), 0);
    const Outcome outcome = put(*engine, "more", "x");
    EXPECT_EQ(outcome.kind, Outcome::Kind::kFailed);
    EXPECT_NE(outcome.detail, "");
    // What is there can still be read.
    expect_all(*engine, acknowledged);
  }
  files->mend();
  const std::unique_ptr<Engine> engine = open(directory.path());
  expect_all(*engine, acknowledged);
  EXPECT_EQ(put_until_failure(*engine, acknowledged, 50), acknowledged + 50);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, EngineWriteFault,
    testing::Values(WriteFault{"full_disk_at_the_log", Doing::kAppend, ".log", true},
                    WriteFault{"error_at_the_log", Doing::kAppend, ".log", false},
                    WriteFault{"error_flushing_the_log", Doing::kSync, ".log", false},
                    WriteFault{"no_new_log", Doing::kCreate, ".log", true},
                    WriteFault{"full_disk_at_a_file", Doing::kAppend, ".sst", true},
                    WriteFault{"error_at_a_file", Doing::kAppend, ".sst", false},
                    WriteFault{"error_flushing_a_file", Doing::kSync, ".sst", false}),
    [](const auto& info) { return info.param.name; });

TEST(EngineFaults, a_read_that_fails_is_an_error_and_no_absence) {
  const TempDirectory directory;
  const auto files = std::make_shared<FragileFiles>();
  const std::unique_ptr<Engine> engine = open(directory.path(), files);
  ASSERT_EQ(put_until_failure(*engine, 0, 2000), 2000);
  files->fail(Doing::kRead, ".sst", false);
  int failed = 0;
  for (int i = 0; i < 2000; ++i) {
    try {
      ASSERT_EQ(get(*engine, key_of(i)), value_of(i));
    } catch (const EngineError&) {
      ++failed;
    }
  }
  EXPECT_GT(failed, 500);
  files->mend();
  expect_all(*engine, 2000);
}

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Those that have something in them.
std::vector<std::filesystem::path> files_of(const std::filesystem::path& directory,
                                            const std::string& beginning, const std::string& end) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(directory / "rocksdb")) {
    const std::string name = entry.path().filename();
    if (name.starts_with(beginning) && name.ends_with(end) && entry.file_size() > 0)
      found.push_back(entry.path());
  }
  return found;
}

class DamagedFiles : public testing::Test {
 protected:
  static constexpr int kCount = 600;

  void SetUp() override {
    // Nothing has to reach a disk, and so it does not wait for one.
    const std::unique_ptr<Engine> engine =
        open(directory_.path(), std::make_shared<FragileFiles>());
    ASSERT_EQ(put_until_failure(*engine, 0, kCount), kCount);
  }
  std::vector<std::filesystem::path> files(const std::string& beginning, const std::string& end) {
    return files_of(directory_.path(), beginning, end);
  }
  // The store refuses to open, or every read is right or an error. Returns whether anything was
  // noticed.
  bool is_noticed(const std::filesystem::path& directory) {
    try {
      const std::unique_ptr<Engine> engine = open(directory, std::make_shared<FragileFiles>());
      bool noticed = false;
      for (int i = 0; i < kCount; ++i) {
        try {
          EXPECT_EQ(get(*engine, key_of(i)), value_of(i)) << i;
        } catch (const EngineError&) {
          noticed = true;
        }
      }
      return noticed;
    } catch (const EngineError& error) {
      const std::string text = error.what();
      EXPECT_TRUE(text.find("is damaged") != std::string::npos ||
                  text.find("cannot be opened") != std::string::npos)
          << text;
      return true;
    }
  }
  // Changes one bit in a copy of the directory.
  bool is_noticed_with_flip(const std::filesystem::path& file, uint64_t at) {
    const TempDirectory copy;
    std::filesystem::copy(directory_.path(), copy.path(), std::filesystem::copy_options::recursive);
    const std::filesystem::path path = copy.path() / "rocksdb" / file.filename();
    std::string content = read(path);
    content[at / 8] = static_cast<char>(content[at / 8] ^ (1 << (at % 8)));
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    return is_noticed(copy.path());
  }

  TempDirectory directory_;
  std::mt19937_64 random_{std::random_device()()};
};

TEST_F(DamagedFiles, a_flipped_bit_of_a_file_is_never_served) {
  for (const std::filesystem::path& file : files("", ".sst")) {
    const uint64_t bits = std::filesystem::file_size(file) * 8;
    for (int i = 0; i < 6; ++i) is_noticed_with_flip(file, random_() % bits);
  }
}

TEST_F(DamagedFiles, a_flipped_bit_of_the_log_is_never_served) {
  for (const std::filesystem::path& file : files("", ".log")) {
    const uint64_t bits = std::filesystem::file_size(file) * 8;
    for (int i = 0; i < 20; ++i) {
      const uint64_t at = random_() % bits;
      EXPECT_TRUE(is_noticed_with_flip(file, at)) << "bit " << at << " of " << bits;
    }
    // The last record, which could be taken for one that was never written whole.
    for (uint64_t back = 1; back < 600 * 8; back += 191)
      EXPECT_TRUE(is_noticed_with_flip(file, bits - back)) << "bit " << back << " from the end";
  }
}

TEST_F(DamagedFiles, a_missing_file_is_noticed) {
  for (const auto& [beginning, end] :
       {std::pair{"", ".sst"}, {"", ".log"}, {"MANIFEST", ""}, {"CURRENT", ""}}) {
    const auto found = files(beginning, end);
    ASSERT_FALSE(found.empty()) << beginning << end;
    for (const std::filesystem::path& file : found) {
      const TempDirectory copy;
      std::filesystem::copy(directory_.path(), copy.path(),
                            std::filesystem::copy_options::recursive);
      std::filesystem::remove(copy.path() / "rocksdb" / file.filename());
      EXPECT_TRUE(is_noticed(copy.path())) << file;
    }
  }
}

// While memory is written out there are two logs, and both are needed.
TEST(EngineFaults, one_missing_of_two_logs_is_noticed) {
  const TempDirectory directory;
  const auto failing = std::make_shared<FragileFiles>();
  int count = 0;
  {
    const std::unique_ptr<Engine> engine = open(directory.path(), failing);
    failing->fail(Doing::kCreate, ".sst", true);
    count = put_until_failure(*engine, 0, 400);
  }
  const auto logs = files_of(directory.path(), "", ".log");
  ASSERT_GE(logs.size(), 2U);
  for (const std::filesystem::path& log : logs) {
    const TempDirectory copy;
    std::filesystem::copy(directory.path(), copy.path(), std::filesystem::copy_options::recursive);
    std::filesystem::remove(copy.path() / "rocksdb" / log.filename());
    EXPECT_THROW(open(copy.path()), EngineError) << log;
  }
  expect_all(*open(directory.path()), count);
}

}  // namespace
}  // namespace stator::engine
