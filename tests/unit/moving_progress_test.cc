#include "moving/progress.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "moving/checkpoint.h"

namespace stator::moving {
namespace {

TEST(Progress, ABarHasRateAndTimeLeft) {
  const ProgressState half{.items = 1'234'567, .done = 50, .total = 100};
  EXPECT_EQ(progress_bar(half, 98'765, 12, 80),
            "[============>            ]   50 %  1,234,567 items  98,765 a second  0:12 left");
  EXPECT_EQ(progress_line(half, 98'765, 3661.4),
            " 50 %  1,234,567 items  98,765 a second  1:01:01 left");
  EXPECT_EQ(progress_bar({.items = 5, .done = 5, .total = 0}, 1, -1, 80), "5 items  1 a second");
}

TEST(Progress, TheTimeLeftIsThatOfThisRunsPace) {
  // A quarter of the bytes had 1000 items, so 3000 are left.
  EXPECT_DOUBLE_EQ(seconds_left({.items = 1000, .done = 250, .total = 1000}, 100), 30);
  EXPECT_LT(seconds_left({.items = 1000, .done = 250, .total = 0}, 100), 0);
  EXPECT_LT(seconds_left({.items = 1000, .done = 1000, .total = 1000}, 100), 0);
  EXPECT_LT(seconds_left({.items = 0, .done = 0, .total = 1000}, 0), 0);
}

TEST(Progress, ANarrowTerminalHasNoBar) {
  EXPECT_EQ(progress_bar({.items = 5, .done = 5, .total = 10}, 1, 5, 30).front(), ' ');
}

TEST(Checkpoint, IsReadBackAndBelongsToItsWork) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("stator_state_" + std::to_string(getpid()));
  EXPECT_TRUE(read_checkpoint(path, "w").parts.empty());
  write_checkpoint(
      path,
      {.what = "w", .items = 7, .parts = {{"{\"k\":\"v\"}", false}, {"", true}}, .notes = {"n\n"}});
  const Checkpoint read = read_checkpoint(path, "w");
  EXPECT_EQ(read.items, 7u);
  ASSERT_EQ(read.parts.size(), 2u);
  EXPECT_EQ(read.parts[0].position, "{\"k\":\"v\"}");
  EXPECT_TRUE(read.parts[1].finished);
  EXPECT_EQ(read.notes, std::vector<std::string>{"n\n"});
  EXPECT_THROW(read_checkpoint(path, "other"), std::runtime_error);
  std::ofstream(path) << "{";
  EXPECT_THROW(read_checkpoint(path, "w"), std::runtime_error);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace stator::moving
