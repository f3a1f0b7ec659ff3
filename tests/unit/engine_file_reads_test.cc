#include "engine/rocksdb/file_reads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace stator::engine {
namespace {

// As RocksDB counts a block that was not in its cache.
void read_block() {
  ++rocksdb::get_perf_context()->block_read_count;
}

void wait() {
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(FileReads, AreQuickOnceEnoughOfThemDidNotWait) {
  FileReads reads;
  EXPECT_FALSE(reads.are_quick());
  for (int i = 0; i < 63; ++i) reads.saw(false);
  EXPECT_FALSE(reads.are_quick());
  reads.saw(false);
  EXPECT_TRUE(reads.are_quick());
  reads.saw(true);
  EXPECT_FALSE(reads.are_quick());
  for (int i = 0; i < 64; ++i) reads.saw(false);
  EXPECT_TRUE(reads.are_quick());
}

TEST(FileReads, OneThatGivesItsProcessorAwayWaited) {
  FileReads reads;
  for (int i = 0; i < 64; ++i) reads.saw(false);
  {
    const FileReads::Watch watch(reads);
    read_block();
    wait();
  }
  EXPECT_FALSE(reads.are_quick());
}

TEST(FileReads, ThoseFromMemoryDidNot) {
  FileReads reads;
  for (int i = 0; i < 64; ++i) {
    const FileReads::Watch watch(reads);
    if (i == 0) wait();  // for something else
  }
  EXPECT_TRUE(reads.are_quick());
}

}  // namespace
}  // namespace stator::engine
