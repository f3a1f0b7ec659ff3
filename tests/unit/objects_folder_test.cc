// Buckets in a folder: whole files only, and nothing outside of the bucket.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "common/ids.h"
#include "objects/object_store.h"

namespace stator::objects {
namespace {

namespace fs = std::filesystem;
using Kind = ObjectError::Kind;

class FolderTest : public ::testing::Test {
 protected:
  FolderTest() : root_(fs::temp_directory_path() / ("stator_objects_" + RandomIds().uuid())) {
    store_ = open_folder(root_);
  }
  ~FolderTest() override { fs::remove_all(root_); }

  template <typename Call>
  std::optional<Kind> error_of(Call call) {
    try {
      call();
    } catch (const ObjectError& error) {
      message_ = error.what();
      return error.kind();
    }
    return std::nullopt;
  }
  std::vector<std::string> keys(const std::string& prefix, const std::string& after = {},
                                size_t limit = 1000) {
    std::vector<std::string> found;
    for (const ObjectInfo& info : store_->list("b1", prefix, after, limit))
      found.push_back(info.key);
    return found;
  }

  fs::path root_;
  std::unique_ptr<ObjectStore> store_;
  std::string message_;
};

TEST_F(FolderTest, WhatWasPutIsReadBackWholeAndInParts) {
  const std::string etag = store_->put("b1", "a/b/c.txt", "hello world");
  EXPECT_EQ(etag, "5eb63bbbe01eeed093cb22bb8f5acdc3");  // MD5, as S3's of an object in one part
  EXPECT_EQ(store_->read("b1", "a/b/c.txt", 0, 100), "hello world");
  EXPECT_EQ(store_->read("b1", "a/b/c.txt", 6, 3), "wor");
  EXPECT_EQ(store_->read("b1", "a/b/c.txt", 9, 10), "ld");
  EXPECT_EQ(store_->read("b1", "a/b/c.txt", 11, 10), "");
  EXPECT_TRUE(fs::exists(root_ / "b1/a/b/c.txt"));
  store_->put("b1", "a/b/c.txt", "");
  EXPECT_EQ(store_->read("b1", "a/b/c.txt", 0, 100), "");
}

TEST_F(FolderTest, AnObjectAppearsOnlyWhenItIsWhole) {
  const auto upload = store_->upload("b1", "k");
  upload->write("half");
  EXPECT_EQ(keys(""), std::vector<std::string>{});
  EXPECT_EQ(error_of([&] { store_->read("b1", "k", 0, 10); }), Kind::kNoSuchKey);
  upload->finish();
  EXPECT_EQ(keys(""), std::vector<std::string>{"k"});
}

TEST_F(FolderTest, AnUploadThatIsGivenUpLeavesNothing) {
  store_->upload("b1", "k")->write("half");
  EXPECT_EQ(keys(""), std::vector<std::string>{});
  EXPECT_TRUE(fs::is_empty(root_ / "b1/.stator-uploads"));
}

TEST_F(FolderTest, KeysDoNotLeaveTheBucket) {
  std::ofstream(root_.string() + "_outside") << "secret";
  fs::create_directories(root_ / "b2");
  std::ofstream(root_ / "b2/x") << "secret";
  for (const char* key : {"../b2/x", "..", "a/../../b2/x", "/etc/passwd", "a//b", "a/", "", ".",
                          "a/./b", ".stator-uploads/x"}) {
    EXPECT_EQ(error_of([&] { store_->read("b1", key, 0, 10); }), Kind::kInvalidKey) << key;
    EXPECT_EQ(error_of([&] { store_->put("b1", key, "x"); }), Kind::kInvalidKey) << key;
  }
  EXPECT_EQ(error_of([&] { store_->put("b1", std::string("a\0b", 3), "x"); }), Kind::kInvalidKey);
  for (const char* bucket : {"..", ".", "", "a/b", ".hidden"}) {
    EXPECT_EQ(error_of([&] { store_->put(bucket, "k", "x"); }), Kind::kNoSuchBucket) << bucket;
    EXPECT_EQ(error_of([&] { store_->read(bucket, "k", 0, 1); }), Kind::kNoSuchBucket) << bucket;
    EXPECT_EQ(error_of([&] { store_->list(bucket, "", "", 1); }), Kind::kNoSuchBucket) << bucket;
  }
  fs::remove(root_.string() + "_outside");
}

TEST_F(FolderTest, LinksAreNotFollowed) {
  store_->put("b1", "real/file", "x");
  fs::create_directories(root_ / "elsewhere");
  std::ofstream(root_ / "elsewhere/x") << "secret";
  fs::create_directory_symlink(root_ / "elsewhere", root_ / "b1/linked");
  fs::create_symlink(root_ / "elsewhere/x", root_ / "b1/file");
  EXPECT_EQ(error_of([&] { store_->read("b1", "linked/x", 0, 10); }), Kind::kNoSuchKey);
  EXPECT_EQ(error_of([&] { store_->read("b1", "file", 0, 10); }), Kind::kNoSuchKey);
  EXPECT_TRUE(error_of([&] { store_->put("b1", "linked/y", "x"); }).has_value());
  EXPECT_FALSE(fs::exists(root_ / "elsewhere/y"));
  EXPECT_EQ(keys(""), std::vector<std::string>{"real/file"});
  // An object in the place of a link replaces the link, not what it leads to.
  store_->put("b1", "file", "mine");
  EXPECT_EQ(store_->read("b1", "file", 0, 10), "mine");
  std::string content;
  std::ifstream(root_ / "elsewhere/x") >> content;
  EXPECT_EQ(content, "secret");
}

TEST_F(FolderTest, PipesAreNoObjects) {
  store_->put("b1", "k", "x");
  ASSERT_EQ(::mkfifo((root_ / "b1/pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { store_->read("b1", "pipe", 0, 10); }), Kind::kNoSuchKey);
  EXPECT_EQ(keys(""), std::vector<std::string>{"k"});
}

TEST_F(FolderTest, ListsInTheOrderOfKeys) {
  // '-' and '.' sort before '/', '0' after it.
  const std::vector<std::string> sorted = {"a-b", "a.b", "a/b", "a/c/d", "a0", "b"};
  for (const std::string& key : sorted) store_->put("b1", key, "12345");
  EXPECT_EQ(keys(""), sorted);
  EXPECT_EQ(keys("a/"), (std::vector<std::string>{"a/b", "a/c/d"}));
  EXPECT_EQ(keys("a"), (std::vector<std::string>{"a-b", "a.b", "a/b", "a/c/d", "a0"}));
  EXPECT_EQ(keys("a/c/d"), (std::vector<std::string>{"a/c/d"}));
  EXPECT_EQ(keys("x"), std::vector<std::string>{});
  for (size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_EQ(keys("", sorted[i]),
              std::vector<std::string>(sorted.begin() + static_cast<long>(i) + 1, sorted.end()));
  }
  // Pages of any size give all of them.
  for (size_t limit = 1; limit <= 3; ++limit) {
    std::vector<std::string> all;
    for (int page = 0; page < 10; ++page) {
      const auto found = keys("", all.empty() ? std::string() : all.back(), limit);
      all.insert(all.end(), found.begin(), found.end());
      if (found.size() < limit) break;
    }
    EXPECT_EQ(all, sorted);
  }
  EXPECT_EQ(store_->list("b1", "b", "", 10)[0].size_bytes, 5u);
}

TEST_F(FolderTest, ABucketThatIsNotThereIsAnErrorOnlyForReaders) {
  EXPECT_EQ(error_of([&] { store_->list("nobody", "", "", 1); }), Kind::kNoSuchBucket);
  EXPECT_EQ(error_of([&] { store_->read("nobody", "k", 0, 1); }), Kind::kNoSuchBucket);
  store_->put("nobody", "k", "x");
  EXPECT_EQ(store_->read("nobody", "k", 0, 1), "x");
}

TEST_F(FolderTest, AChangedObjectIsNoticed) {
  store_->put("b1", "k", "first");
  const std::string etag = store_->list("b1", "k", "", 1)[0].etag;
  EXPECT_EQ(store_->read("b1", "k", 0, 10, etag), "first");
  store_->put("b1", "k", "other");
  EXPECT_EQ(error_of([&] { store_->read("b1", "k", 0, 10, etag); }), Kind::kRefused);
}

TEST_F(FolderTest, WhatCrashesLeftIsRemovedADayLater) {
  fs::create_directories(root_ / "b1/.stator-uploads");
  std::ofstream(root_ / "b1/.stator-uploads/old") << "x";
  std::ofstream(root_ / "b1/.stator-uploads/young") << "x";
  fs::last_write_time(root_ / "b1/.stator-uploads/old",
                      fs::file_time_type::clock::now() - std::chrono::hours(25));
  store_->put("b1", "k", "x");
  EXPECT_FALSE(fs::exists(root_ / "b1/.stator-uploads/old"));
  EXPECT_TRUE(fs::exists(root_ / "b1/.stator-uploads/young"));
}

TEST(TemporaryFolder, IsGoneWithTheStore) {
  const auto store = open_temporary_folder();
  store->put("bucket", "k", "x");
  EXPECT_EQ(store->read("bucket", "k", 0, 1), "x");
}

}  // namespace
}  // namespace stator::objects
