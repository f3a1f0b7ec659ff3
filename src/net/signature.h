// Who signed a request: AWS Signature Version 4, in the Authorization header or in the query of a
// presigned URL. This file reads the form of a signature; whether it is right is decided by a
// SignatureCheck.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "net/http_message.h"

namespace stator::net {

// The views point into the request or into `decoded`.
struct Signature {
  std::string_view access_key;
  std::string_view date;  // of the credential scope: "20130609"
  std::string_view region;
  std::string_view service;
  std::string_view signed_headers;  // "host;x-amz-date"
  std::string_view signature;       // hexadecimal
  std::string_view timestamp;       // X-Amz-Date or Date
  std::string_view security_token;  // of temporary credentials; may be empty
  bool is_presigned = false;
  std::unique_ptr<std::string> decoded;  // the decoded query of a presigned request
};

// Names and texts are the service's.
struct SignatureError {
  enum class Kind {
    kMissingAuthenticationToken,
    kIncompleteSignature,
    kInvalidSignature,
    kUnrecognizedClient
  };
  Kind kind;
  std::string message;
};

std::variant<Signature, SignatureError> parse_signature(const Request& request);

// Where a signature is verified. Thread-safe.
class SignatureCheck {
 public:
  virtual ~SignatureCheck() = default;
  // The error to answer with, or nothing if the request is the signer's.
  virtual std::optional<SignatureError> check(const Request& request,
                                              const Signature& signature) const = 0;
};

// Every well-formed signature is right: there are no secrets to compare it with yet.
class AcceptEverySignature final : public SignatureCheck {
 public:
  std::optional<SignatureError> check(const Request&, const Signature&) const override {
    return std::nullopt;
  }
};

}  // namespace stator::net
