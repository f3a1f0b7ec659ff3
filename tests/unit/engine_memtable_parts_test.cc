// The two structures of the memtable by themselves, without RocksDB around them, which the thread
// sanitizer cannot see into.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/rocksdb/key_index.h"
#include "engine/rocksdb/memtable_entry.h"
#include "engine/rocksdb/ordered_entries.h"

namespace stator::engine {
namespace {

std::string internal_key(const std::string& key, uint64_t version) {
  std::string result = key;
  result.append(reinterpret_cast<const char*>(&version), sizeof version);
  return result;
}

// Entries without values, in memory that stays where it is.
class Entries {
 public:
  // False if that version is there already.
  bool add(const std::string& key, uint64_t version) {
    const std::string bytes = internal_key(key, version);
    EXPECT_LT(bytes.size(), 128u);
    const int height = ordered.choose_height();
    memory_.push_back(std::make_unique<char[]>(OrderedEntries::size_of(height, bytes.size() + 1)));
    OrderedEntries::Node* const node = OrderedEntries::make(memory_.back().get(), height);
    char* const entry = const_cast<char*>(node->entry());
    entry[0] = static_cast<char>(bytes.size());
    std::memcpy(entry + 1, bytes.data(), bytes.size());
    const KeyIndex::Place place = index.place_of(key);
    OrderedEntries::Node* const newest =
        place.newest() == nullptr ? nullptr : OrderedEntries::node_of(place.newest());
    if (!ordered.insert(node, height, newest)) return false;
    if (newest == nullptr || version_of(internal_key_of(newest->entry())) < version)
      index.set(place, entry);
    return true;
  }

  OrderedEntries ordered;
  KeyIndex index;

 private:
  std::deque<std::unique_ptr<char[]>> memory_;
};

std::string numbered(int number) {
  return "key" + std::to_string(number * 7919 % 10'007);
}

TEST(MemtableParts, TheNewestVersionIsFoundAndTheOlderOnesFollowIt) {
  Entries entries;
  for (uint64_t version = 1; version <= 50; ++version) {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(entries.add(numbered(i), version));
  }
  for (int i = 0; i < 100; ++i) {
    const char* const newest = entries.index.find(numbered(i));
    ASSERT_NE(newest, nullptr);
    EXPECT_EQ(version_of(internal_key_of(newest)), 50u);
    const OrderedEntries::Node* node = OrderedEntries::node_of(newest);
    for (uint64_t version = 50; version >= 1; --version, node = node->older()) {
      ASSERT_NE(node, nullptr);
      EXPECT_EQ(internal_key_of(node->entry()), internal_key(numbered(i), version));
    }
    EXPECT_EQ(node, nullptr);
  }
  EXPECT_EQ(entries.index.find("key"), nullptr);
  EXPECT_EQ(entries.index.find(""), nullptr);
}

TEST(MemtableParts, AnOlderVersionThatComesLaterIsNotTheNewest) {
  Entries entries;
  ASSERT_TRUE(entries.add("a", 5));
  ASSERT_TRUE(entries.add("a", 3));
  ASSERT_TRUE(entries.add("a", 7));
  ASSERT_TRUE(entries.add("a", 4));
  std::vector<uint64_t> versions;
  for (auto* at = OrderedEntries::node_of(entries.index.find("a")); at != nullptr;
       at = const_cast<OrderedEntries::Node*>(at->older()))
    versions.push_back(version_of(internal_key_of(at->entry())));
  EXPECT_EQ(versions, (std::vector<uint64_t>{7, 5, 4, 3}));
  EXPECT_EQ(entries.ordered.first_key()->newest()->entry(), entries.index.find("a"));
  EXPECT_EQ(entries.ordered.first_key()->next_key(), nullptr);
}

TEST(MemtableParts, TheSameVersionIsRefused) {
  Entries entries;
  EXPECT_TRUE(entries.add("a", 1));
  EXPECT_FALSE(entries.add("a", 1));
  EXPECT_TRUE(entries.add("a", 3));
  EXPECT_TRUE(entries.add("a", 2));
  for (uint64_t version = 1; version <= 3; ++version) EXPECT_FALSE(entries.add("a", version));
}

TEST(MemtableParts, ReadersSeeWhatWasAddedBeforeItWasTold) {
  constexpr int kCount = 5'000;
  Entries entries;
  std::atomic<int> told{0};
  std::atomic<bool> wrong{false};
  std::vector<std::thread> readers;
  for (uint32_t i = 0; i < 2; ++i) {
    readers.emplace_back([&, i] {
      std::mt19937 random(i);
      for (int seen = 0; seen < kCount && !wrong;) {
        seen = told.load(std::memory_order_acquire);
        if (seen == 0) continue;
        const std::string key = numbered(static_cast<int>(random() % static_cast<uint32_t>(seen)));
        const char* const entry = entries.index.find(key);
        if (entry == nullptr || key_of(internal_key_of(entry)) != key) wrong = true;
        const OrderedEntries::Node* const node = entries.ordered.key_at_or_after(key);
        if (node == nullptr || key_of(internal_key_of(node->entry())) != key) wrong = true;
        const OrderedEntries::Node* const last = entries.ordered.last_key();
        if (last == nullptr || last->entry() == nullptr) wrong = true;
        std::string before;
        int steps = 0;
        for (const auto* at = entries.ordered.first_key(); at != nullptr && steps < 50; ++steps) {
          const std::string_view now = key_of(internal_key_of(at->entry()));
          if (now < before) wrong = true;
          before = now;
          at = at->next_key();
        }
      }
    });
  }
  for (int i = 0; i < kCount; ++i) {
    EXPECT_TRUE(entries.add(numbered(i), static_cast<uint64_t>(i) + 1));
    told.store(i + 1, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(wrong);
}

TEST(MemtableParts, ReadersSeeWholeChainsBesideAWriter) {
  constexpr uint64_t kVersions = 3'000;
  constexpr int kKeys = 5;
  Entries entries;
  std::atomic<uint64_t> told{0};
  std::atomic<bool> wrong{false};
  std::vector<std::thread> readers;
  for (uint32_t i = 0; i < 2; ++i) {
    readers.emplace_back([&, i] {
      std::mt19937 random(i);
      for (uint64_t seen = 0; seen < kVersions && !wrong;) {
        seen = told.load(std::memory_order_acquire);
        if (seen == 0) continue;
        const std::string key = numbered(static_cast<int>(random() % kKeys));
        const uint64_t wanted = random() % seen + 1;
        const char* const newest = entries.index.find(key);
        const OrderedEntries::Node* const in_list = entries.ordered.key_at_or_after(key);
        if (newest == nullptr || in_list == nullptr) {
          wrong = true;
          break;
        }
        for (const auto* from :
             {static_cast<const OrderedEntries::Node*>(OrderedEntries::node_of(newest)),
              in_list->newest()}) {
          const auto* const found = version_at(from, wanted);
          if (found == nullptr || internal_key_of(found->entry()) != internal_key(key, wanted))
            wrong = true;
        }
      }
    });
  }
  for (uint64_t version = 1; version <= kVersions; ++version) {
    for (int key = 0; key < kKeys; ++key) EXPECT_TRUE(entries.add(numbered(key), version));
    told.store(version, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(wrong);
}

// Each new entry comes between the one that is looked for and the last one before it.
TEST(MemtableParts, WhatIsAddedBeforeAKeyIsNotTakenForIt) {
  constexpr int kCount = 30'000;
  Entries entries;
  ASSERT_TRUE(entries.add("z", 1));
  std::atomic<bool> ended{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!ended) {
        const OrderedEntries::Node* const node = entries.ordered.key_at_or_after("z");
        if (node == nullptr || key_of(internal_key_of(node->entry())) != "z") ++wrong;
      }
    });
  }
  for (int i = 0; i < kCount; ++i)
    EXPECT_TRUE(entries.add(std::to_string(100'000 + i), static_cast<uint64_t>(i) + 2));
  ended = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace stator::engine
