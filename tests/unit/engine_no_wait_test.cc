// Reads of files of which only some parts are in the system's memory.
#include "engine/rocksdb/no_wait.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine_test_tools.h"

namespace stator::engine {
namespace {

constexpr size_t kPage = 4096;

// Every `step`th page of the data files leaves the system's memory. (Some file systems keep them
// anyway: then there is nothing to wait for.)
void forget_pages(const std::filesystem::path& directory, size_t first, size_t step) {
  for (const auto& entry : std::filesystem::directory_iterator(directory / "rocksdb")) {
    if (entry.path().extension() != ".sst") continue;
    std::error_code gone;  // by compaction
    const size_t size = entry.file_size(gone);
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    if (gone || file < 0) continue;
    for (size_t page = first; page * kPage < size; page += step)
      ::posix_fadvise(file, static_cast<off_t>(page * kPage), kPage, POSIX_FADV_DONTNEED);
    ::close(file);
  }
}

TEST(NoWait, EndsAReadOfWhatIsNotInMemory) {
  const TempDirectory directory;
  std::filesystem::create_directories(directory.path());
  const std::string name = (directory.path() / "file").string();
  const std::string content(1024 * kPage, 'x');
  const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  ASSERT_EQ(::write(file, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  ASSERT_EQ(::fsync(file), 0);

  std::unique_ptr<rocksdb::FSRandomAccessFile> reader;
  ASSERT_TRUE(files_that_need_not_wait()->NewRandomAccessFile(name, {}, &reader, nullptr).ok());
  std::string scratch(content.size(), '\0');
  rocksdb::Slice result;
  const auto read = [&](uint64_t offset) {
    return reader->Read(offset, kPage, {}, &result, scratch.data(), nullptr).ok();
  };
  EXPECT_TRUE(read(0));
  {
    const NoWait no_wait;
    if (!read(0)) GTEST_SKIP() << "this file system always waits";
    EXPECT_EQ(result, content.substr(0, kPage));
    EXPECT_FALSE(NoWait::has_ended_read());
  }
  ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  ::close(file);
  {
    const NoWait no_wait;
    if (read(900 * kPage)) GTEST_SKIP() << "this file system forgets nothing";
    EXPECT_TRUE(NoWait::has_ended_read());
  }
  EXPECT_FALSE(NoWait::has_ended_read());
  EXPECT_TRUE(read(900 * kPage));
  EXPECT_EQ(result, content.substr(0, kPage));
}

// Rows come from several files, some of them below deleted ranges.
TEST(NoWait, NothingIsMissingHoweverMuchIsNotInMemory) {
  const TempDirectory directory;
  RocksdbOptions options;
  options.directory = directory.path();
  options.durability = Durability::kOs;
  options.block_cache_bytes = 8 * 1024;  // everything is read from files
  options.write_buffer_bytes = 256 * 1024;
  std::map<std::string, std::string> model;
  std::mt19937 random(3);
  const auto key_of = [](uint32_t i) { return "k" + std::to_string(100'000 + i); };
  std::unique_ptr<Engine> engine = open_rocksdb(options);
  for (uint32_t round = 0; round < 12; ++round) {
    mutate(*engine, {}, {"k"}, [&](const Held&, Batch& batch) {
      for (uint32_t i = 0; i < 500; ++i) {
        const std::string key = key_of(random() % 5'000);
        // Such as does not become smaller.
        std::string value(200, '\0');
        for (char& c : value) c = static_cast<char>(random());
        model[key] = value;
        batch.put(key, value);
      }
    });
    mutate(*engine, {}, {"k"}, [&](const Held&, Batch& batch) {
      const uint32_t from = random() % 5'000;
      const std::string begin = key_of(from);
      const std::string end = key_of(from + 100);
      model.erase(model.lower_bound(begin), model.lower_bound(end));
      batch.erase_range({begin, end});
    });
  }
  engine.reset();
  engine = open_rocksdb(options);
  for (size_t step = 1; step <= 7; ++step) {
    for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
      for (const size_t page : {size_t{3}, size_t{100}, size_t{1'000}}) {
        forget_pages(directory.path(), random() % step, step);
        Range range{"k", "l"};
        std::map<std::string, std::string> found;
        for (bool more = true; more;) {
          const Rows rows = scan(*engine, range, direction, {.rows = page});
          for (size_t i = 0; i < rows.size(); ++i) found.emplace(rows.key(i), rows.value(i));
          more = rows.more();
          if (!more) break;
          const std::string last(rows.key(rows.size() - 1));
          (direction == Direction::kForward ? range.begin : range.end) =
              direction == Direction::kForward ? last + '\0' : last;
          if (random() % 8 == 0) forget_pages(directory.path(), random() % step, step);
        }
        ASSERT_EQ(found.size(), model.size()) << step;
        ASSERT_TRUE(found == model) << step;
      }
    }
    forget_pages(directory.path(), 0, step);
    for (int i = 0; i < 300; ++i) {
      const std::string key = key_of(random() % 5'000);
      const auto expected = model.find(key);
      const std::optional<std::string> value = get(*engine, key);
      ASSERT_EQ(value.has_value(), expected != model.end()) << key;
      if (value) {
        ASSERT_EQ(*value, expected->second);
      }
    }
    std::vector<std::string> keys;
    for (uint32_t i = 0; i < 100; ++i) keys.push_back(key_of(random() % 5'000));
    const std::vector<std::optional<std::string>> values = get_many(*engine, keys);
    for (size_t i = 0; i < keys.size(); ++i)
      ASSERT_EQ(values[i].value_or(""), model.contains(keys[i]) ? model[keys[i]] : "");
  }
}

}  // namespace
}  // namespace stator::engine
