#include "http/service.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <regex>
#include <stdexcept>

#include "net/gzip.h"

namespace stator::http {
namespace {

using net::Method;

// Answers every operation with its name and the body it got.
class FakeDatabase final : public Database {
 public:
  bool knows(std::string_view service, std::string_view operation) const override {
    return service == "DynamoDB_20120810" && operation == "ListTables";
  }
  Task<Answer> execute(std::string_view, std::string_view operation, std::string body,
                       Caller caller) override {
    if (body == "\"throw\"") throw std::runtime_error("thrown");
    last_caller = caller;
    last_body = body;
    Answer answer;
    answer.body = answer_body.empty() ? std::string(operation) : answer_body;
    co_return answer;
  }
  Caller last_caller;
  std::string last_body;
  std::string answer_body;
};

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() { options_.version = "1.2.3"; }

  void post(std::string body) {
    request_.method = Method::kPost;
    request_.path = "/";
    request_.body = std::move(body);
    run();
  }
  void run() {
    response_.clear();
    Service service(options_, database_, signatures_);
    Task<void> task = service.handle(request_, response_);
    run_blocking(std::move(task));
  }
  void header(std::string_view name, std::string_view value) {
    request_.headers.push_back({name, value});
  }
  void sign() {
    header(
        "authorization",
        "AWS4-HMAC-SHA256 Credential=AKID/1/r/dynamodb/aws4_request, SignedHeaders=h, Signature=s");
    header("x-amz-date", "20130609T100759Z");
  }
  void good_request() {
    header("content-type", "application/x-amz-json-1.0");
    header("x-amz-target", "DynamoDB_20120810.ListTables");
    sign();
  }
  bool has_line(const std::string& line) const {
    return response_.headers.find(line + "\r\n") != std::string::npos;
  }
  void expect(int status, std::string_view body, std::string_view type) const {
    EXPECT_EQ(response_.status, status);
    EXPECT_EQ(response_.body, body);
    EXPECT_EQ(response_.content_type, type);
  }

  ServiceOptions options_;
  FakeDatabase database_;
  net::AcceptEverySignature signatures_;
  net::Request request_;
  net::Response response_;
};

constexpr std::string_view kUnknown =
    R"({"__type":"com.amazon.coral.service#UnknownOperationException"})";
constexpr std::string_view kSerialization =
    R"({"__type":"com.amazon.coral.service#SerializationException"})";
constexpr std::string_view kNotFound = "<UnknownOperationException/>\n";

TEST_F(ServiceTest, ExecutesAndFramesTheAnswer) {
  good_request();
  post("{}");
  expect(200, "ListTables", "application/x-amz-json-1.0");
  EXPECT_EQ(database_.last_caller.access_key, "AKID");
  EXPECT_EQ(database_.last_body, "{}");
  std::smatch id;
  ASSERT_TRUE(
      std::regex_search(response_.headers, id, std::regex("x-amzn-RequestId: ([0-9A-Z]{52})\r\n")));
  EXPECT_EQ(database_.last_caller.request_id, id[1]);
  EXPECT_TRUE(has_line("x-amz-crc32: " +
                       std::to_string(crc32(0, reinterpret_cast<const Bytef*>("ListTables"), 10))));
}

TEST_F(ServiceTest, GetIsTheHealthText) {
  request_.method = Method::kGet;
  request_.path = "/";
  run();
  EXPECT_EQ(response_.status, 200);
  EXPECT_EQ(response_.body, "healthy: dynamodb.us-east-1.amazonaws.com ");
  EXPECT_TRUE(has_line("x-amz-crc32: 3128867991"));
}

TEST_F(ServiceTest, OtherMethodsAndPathsAreNotFound) {
  for (const Method method : {Method::kPut, Method::kDelete, Method::kOptions, Method::kOther}) {
    request_.method = method;
    request_.path = "/";
    run();
    expect(404, kNotFound, "");
    EXPECT_TRUE(has_line("x-amz-crc32: 3552371480"));
  }
  request_.method = Method::kGet;
  request_.path = "/health";
  run();
  EXPECT_EQ(response_.status, 404);
}

TEST_F(ServiceTest, BodyOfAnotherContentTypeIsNotFound) {
  post("hi");
  expect(404, kNotFound, "");
  for (const char* type : {"whatever", "application/x-amz-json-1.1", "application/jsonasdf"}) {
    request_.headers.clear();
    header("content-type", type);
    post("hi");
    expect(404, kNotFound, "");
  }
}

TEST_F(ServiceTest, JsonIsReadBeforeTargetAndSignature) {
  for (const char* type :
       {"application/json", "application/json;", "  application/json  ;   asfd"}) {
    request_.headers.clear();
    header("content-type", type);
    post("hi");
    expect(400, kSerialization, "application/json");
    EXPECT_TRUE(has_line("x-amz-crc32: 3948637019"));
  }
  request_.headers.clear();
  header("content-type", "application/x-amz-json-1.0;blahblah");
  post("hi");
  expect(400, kSerialization, "application/x-amz-json-1.0");
}

TEST_F(ServiceTest, UnknownTargets) {
  post("");
  expect(400, kUnknown, "application/json");
  EXPECT_TRUE(has_line("x-amz-crc32: 1368724161"));
  for (const char* target :
       {"whatever", "DynamoDB_20120810.ListTable", "DynamoDB_2012.ListTables", ".", ""}) {
    request_.headers.clear();
    header("x-amz-target", target);
    header("content-type", "application/x-amz-json-1.0");
    post("{}");
    expect(400, kUnknown, "application/x-amz-json-1.0");
  }
}

TEST_F(ServiceTest, MissingSignature) {
  header("x-amz-target", "DynamoDB_20120810.ListTables");
  post("");
  expect(
      400,
      R"({"__type":"com.amazon.coral.service#MissingAuthenticationTokenException","message":"Request is missing Authentication Token"})",
      "application/json");
  EXPECT_TRUE(has_line("x-amz-crc32: 2088342776"));
}

TEST_F(ServiceTest, IncompleteSignatureHasTheObservedChecksum) {
  header("x-amz-target", "DynamoDB_20120810.ListTables");
  header("authorization", "AWS4-");
  post("");
  EXPECT_TRUE(has_line("x-amz-crc32: 1828866742"));
  request_.headers.back().value = "AWS4- Signature=b,Credential=a";
  header("date", "a");
  post("");
  EXPECT_TRUE(has_line("x-amz-crc32: 1159703774"));
  request_.headers.resize(1);
  request_.query = "X-Amz-Algorithm";
  post("");
  EXPECT_TRUE(has_line("x-amz-crc32: 2900502663"));
  header("authorization", "X");
  post("");
  EXPECT_TRUE(has_line("x-amz-crc32: 2139606068"));
}

TEST_F(ServiceTest, QuotesInAnEchoedHeaderAreEscaped) {
  header("x-amz-target", "DynamoDB_20120810.ListTables");
  header("authorization", "AWS4- \"\\\xff");
  post("");
  EXPECT_NE(response_.body.find(R"(in Authorization header: 'AWS4- \"\\?')"), std::string::npos)
      << response_.body;
}

TEST_F(ServiceTest, AnEmptyBodyIsFoundLast) {
  good_request();
  post("");
  expect(400, kSerialization, "application/x-amz-json-1.0");
}

TEST_F(ServiceTest, VersionOneOneIsAnsweredIfTheRestIsRight) {
  good_request();
  request_.headers[0].value = "application/x-amz-json-1.1";
  post("{}");
  expect(200, "ListTables", "application/x-amz-json-1.1");
}

TEST_F(ServiceTest, AnExceptionIsAnInternalServerError) {
  good_request();
  post("\"throw\"");
  expect(
      500,
      R"({"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Internal server error"})",
      "application/x-amz-json-1.0");
}

TEST_F(ServiceTest, CorsHeadersOnlyForAnOrigin) {
  post("");
  EXPECT_EQ(response_.headers.find("Access-Control"), std::string::npos);
  header("origin", "whatever");
  post("");
  EXPECT_EQ(response_.body, kUnknown);
  EXPECT_TRUE(has_line("Access-Control-Allow-Origin: *"));
  EXPECT_TRUE(has_line(
      "Access-Control-Expose-Headers: x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date"));
  EXPECT_EQ(response_.headers.find("Max-Age"), std::string::npos);
}

TEST_F(ServiceTest, PreflightAllowsWhatItIsAskedFor) {
  request_.method = Method::kOptions;
  request_.path = "/";
  header("origin", "whatever");
  header("access-control-request-headers", "a, b, c");
  header("access-control-request-method", "d");
  run();
  expect(200, "", "");
  EXPECT_TRUE(has_line("Access-Control-Allow-Origin: *"));
  EXPECT_TRUE(has_line("Access-Control-Allow-Headers: a, b, c"));
  EXPECT_TRUE(has_line("Access-Control-Allow-Methods: d"));
  EXPECT_TRUE(has_line("Access-Control-Max-Age: 172800"));
}

TEST_F(ServiceTest, GzippedBodyIsInflated) {
  good_request();
  header("content-encoding", "gzip");
  std::string zipped;
  net::deflate_into("{\"Limit\":1}", net::Coding::kGzip, zipped);
  post(zipped);
  EXPECT_EQ(response_.status, 200);
  EXPECT_EQ(database_.last_body, "{\"Limit\":1}");
}

TEST_F(ServiceTest, DamagedGzipAndUnknownCodingsAreInternalErrors) {
  good_request();
  header("content-encoding", "gzip");
  post("{}");
  EXPECT_EQ(response_.status, 500);
  post("");
  EXPECT_EQ(response_.status, 500);
  request_.headers.back().value = "garbage";
  post("{}");
  EXPECT_EQ(response_.status, 500);
}

TEST_F(ServiceTest, AGzipBombIsTooLarge) {
  options_.body_limit_bytes = 1000;
  good_request();
  header("content-encoding", "gzip");
  std::string zipped;
  net::deflate_into(std::string(1001, ' '), net::Coding::kGzip, zipped);
  post(zipped);
  EXPECT_EQ(response_.status, 413);
}

TEST_F(ServiceTest, AnswersFrom4096BytesAreCompressedForWhoAsks) {
  good_request();
  database_.answer_body = std::string(4096, 'x');
  post("{}");
  EXPECT_EQ(response_.body.size(), 4096u);
  header("accept-encoding", "gzip");
  post("{}");
  EXPECT_TRUE(has_line("Content-Encoding: gzip"));
  std::string plain;
  ASSERT_EQ(net::inflate_gzip(response_.body, 10'000, plain), net::Inflated::kOk);
  EXPECT_EQ(plain, database_.answer_body);
  const auto checksum =
      crc32(0, reinterpret_cast<const Bytef*>(response_.body.data()), response_.body.size());
  EXPECT_TRUE(has_line("x-amz-crc32: " + std::to_string(checksum)));
  database_.answer_body.pop_back();
  post("{}");
  EXPECT_EQ(response_.body.size(), 4095u);
}

TEST_F(ServiceTest, OperatorsHealthPage) {
  request_.method = Method::kGet;
  request_.path = "/_stator/health";
  run();
  expect(200, R"({"status":"ok","version":"1.2.3"})", "application/json");
  request_.method = Method::kPost;
  run();
  EXPECT_EQ(response_.status, 405);
  request_.path = "/_stator/nothing";
  run();
  EXPECT_EQ(response_.status, 404);
}

}  // namespace
}  // namespace stator::http
