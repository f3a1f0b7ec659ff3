#include "engine/rocksdb/indexed_memtable.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <atomic>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace stator::engine {
namespace {

// A store of RocksDB in memory with our memtable, small enough to write it out now and then.
class IndexedMemtableTest : public ::testing::Test {
 protected:
  void open(size_t memtable_bytes) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.env = env_.get();
    options.memtable_factory = std::make_shared<IndexedMemtableFactory>();
    options.allow_concurrent_memtable_write = false;
    options.write_buffer_size = memtable_bytes;
    db_.reset();
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = rocksdb::DB::Open(options, "/memtable", &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
  }

  std::string get(const std::string& key, const rocksdb::Snapshot* snapshot = nullptr) {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    std::string value;
    const rocksdb::Status status = db_->Get(options, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "nothing" : status.ToString();
  }

  using Rows = std::map<std::string, std::string>;
  // What a snapshot has, as any iterator shows it, and as one that was made for it does.
  Rows rows(const rocksdb::Snapshot* snapshot, bool backwards) {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    const Rows found =
        rows(std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options)), backwards);
    if (snapshot != nullptr) {
      EXPECT_EQ(rows(made_for(snapshot), backwards), found);
    }
    return found;
  }
  std::unique_ptr<rocksdb::Iterator> made_for(const rocksdb::Snapshot* snapshot) {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    const ReadingAt reading(snapshot->GetSequenceNumber());
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options));
  }
  static Rows rows(const std::unique_ptr<rocksdb::Iterator>& at, bool backwards) {
    Rows found;
    std::string last;
    for (backwards ? at->SeekToLast() : at->SeekToFirst(); at->Valid();
         backwards ? at->Prev() : at->Next()) {
      const std::string key = at->key().ToString();
      EXPECT_TRUE(found.empty() || (backwards ? key < last : key > last));
      found[key] = at->value().ToString();
      last = key;
    }
    return found;
  }

  std::unique_ptr<rocksdb::Env> env_{rocksdb::NewMemEnv(rocksdb::Env::Default())};
  std::unique_ptr<rocksdb::DB> db_;
};

// Keys with shared beginnings, of every small length, with zeros at their end.
std::string some_key(std::mt19937& random) {
  std::string key;
  const size_t length = random() % 12;
  for (size_t i = 0; i < length; ++i) key.push_back(static_cast<char>(random() % 3));
  return key;
}

TEST_F(IndexedMemtableTest, EveryVersionIsFoundInItsSnapshot) {
  for (const size_t memtable_bytes : {size_t{64} << 20, size_t{64} << 10}) {
    open(memtable_bytes);
    std::mt19937 random(7);
    Rows model = rows(nullptr, false);
    struct Past {
      const rocksdb::Snapshot* snapshot;
      Rows model;
    };
    std::vector<Past> pasts;
    for (int step = 0; step < 20'000; ++step) {
      const std::string key = some_key(random);
      if (random() % 4 == 0) {
        ASSERT_TRUE(db_->Delete({}, key).ok());
        model.erase(key);
      } else {
        const std::string value = std::to_string(step);
        ASSERT_TRUE(db_->Put({}, key, value).ok());
        model[key] = value;
      }
      const std::string other = some_key(random);
      const auto found = model.find(other);
      ASSERT_EQ(get(other), found == model.end() ? "nothing" : found->second);
      if (step % 2'000 == 0) pasts.push_back({db_->GetSnapshot(), model});
    }
    for (const Past& past : pasts) {
      EXPECT_EQ(rows(past.snapshot, false), past.model);
      EXPECT_EQ(rows(past.snapshot, true), past.model);
      for (int i = 0; i < 500; ++i) {
        const std::string key = some_key(random);
        const auto found = past.model.find(key);
        ASSERT_EQ(get(key, past.snapshot), found == past.model.end() ? "nothing" : found->second);
      }
      db_->ReleaseSnapshot(past.snapshot);
    }
    EXPECT_EQ(rows(nullptr, false), model);
    ASSERT_TRUE(db_->Flush({}).ok());
    EXPECT_EQ(rows(nullptr, true), model);
    db_.reset();
  }
}

TEST_F(IndexedMemtableTest, LookUpsLeaveNothingBehind) {
  open(size_t{1} << 20);
  for (const char* key : {"b", "d", "f"}) ASSERT_TRUE(db_->Put({}, key, key).ok());
  const auto look_up = [&] {
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_EQ(get("d"), "d");
      const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
      at->SeekToFirst();
      ASSERT_TRUE(at->Valid());
    }
  };
  look_up();
  const size_t before = mallinfo2().uordblks;
  look_up();
  EXPECT_LT(mallinfo2().uordblks, before + 100'000);
}

// Turns around at every place, with seeks in between, beside a map that does the same.
TEST_F(IndexedMemtableTest, AnIteratorForASnapshotGoesBothWays) {
  for (const size_t memtable_bytes : {size_t{64} << 20, size_t{64} << 10}) {
    open(memtable_bytes);
    std::mt19937 random(11);
    const auto write = [&](Rows* model) {
      const std::string key = some_key(random);
      const std::string value = std::to_string(random());
      const std::string other = some_key(random);
      if (random() % 500 == 0 && key < other) {
        ASSERT_TRUE(db_->DeleteRange({}, db_->DefaultColumnFamily(), key, other).ok());
        if (model != nullptr) model->erase(model->lower_bound(key), model->lower_bound(other));
      } else if (random() % 3 == 0) {
        ASSERT_TRUE(db_->Delete({}, key).ok());
        if (model != nullptr) model->erase(key);
      } else {
        ASSERT_TRUE(db_->Put({}, key, value).ok());
        if (model != nullptr) (*model)[key] = value;
      }
    };
    Rows model = rows(nullptr, false);
    for (int i = 0; i < 5'000; ++i) write(&model);
    const rocksdb::Snapshot* const snapshot = db_->GetSnapshot();
    for (int i = 0; i < 5'000; ++i) write(nullptr);
    const std::unique_ptr<rocksdb::Iterator> at = made_for(snapshot);
    auto expected = model.end();
    for (int step = 0; step < 20'000; ++step) {
      const std::string key = some_key(random);
      switch (expected == model.end() ? random() % 4 : random() % 8) {
        case 0:
          at->Seek(key);
          expected = model.lower_bound(key);
          break;
        case 1:
          at->SeekForPrev(key);
          expected = model.upper_bound(key);
          expected = expected == model.begin() ? model.end() : std::prev(expected);
          break;
        case 2:
          at->SeekToFirst();
          expected = model.begin();
          break;
        case 3:
          at->SeekToLast();
          expected = model.empty() ? model.end() : std::prev(model.end());
          break;
        case 4:
        case 5:
          at->Next();
          ++expected;
          break;
        default:
          at->Prev();
          expected = expected == model.begin() ? model.end() : std::prev(expected);
      }
      ASSERT_EQ(at->Valid(), expected != model.end()) << step;
      if (!at->Valid()) continue;
      ASSERT_EQ(at->key(), expected->first);
      ASSERT_EQ(at->value(), expected->second);
      if (step % 10 == 0) write(nullptr);
    }
    db_->ReleaseSnapshot(snapshot);
  }
}

// Each batch gives all keys the same value, and makes a new key among them.
TEST_F(IndexedMemtableTest, AnIteratorForASnapshotSeesWholeBatchesBesideAWriter) {
  open(size_t{1} << 20);
  constexpr int kKeys = 20;
  constexpr int kRounds = 2'000;
  const auto write = [&](int round) {
    rocksdb::WriteBatch batch;
    for (int key = 0; key < kKeys; ++key)
      batch.Put("key" + std::to_string(100 + key), std::to_string(round));
    batch.Put("key1" + std::to_string(round % 100) + "new" + std::to_string(round), "new");
    ASSERT_TRUE(db_->Write({}, &batch).ok());
  };
  write(0);
  std::atomic<bool> ended{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&, i] {
      while (!ended) {
        const rocksdb::Snapshot* const snapshot = db_->GetSnapshot();
        const Rows found = rows(made_for(snapshot), i == 1);
        db_->ReleaseSnapshot(snapshot);
        int same = 0;
        for (const auto& [key, value] : found) {
          if (key.size() == 6) same += value == found.begin()->second ? 1 : 0;
        }
        if (same != kKeys) ++wrong;
      }
    });
  }
  for (int round = 1; round <= kRounds; ++round) write(round);
  ended = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(IndexedMemtableTest, SeeksToBothSidesOfAKey) {
  open(size_t{1} << 20);
  for (const char* key : {"b", "d", "f"}) ASSERT_TRUE(db_->Put({}, key, key).ok());
  const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
  at->Seek("c");
  EXPECT_EQ(at->key(), "d");
  at->Seek("d");
  EXPECT_EQ(at->key(), "d");
  at->Seek("g");
  EXPECT_FALSE(at->Valid());
  at->SeekForPrev("c");
  EXPECT_EQ(at->key(), "b");
  at->SeekForPrev("d");
  EXPECT_EQ(at->key(), "d");
  at->SeekForPrev("a");
  EXPECT_FALSE(at->Valid());
}

TEST_F(IndexedMemtableTest, ReadersSeeWhatWasWrittenBeforeTheyCame) {
  open(size_t{64} << 20);
  std::atomic<int> written{0};
  std::atomic<bool> wrong{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&, i] {
      std::mt19937 random(static_cast<uint32_t>(i));
      for (int before = 0; before < 20'000 && !wrong;) {
        before = written.load();
        if (before == 0) continue;
        const int number = static_cast<int>(random() % static_cast<uint32_t>(before));
        if (get("key" + std::to_string(number)) != std::to_string(number)) wrong = true;
        if (get("last").empty() || get("none") != "nothing") wrong = true;
        const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}));
        at->Seek("key" + std::to_string(number));
        if (!at->Valid() || at->value() != std::to_string(number)) wrong = true;
      }
    });
  }
  for (int i = 0; i < 20'000; ++i) {
    ASSERT_TRUE(db_->Put({}, "last", std::to_string(i)).ok());
    ASSERT_TRUE(db_->Put({}, "key" + std::to_string(i), std::to_string(i)).ok());
    written = i + 1;
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace stator::engine
