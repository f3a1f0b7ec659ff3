// Signs requests that we make: AWS Signature Version 4 in the Authorization header.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "net/http_client.h"

namespace stator::net {

struct Credentials {
  std::string access_key;
  std::string secret_key;
  std::string session_token;  // of temporary credentials; may be empty
};

// Thread-safe.
class RequestSigner {
 public:
  RequestSigner(Credentials credentials, std::string region, std::string service);

  // Sets X-Amz-Date, X-Amz-Security-Token (with temporary credentials), X-Amz-Content-Sha256 (for
  // s3) and Authorization. All headers that the request has are signed, and Host.
  void sign(ClientRequest& request, int64_t now_s) const;

 private:
  // The key of that day ("20130609").
  std::string key_of(std::string_view date) const;

  const Credentials credentials_;
  const std::string region_;
  const std::string service_;
  mutable std::mutex mutex_;
  mutable std::string date_;
  mutable std::string key_;  // of date_
};

}  // namespace stator::net
