#include "triggers/invoker.h"

#include <spdlog/spdlog.h>

#include "json/reader.h"

namespace stator::triggers {

namespace {

constexpr int kTooManyRequests = 429;
constexpr std::string_view kUnhandled = "Unhandled";
constexpr std::string_view kLatest = "$LATEST";

bool is_success(int status) {
  return status >= 200 && status < 300;
}

// The runtime interface emulator answers 200 whatever happened; an error shows in the body alone.
bool is_error_body(const std::string& body) {
  if (body.find("\"errorMessage\"") == std::string::npos) return false;
  json::Document document;
  if (!document.parse(body)) return false;
  return json::string_member(document.root(), "errorMessage") &&
         (json::string_member(document.root(), "errorType") ||
          json::member(document.root(), "stackTrace"));
}

// One that the function had closed meanwhile would look like a call that failed, and a call may not
// be repeated for nothing.
net::HttpClientOptions without_kept_connections() {
  net::HttpClientOptions options;
  options.idle_per_host = 0;
  return options;
}

net::ClientRequest post(const net::Url& url, const std::string& body) {
  net::ClientRequest request;
  request.method = "POST";
  request.url = url;
  request.set_header("Content-Type", "application/json");
  request.body = body;
  return request;
}

}  // namespace

HttpInvoker::HttpInvoker(Addresses addresses)
    : addresses_(std::move(addresses)), client_(without_kept_connections()) {}

bool HttpInvoker::knows_function(const std::string& name) const {
  return addresses_.functions.contains(name);
}

bool HttpInvoker::knows_destination(const std::string& arn) const {
  return addresses_.destinations.contains(arn);
}

Invocation HttpInvoker::invoke(const FunctionName& function, const std::string& event) {
  Invocation result;
  const auto address = addresses_.functions.find(function.name);
  if (address == addresses_.functions.end()) {
    result.kind = Invocation::Kind::kNotReached;
    result.detail = "function " + function.name + " has no address in the configuration";
    return result;
  }
  net::ClientRequest request = post(address->second, event);
  if (request.url.path == "/") {
    request.url.path = "/2015-03-31/functions/" + function.name + "/invocations";
    if (!function.qualifier.empty())
      request.url.query = "Qualifier=" + net::percent_encode(function.qualifier, false);
  }
  request.set_header("X-Amz-Invocation-Type", "RequestResponse");
  try {
    net::ClientResponse response = client_.send(request, kInvokeTimeout);
    result.status = response.status;
    result.function_error = response.header("X-Amz-Function-Error");
    const std::string_view version = response.header("X-Amz-Executed-Version");
    result.executed_version = version.empty() ? kLatest : version;
    if (response.status == kTooManyRequests) {
      result.kind = Invocation::Kind::kNotReached;
      result.detail = "too many requests";
    } else if (!result.function_error.empty() || !is_success(response.status) ||
               is_error_body(response.body)) {
      result.kind = Invocation::Kind::kFailed;
      if (result.function_error.empty()) result.function_error = kUnhandled;
      result.detail =
          "status " + std::to_string(response.status) + ": " + response.body.substr(0, 200);
    } else {
      result.body = std::move(response.body);
    }
  } catch (const net::HttpError& error) {
    using Kind = net::HttpError::Kind;
    const bool was_sent = error.kind() == Kind::kTimeout || error.kind() == Kind::kBroken ||
                          error.kind() == Kind::kTooLarge;
    result.kind = was_sent ? Invocation::Kind::kFailed : Invocation::Kind::kNotReached;
    result.detail = error.what();
    if (was_sent) {
      result.status = 200;
      result.executed_version = kLatest;
      result.function_error = kUnhandled;
    }
  }
  return result;
}

bool HttpInvoker::tell(const std::string& destination, const std::string& record) {
  const auto address = addresses_.destinations.find(destination);
  if (address == addresses_.destinations.end()) {
    spdlog::warn("destination {} has no address in the configuration", destination);
    return false;
  }
  try {
    const net::ClientResponse response = client_.send(post(address->second, record));
    if (is_success(response.status)) return true;
    spdlog::warn("destination {} answered {}", destination, response.status);
  } catch (const net::HttpError& error) {
    spdlog::warn("destination {}: {}", destination, error.what());
  }
  return false;
}

}  // namespace stator::triggers
