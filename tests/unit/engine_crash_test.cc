// A process that is killed in the middle of its writes, again and again: whatever it was told is
// there.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine_test_tools.h"

extern char** environ;

namespace stator::engine {
namespace {

constexpr int kWriters = 4;

std::unique_ptr<Engine> open(const std::filesystem::path& directory, Durability durability) {
  RocksdbOptions options;
  options.directory = directory;
  options.durability = durability;
  options.block_cache_bytes = 1024 * 1024;
  options.write_buffer_bytes = 256 * 1024;
  return open_rocksdb(options);
}

std::string key_of(int writer, int i) {
  return "w" + std::to_string(writer) + "/" + std::to_string(1'000'000 + i);
}

// One acknowledged change: a pair of keys, a counter and a log entry that belong together.
struct Acknowledged {
  int writer;
  int i;
  uint64_t version;
};

// Runs in a process of its own, see EngineCrash below: writes, and tells its standard error what
// was acknowledged.
TEST(EngineCrashWriter, DISABLED_writes_until_it_is_killed) {
  const char* const directory = std::getenv("STATOR_CRASH_DIRECTORY");
  ASSERT_NE(directory, nullptr);
  const bool sync = std::strcmp(std::getenv("STATOR_CRASH_DURABILITY"), "sync") == 0;
  const std::unique_ptr<Engine> engine =
      open(directory, sync ? Durability::kSync : Durability::kOs);
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&engine, w] {
      int from = 0;
      while (get(*engine, key_of(w, from))) from += 1;
      for (int i = from; i < from + 100'000; ++i) {
        const Outcome outcome = mutate(*engine, {}, {key_of(w, i)}, [&](const Held&, Batch& batch) {
          batch.put(key_of(w, i), std::string(300, 'v'));
          batch.put("pair/" + key_of(w, i), "v");
          batch.add("count", 1);
          batch.append("log/", key_of(w, i));
        });
        ASSERT_TRUE(outcome.committed());
        const Acknowledged acknowledged{w, i, outcome.version};
        ASSERT_EQ(::write(STDERR_FILENO, &acknowledged, sizeof acknowledged),
                  static_cast<ssize_t>(sizeof acknowledged));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
}

// Starts the writer, reads what it was told for a while, and kills it.
std::vector<Acknowledged> run_and_kill(const std::filesystem::path& directory,
                                       const std::string& durability, size_t acknowledgements) {
  std::array<int, 2> pipe_ends{};
  EXPECT_EQ(::pipe2(pipe_ends.data(), O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  variables.push_back("STATOR_CRASH_DIRECTORY=" + directory.string());
  variables.push_back("STATOR_CRASH_DURABILITY=" + durability);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string filter = "--gtest_filter=EngineCrashWriter.*";
  std::string disabled = "--gtest_also_run_disabled_tests";
  std::array<char*, 4> arguments{program.data(), filter.data(), disabled.data(), nullptr};
  pid_t child = 0;
  EXPECT_EQ(::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(),
                          environment.data()),
            0);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);

  std::vector<Acknowledged> result;
  Acknowledged acknowledged{};
  const auto next = [&] {
    return ::read(pipe_ends[0], &acknowledged, sizeof acknowledged) ==
           static_cast<ssize_t>(sizeof acknowledged);
  };
  while (result.size() < acknowledgements && next()) result.push_back(acknowledged);
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  // What it had said before it died.
  while (next()) result.push_back(acknowledged);
  ::close(pipe_ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  return result;
}

class EngineCrash : public testing::TestWithParam<std::string> {};

TEST_P(EngineCrash, nothing_acknowledged_is_lost_and_nothing_is_half_there) {
  const TempDirectory directory;
  uint64_t newest_version = 0;
  std::vector<Acknowledged> all;
  for (const size_t acknowledgements : {1U, 100U, 1000U, 2000U}) {
    const std::vector<Acknowledged> told =
        run_and_kill(directory.path(), GetParam(), acknowledgements);
    ASSERT_GE(told.size(), acknowledgements);
    for (const Acknowledged& one : told) EXPECT_GT(one.version, newest_version);
    all.insert(all.end(), told.begin(), told.end());

    const std::unique_ptr<Engine> engine = open(directory.path(), Durability::kSync);
    for (const Acknowledged& one : all) {
      newest_version = std::max(newest_version, one.version);
      EXPECT_TRUE(get(*engine, key_of(one.writer, one.i)));
    }
    EXPECT_GE(engine->committed_version(), newest_version);
    // Every change is there with all its parts or not at all.
    const ScanLimit all_rows{1'000'000, 1'000'000'000};
    const Rows rows = scan(*engine, {"w", "x"}, Direction::kForward, all_rows);
    const Rows pairs = scan(*engine, {"pair/", "pair0"}, Direction::kForward, all_rows);
    const Rows log = scan(*engine, {"log/", "log0"}, Direction::kForward, all_rows);
    EXPECT_GE(rows.size(), all.size());
    ASSERT_EQ(rows.size(), pairs.size());
    ASSERT_EQ(rows.size(), log.size());
    EXPECT_EQ(counter(*engine, "count"), static_cast<int64_t>(rows.size()));
    for (size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ("pair/" + std::string(rows.key(i)), pairs.key(i));
  }
}

INSTANTIATE_TEST_SUITE_P(Durabilities, EngineCrash, testing::Values("sync", "os"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace stator::engine
