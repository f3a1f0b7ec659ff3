// Buckets of a service that speaks S3, imitated by a server in this process.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>

#include "common/md5.h"
#include "net/server.h"
#include "net/signature.h"
#include "net/url.h"
#include "objects/object_store.h"
#include "objects/xml.h"

namespace stator::objects {
namespace {

using Kind = ObjectError::Kind;

class FakeS3 final : public net::Handler {
 public:
  Task<void> handle(net::Request& request, net::Response& response) override {
    const std::lock_guard lock(mutex);
    ++requests;
    response.content_type = "application/xml";
    const auto signature = net::parse_signature(request);
    if (!std::holds_alternative<net::Signature>(signature)) {
      fail(response, 403, "AccessDenied");
      co_return;
    }
    if (failures > 0) {
      --failures;
      fail(response, 503, "SlowDown");
      co_return;
    }
    serve(request, response);
  }

  std::mutex mutex;
  std::map<std::string, std::string> objects;  // by "/bucket/key"
  std::map<std::string, std::map<int, std::string>> uploads;
  int failures = 0;
  int requests = 0;
  bool complete_fails_once = false;
  size_t page = 2;

 private:
  static void fail(net::Response& response, int status, const std::string& code) {
    response.status = status;
    response.body =
        "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>told so</Message></Error>";
  }
  static std::string parameter(std::string_view query, std::string_view name) {
    while (!query.empty()) {
      const size_t end = query.find('&');
      const std::string_view one = query.substr(0, end);
      query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
      if (one.substr(0, one.find('=')) != name) continue;
      return net::percent_decode(one.substr(one.find('=') + 1));
    }
    return {};
  }

  void serve(net::Request& request, net::Response& response) {
    const std::string path = net::percent_decode(request.path);
    if (!path.starts_with("/bucket/")) return fail(response, 404, "NoSuchBucket");
    const std::string upload = parameter(request.query, "uploadId");
    if (request.query == "uploads=") {
      const std::string id = "id/" + std::to_string(uploads.size());
      uploads[id];
      response.body = "<R><UploadId>" + id + "</UploadId></R>";
    } else if (!upload.empty() && !uploads.contains(upload)) {
      fail(response, 404, "NoSuchUpload");
    } else if (request.method == net::Method::kPut && !upload.empty()) {
      const int number = std::stoi(parameter(request.query, "partNumber"));
      uploads[upload][number] = request.body;
      response.add_header("ETag", "\"part" + std::to_string(number) + "&\"");
    } else if (request.method == net::Method::kDelete) {
      uploads.erase(upload);
      response.status = 204;
    } else if (request.method == net::Method::kPost) {
      if (complete_fails_once) {
        complete_fails_once = false;
        fail(response, 200, "InternalError");
        return;
      }
      std::string whole;
      std::string_view rest = request.body;
      int count = 0;
      while (const auto part = next_element(rest, "Part")) {
        const int number = std::stoi(element_text(*part, "PartNumber"));
        EXPECT_EQ(element_text(*part, "ETag"), "\"part" + std::to_string(number) + "&\"");
        whole += uploads[upload][number];
        ++count;
      }
      EXPECT_EQ(count, static_cast<int>(uploads[upload].size()));
      objects[path] = whole;
      uploads.erase(upload);
      response.body = "<R><ETag>&quot;whole-" + std::to_string(count) + "&quot;</ETag></R>";
    } else if (request.method == net::Method::kPut) {
      objects[path] = request.body;
      response.add_header("ETag", "\"one\"");
    } else if (!request.query.empty()) {
      list(request, response);
    } else {
      get(path, request, response);
    }
  }

  void get(const std::string& path, net::Request& request, net::Response& response) {
    if (!objects.contains(path)) return fail(response, 404, "NoSuchKey");
    const std::string& object = objects[path];
    if (request.has_header("if-match") &&
        request.header("if-match") != "\"" + etag(object) + "\"") {
      return fail(response, 412, "PreconditionFailed");
    }
    const std::string range(request.header("range"));
    const size_t dash = range.find('-');
    const size_t from = std::stoul(range.substr(6, dash - 6));
    const size_t to = std::stoul(range.substr(dash + 1));
    if (from >= object.size()) return fail(response, 416, "InvalidRange");
    response.status = 206;
    response.body = object.substr(from, to - from + 1);
  }

  static std::string etag(const std::string& object) { return std::to_string(object.size()); }

  void list(net::Request& request, net::Response& response) {
    const std::string prefix = "/bucket/" + parameter(request.query, "prefix");
    std::string after = parameter(request.query, "continuation-token");
    if (after.empty()) after = parameter(request.query, "start-after");
    response.body = "<ListBucketResult>";
    size_t count = 0;
    bool truncated = false;
    std::string last;
    for (const auto& [path, object] : objects) {
      const std::string key = path.substr(8);
      if (!path.starts_with(prefix) || (!after.empty() && key <= after)) continue;
      if (count == page) {
        truncated = true;
        break;
      }
      response.body += "<Contents><Key>";
      append_xml_text(response.body, key);
      response.body += "</Key><Size>" + std::to_string(object.size()) + "</Size><ETag>&quot;" +
                       etag(object) + "&quot;</ETag></Contents>";
      last = key;
      ++count;
    }
    response.body +=
        std::string("<IsTruncated>") + (truncated ? "true" : "false") + "</IsTruncated>";
    if (truncated) {
      response.body += "<NextContinuationToken>";
      append_xml_text(response.body, last);
      response.body += "</NextContinuationToken>";
    }
    response.body += "</ListBucketResult>";
  }
};

class S3Test : public ::testing::Test {
 protected:
  S3Test() {
    net::ServerOptions options;
    options.port = 0;
    options.threads = 1;
    server_ = std::make_unique<net::Server>(options);
    server_->bind();
    server_->start(fake_);
    reopen();
  }
  ~S3Test() override {
    store_.reset();
    server_.reset();
  }
  void reopen() {
    S3Options options;
    options.endpoint = "http://127.0.0.1:" + std::to_string(server_->port());
    options.access_key = "key";
    options.secret_key = "secret";
    options.part_bytes = 1000;
    options.pause = [this](std::chrono::milliseconds time) {
      pauses_.push_back(time);
      return true;
    };
    store_ = open_s3(options, clock_);
  }
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

  SystemClock clock_;
  FakeS3 fake_;
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<ObjectStore> store_;
  std::vector<std::chrono::milliseconds> pauses_;
  std::string message_;
};

TEST_F(S3Test, SmallObjectsGoInOneRequest) {
  EXPECT_EQ(store_->put("bucket", "a b/ü&<c>", "hello"), "one");
  EXPECT_EQ(fake_.objects.at("/bucket/a b/ü&<c>"), "hello");
  EXPECT_EQ(fake_.requests, 1);
  EXPECT_EQ(store_->read("bucket", "a b/ü&<c>", 1, 3), "ell");
  EXPECT_EQ(store_->read("bucket", "a b/ü&<c>", 5, 3), "");
}

TEST_F(S3Test, LargeObjectsGoInParts) {
  std::string whole;
  const auto upload = store_->upload("bucket", "large");
  for (int i = 0; i < 500; ++i) {
    const std::string piece = std::to_string(i) + ",";
    upload->write(piece);
    whole += piece;
  }
  EXPECT_FALSE(fake_.objects.contains("/bucket/large"));
  EXPECT_EQ(upload->finish(), "whole-2");
  EXPECT_EQ(fake_.objects.at("/bucket/large"), whole);
  EXPECT_TRUE(fake_.uploads.empty());
}

TEST_F(S3Test, OneWriteMayBeManyParts) {
  const std::string whole(5'000, 'x');
  EXPECT_EQ(store_->put("bucket", "k", whole), "whole-5");
  EXPECT_EQ(fake_.objects.at("/bucket/k"), whole);
}

TEST_F(S3Test, AnUploadThatIsGivenUpIsAborted) {
  store_->upload("bucket", "k")->write(std::string(3'000, 'x'));
  EXPECT_TRUE(fake_.uploads.empty());
  EXPECT_TRUE(fake_.objects.empty());
}

TEST_F(S3Test, TroubleThatPassesIsWaitedForLongerEachTime) {
  fake_.failures = 5;
  store_->put("bucket", "k", "x");
  EXPECT_EQ(fake_.requests, 6);
  ASSERT_EQ(pauses_.size(), 5u);
  EXPECT_GE(pauses_[4], std::chrono::milliseconds(1600));
  EXPECT_LE(pauses_[4], std::chrono::milliseconds(2400));
}

TEST_F(S3Test, TroubleThatStaysIsAnError) {
  fake_.failures = 100;
  EXPECT_EQ(error_of([&] { store_->put("bucket", "k", "x"); }), Kind::kUnavailable);
  EXPECT_NE(message_.find("SlowDown"), std::string::npos) << message_;
  EXPECT_EQ(fake_.requests, 6);
}

TEST_F(S3Test, AnErrorWithinASuccessIsTriedAgain) {
  fake_.complete_fails_once = true;
  const std::string whole(2'500, 'x');
  EXPECT_EQ(store_->put("bucket", "k", whole), "whole-3");
  EXPECT_EQ(fake_.objects.at("/bucket/k"), whole);
}

TEST_F(S3Test, RefusalsAreNotTriedAgain) {
  EXPECT_EQ(error_of([&] { store_->put("other", "k", "x"); }), Kind::kNoSuchBucket);
  EXPECT_EQ(error_of([&] { store_->read("bucket", "none", 0, 1); }), Kind::kNoSuchKey);
  EXPECT_EQ(error_of([&] { store_->list("other", "", "", 10); }), Kind::kNoSuchBucket);
  EXPECT_EQ(fake_.requests, 3);
  EXPECT_TRUE(pauses_.empty());
}

TEST_F(S3Test, ListsOverSeveralPages) {
  for (const char* key : {"a", "b&", "c/1", "c/2", "c/3", "d"}) store_->put("bucket", key, "xy");
  const auto keys = [&](const std::string& prefix, const std::string& after, size_t limit) {
    std::string all;
    for (const ObjectInfo& info : store_->list("bucket", prefix, after, limit))
      all += info.key + " ";
    return all;
  };
  EXPECT_EQ(keys("", "", 100), "a b& c/1 c/2 c/3 d ");
  EXPECT_EQ(keys("c/", "", 100), "c/1 c/2 c/3 ");
  EXPECT_EQ(keys("", "b&", 3), "c/1 c/2 c/3 ");
  EXPECT_EQ(store_->list("bucket", "a", "", 1)[0].size_bytes, 2u);
}

TEST_F(S3Test, AChangedObjectIsNoticed) {
  store_->put("bucket", "k", "four");
  EXPECT_EQ(store_->read("bucket", "k", 0, 10, "4"), "four");
  EXPECT_EQ(error_of([&] { store_->read("bucket", "k", 0, 10, "5"); }), Kind::kRefused);
}

TEST_F(S3Test, StopEndsEverything) {
  store_->stop();
  EXPECT_EQ(error_of([&] { store_->put("bucket", "k", "x"); }), Kind::kStopped);
}

TEST_F(S3Test, NobodyListens) {
  const uint16_t port = server_->port();
  server_.reset();
  EXPECT_EQ(error_of([&] { store_->put("bucket", "k", "x"); }), Kind::kUnavailable);
  EXPECT_NE(message_.find(std::to_string(port)), std::string::npos) << message_;
}

TEST(Xml, TextIsDecoded) {
  EXPECT_EQ(element_text("<a><Key>x&amp;&lt;&#233;&#x20AC;&unknown;</Key></a>", "Key"),
            "x&<é€&unknown;");
  EXPECT_EQ(element_text("<KeyCount>3</KeyCount><Key>k</Key>", "Key"), "k");
  EXPECT_EQ(element_text("<Key/>", "Key"), "");
  EXPECT_EQ(element_text("<Key>cut", "Key"), "");
  EXPECT_EQ(element_text("<E xmlns=\"u\">v</E>", "E"), "v");
}

TEST(S3, AnEndpointThatIsNoUrlIsRefused) {
  const SystemClock clock;
  S3Options options;
  options.endpoint = "localhost:9000";
  EXPECT_THROW(open_s3(options, clock), std::runtime_error);
}

}  // namespace
}  // namespace stator::objects
