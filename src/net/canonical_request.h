// The form of a request that is signed: AWS Signature Version 4. Whoever signs and whoever checks a
// signature builds the same text from the same request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stator::net {

struct SignedHeader {
  std::string name;   // lower case
  std::string value;  // as it is sent
};

struct CanonicalRequest {
  std::string_view method;
  std::string_view path;  // as it is sent
  std::string_view
      query;  // as it is sent; without X-Amz-Signature where the signature is in the query
  // The signed headers in any order; one that is repeated comes several times, in the order of the
  // request.
  std::vector<SignedHeader> headers;
  std::string_view
      payload_hash;  // hexadecimal SHA-256 of the body, or what x-amz-content-sha256 says
  // S3 alone takes the path as it is; all other services resolve dots and double slashes and encode
  // it once more.
  bool is_path_literal = false;

  std::string text() const;
  // "host;x-amz-date"
  std::string signed_headers() const;
};

struct SigningScope {
  std::string_view date;  // "20130609"
  std::string_view region;
  std::string_view service;

  // "20130609/us-east-1/dynamodb/aws4_request"
  std::string text() const;
};

std::string sha256_hex(std::string_view bytes);

// The key that signs a day's requests; it costs more than the signature itself.
std::string signing_key(const SigningScope& scope, std::string_view secret_key);

// The signature of a canonical request, hexadecimal. `timestamp` is "20130609T100759Z".
std::string sign_with_key(std::string_view canonical_text, std::string_view timestamp,
                          const SigningScope& scope, std::string_view key);
// Both in one.
std::string sign_canonical(std::string_view canonical_text, std::string_view timestamp,
                           const SigningScope& scope, std::string_view secret_key);

}  // namespace stator::net
