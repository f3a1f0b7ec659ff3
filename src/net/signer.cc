#include "net/signer.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "net/canonical_request.h"
#include "net/http_message.h"

namespace stator::net {

namespace {

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

}  // namespace

RequestSigner::RequestSigner(Credentials credentials, std::string region, std::string service)
    : credentials_(std::move(credentials)),
      region_(std::move(region)),
      service_(std::move(service)) {}

std::string RequestSigner::key_of(std::string_view date) const {
  const std::lock_guard lock(mutex_);
  if (date_ != date) {
    key_ = signing_key({date, region_, service_}, credentials_.secret_key);
    date_ = date;
  }
  return key_;
}

void RequestSigner::sign(ClientRequest& request, int64_t now_s) const {
  const std::string timestamp =
      fmt::format("{:%Y%m%dT%H%M%SZ}", fmt::gmtime(static_cast<std::time_t>(now_s)));
  const std::string payload_hash = sha256_hex(request.body);
  std::erase_if(request.headers, [](const auto& field) {
    return equals_ignoring_case(field.first, "authorization");
  });
  request.set_header("X-Amz-Date", timestamp);
  if (!credentials_.session_token.empty()) {
    request.set_header("X-Amz-Security-Token", credentials_.session_token);
  }
  if (service_ == "s3") request.set_header("X-Amz-Content-Sha256", payload_hash);

  CanonicalRequest canonical;
  canonical.method = request.method;
  canonical.path = request.url.path;
  canonical.query = request.url.query;
  canonical.payload_hash = payload_hash;
  canonical.is_path_literal = service_ == "s3";
  canonical.headers.push_back({"host", request.url.authority()});
  for (const auto& [name, value] : request.headers) {
    canonical.headers.push_back({lower_case(name), value});
  }
  const SigningScope scope{std::string_view(timestamp).substr(0, 8), region_, service_};
  const std::string signature =
      sign_with_key(canonical.text(), timestamp, scope, key_of(scope.date));
  request.set_header("Authorization", "AWS4-HMAC-SHA256 Credential=" + credentials_.access_key +
                                          "/" + scope.text() + ", SignedHeaders=" +
                                          canonical.signed_headers() + ", Signature=" + signature);
}

}  // namespace stator::net
