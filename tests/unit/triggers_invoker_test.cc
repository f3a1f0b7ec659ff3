// Calls of functions by HTTP, to a server of the test's own.
#include "triggers/invoker.h"

#include <gtest/gtest.h>

#include <mutex>

#include "net/server.h"

namespace stator::triggers {
namespace {

class Function final : public net::Handler {
 public:
  Task<void> handle(net::Request& request, net::Response& response) override {
    const std::scoped_lock lock(mutex_);
    path = request.path;
    query = request.query;
    body = request.body;
    invocation_type = request.header("x-amz-invocation-type");
    response.status = status;
    response.headers = headers;
    response.body = answer;
    co_return;
  }
  std::string path, query, body, invocation_type;
  int status = 200;
  std::string headers, answer;

 private:
  std::mutex mutex_;
};

class InvokerTest : public ::testing::Test {
 protected:
  InvokerTest() {
    net::ServerOptions options;
    options.port = 0;
    options.threads = 1;
    server_ = std::make_unique<net::Server>(options);
    server_->bind();
    server_->start(function_);
    Addresses addresses;
    addresses.functions["plain"] = address("");
    addresses.functions["with-path"] = address("/run");
    addresses.functions["nobody"] = *net::parse_url("http://127.0.0.1:1");
    addresses.destinations["arn:d"] = address("/failed");
    invoker_ = std::make_unique<HttpInvoker>(addresses);
  }
  net::Url address(const std::string& path) {
    return *net::parse_url("http://127.0.0.1:" + std::to_string(server_->port()) + path);
  }
  Invocation invoke(const std::string& name, const std::string& qualifier = {}) {
    return invoker_->invoke({name, qualifier}, R"({"Records":[]})");
  }
  Invocation::Kind kind_of(int status, std::string headers, std::string answer) {
    function_.status = status;
    function_.headers = std::move(headers);
    function_.answer = std::move(answer);
    return invoke("plain").kind;
  }

  Function function_;
  std::unique_ptr<net::Server> server_;
  std::unique_ptr<HttpInvoker> invoker_;
};

using Kind = Invocation::Kind;

TEST_F(InvokerTest, CallsAsLambdasInvokeDoes) {
  function_.answer = R"({"batchItemFailures":[]})";
  const Invocation answer = invoke("plain");
  EXPECT_EQ(answer.kind, Kind::kDone);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.executed_version, "$LATEST");
  EXPECT_EQ(answer.body, R"({"batchItemFailures":[]})");
  EXPECT_EQ(function_.path, "/2015-03-31/functions/plain/invocations");
  EXPECT_EQ(function_.query, "");
  EXPECT_EQ(function_.body, R"({"Records":[]})");
  EXPECT_EQ(function_.invocation_type, "RequestResponse");
  invoke("plain", "$LATEST");
  EXPECT_EQ(function_.query, "Qualifier=%24LATEST");
  invoke("with-path", "live");
  EXPECT_EQ(function_.path, "/run");
  EXPECT_EQ(function_.query, "");
}

TEST_F(InvokerTest, WhatIsAFailure) {
  EXPECT_EQ(kind_of(200, "", "\"fine\""), Kind::kDone);
  EXPECT_EQ(kind_of(202, "", ""), Kind::kDone);
  EXPECT_EQ(kind_of(200, "X-Amz-Function-Error: Unhandled\r\n", "{}"), Kind::kFailed);
  EXPECT_EQ(kind_of(500, "", ""), Kind::kFailed);
  EXPECT_EQ(kind_of(404, "", ""), Kind::kFailed);
  EXPECT_EQ(kind_of(429, "", ""), Kind::kNotReached);
  // What the runtime interface emulator answers.
  EXPECT_EQ(kind_of(200, "", R"({"errorMessage":"x","errorType":"ValueError","stackTrace":[]})"),
            Kind::kFailed);
  EXPECT_EQ(kind_of(200, "", R"({"errorMessage":"part of what I say"})"), Kind::kDone);
  EXPECT_EQ(kind_of(200, "", R"("\"errorMessage\" is a word")"), Kind::kDone);
}

TEST_F(InvokerTest, WhoCannotBeReached) {
  EXPECT_EQ(invoke("nobody").kind, Kind::kNotReached);
  EXPECT_EQ(invoke("unknown").kind, Kind::kNotReached);
  EXPECT_FALSE(invoker_->knows_function("unknown"));
  EXPECT_TRUE(invoker_->knows_function("plain"));
  invoker_->stop();
  EXPECT_EQ(invoke("plain").kind, Kind::kNotReached);
}

TEST_F(InvokerTest, TellsADestination) {
  EXPECT_TRUE(invoker_->tell("arn:d", "{}"));
  EXPECT_EQ(function_.path, "/failed");
  EXPECT_EQ(function_.body, "{}");
  function_.status = 503;
  EXPECT_FALSE(invoker_->tell("arn:d", "{}"));
  EXPECT_FALSE(invoker_->tell("arn:other", "{}"));
}

}  // namespace
}  // namespace stator::triggers
