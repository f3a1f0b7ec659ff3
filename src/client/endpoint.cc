#include "client/endpoint.h"

#include <chrono>
#include <ctime>
#include <thread>

#include "net/http_client.h"
#include "net/url.h"

namespace stator::client {

namespace {

constexpr int kTries = 10;
constexpr size_t kMostConnections = 256;
constexpr std::chrono::milliseconds kFirstPause{50};
constexpr std::chrono::milliseconds kLongestPause{5'000};
constexpr std::string_view kVersion = "DynamoDB_20120810.";

// Host names of AWS end with one of these.
bool is_aws(std::string_view host) {
  for (const std::string_view end : {".amazonaws.com", ".amazonaws.com.cn", ".api.aws"}) {
    if (host.size() > end.size() && host.substr(host.size() - end.size()) == end) return true;
  }
  return false;
}

// "dynamodb.eu-west-1.amazonaws.com": the second word.
std::string region_of_host(std::string_view host) {
  const size_t begin = host.find('.');
  if (begin == std::string_view::npos) return {};
  const size_t end = host.find('.', begin + 1);
  return std::string(host.substr(begin + 1, end - begin - 1));
}

bool is_worth_another_try(const Reply& reply) {
  if (reply.status >= 500) return true;
  if (reply.status != 400) return false;
  const std::string type = error_of(reply).type();
  return type == "ProvisionedThroughputExceededException" || type == "ThrottlingException" ||
         type == "RequestLimitExceeded" || type == "TransactionInProgressException";
}

class HttpEndpoint final : public Endpoint {
 public:
  HttpEndpoint(net::Url url, std::string name, net::Credentials credentials, std::string region)
      : url_(std::move(url)),
        name_(std::move(name)),
        signer_(std::move(credentials), std::move(region), "dynamodb"),
        http_(http_options()) {}

  Reply send(std::string_view operation, std::string body) override {
    net::ClientRequest request;
    request.method = "POST";
    request.url = url_;
    request.headers = {{"Content-Type", "application/x-amz-json-1.0"},
                       {"X-Amz-Target", std::string(kVersion) + std::string(operation)}};
    request.body = std::move(body);
    signer_.sign(request, static_cast<int64_t>(std::time(nullptr)));
    net::ClientResponse response = http_.send(request);
    return {response.status, std::move(response.body)};
  }
  std::string name() const override { return name_; }

 private:
  static net::HttpClientOptions http_options() {
    net::HttpClientOptions options;
    // As many as there are requests under way: none is opened anew for each of them.
    options.idle_per_host = kMostConnections;
    options.idle_total = kMostConnections;
    return options;
  }

  const net::Url url_;
  const std::string name_;
  const net::RequestSigner signer_;
  net::HttpClient http_;
};

}  // namespace

ServiceError error_of(const Reply& reply) {
  json::Document document;
  if (!document.parse(reply.body))
    return {"HTTP " + std::to_string(reply.status), "the answer is not DynamoDB's"};
  const json::Element root = document.root();
  std::string type(json::string_member(root, "__type").value_or(""));
  if (const size_t hash = type.rfind('#'); hash != std::string::npos) type.erase(0, hash + 1);
  if (type.empty()) type = "HTTP " + std::to_string(reply.status);
  auto message = json::string_member(root, "message");
  if (!message) message = json::string_member(root, "Message");
  return {type, std::string(message.value_or(type))};
}

json::ArrayElement list_of(const json::Element& answer, std::string_view name) {
  const std::optional<json::ArrayElement> list = json::array_member(answer, name);
  if (!list) throw std::runtime_error("an answer has no " + std::string(name));
  return *list;
}

std::string Endpoint::call(std::string_view operation, const std::string& body) {
  auto pause = kFirstPause;
  for (int attempt = 1;; ++attempt) {
    try {
      Reply reply = send(operation, body);
      if (reply.ok()) return std::move(reply.body);
      if (attempt == kTries || !is_worth_another_try(reply)) throw error_of(reply);
    } catch (const net::HttpError& error) {
      // A request that was not answered may have happened: what this sends may be sent again.
      const bool broken = error.kind() == net::HttpError::Kind::kBroken ||
                          error.kind() == net::HttpError::Kind::kTimeout;
      if (attempt == kTries || !broken) throw;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

std::unique_ptr<Endpoint> open_endpoint(const EndpointOptions& options,
                                        const Environment& environment) {
  const std::optional<net::Url> url = net::parse_url(options.url);
  if (!url) throw std::runtime_error("'" + options.url + "' is not the URL of an endpoint");
  Identity identity = find_identity(environment, options.profile);
  if (!identity.credentials) {
    if (is_aws(url->host)) {
      throw std::runtime_error(
          "no credentials for " + url->host +
          ": set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile with --profile");
    }
    identity.credentials = net::Credentials{"local", "local", {}};
  }
  std::string region = options.region;
  if (region.empty() && is_aws(url->host)) region = region_of_host(url->host);
  if (region.empty()) region = identity.region.value_or("us-east-1");
  return std::make_unique<HttpEndpoint>(*url, options.url, *identity.credentials, region);
}

}  // namespace stator::client
