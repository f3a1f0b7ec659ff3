#include "net/canonical_request.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "common/hex.h"
#include "net/url.h"

namespace stator::net {

namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

std::string hmac_sha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
           &size) == nullptr) {
    throw std::runtime_error("HMAC-SHA256 is not available");
  }
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string normalised_path(std::string_view path) {
  std::vector<std::string_view> segments;
  const bool ends_open = path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..");
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
    if (segment.empty() || segment == ".") continue;
    if (segment != "..") {
      segments.push_back(segment);
    } else if (!segments.empty()) {
      segments.pop_back();
    }
  }
  std::string out;
  for (const std::string_view segment : segments) {
    out.append("/").append(percent_encode(segment, false));
  }
  if (ends_open || out.empty()) out.push_back('/');
  return out;
}

std::string canonical_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view parameter = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (parameter.empty()) continue;
    const size_t equals = parameter.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : parameter.substr(equals + 1);
    parameters.emplace_back(percent_encode(percent_decode(parameter.substr(0, equals)), false),
                            percent_encode(percent_decode(value), false));
  }
  std::sort(parameters.begin(), parameters.end());
  std::string out;
  for (const auto& [name, value] : parameters) {
    if (!out.empty()) out.push_back('&');
    out.append(name).append("=").append(value);
  }
  return out;
}

// Without white space around it, and one space for each run of them.
void append_value(std::string& out, std::string_view value) {
  bool pending = false;
  bool any = false;
  for (const char c : value) {
    if (c == ' ' || c == '\t') {
      pending = any;
      continue;
    }
    if (pending) out.push_back(' ');
    pending = false;
    any = true;
    out.push_back(c);
  }
}

std::vector<SignedHeader> sorted(std::vector<SignedHeader> headers) {
  std::stable_sort(headers.begin(), headers.end(),
                   [](const SignedHeader& a, const SignedHeader& b) { return a.name < b.name; });
  return headers;
}

}  // namespace

std::string CanonicalRequest::text() const {
  std::string out(method);
  out.append("\n").append(is_path_literal ? std::string(path) : normalised_path(path));
  out.append("\n").append(canonical_query(query)).append("\n");
  std::string_view last;
  const std::vector<SignedHeader> ordered = sorted(headers);
  for (const SignedHeader& header : ordered) {
    if (header.name == last) {
      out.back() = ',';
    } else {
      out.append(header.name).append(":");
    }
    append_value(out, header.value);
    out.push_back('\n');
    last = header.name;
  }
  out.append("\n").append(signed_headers()).append("\n").append(payload_hash);
  return out;
}

std::string CanonicalRequest::signed_headers() const {
  std::string out;
  std::string_view last;
  const std::vector<SignedHeader> ordered = sorted(headers);
  for (const SignedHeader& header : ordered) {
    if (header.name == last) continue;
    if (!out.empty()) out.push_back(';');
    out.append(header.name);
    last = header.name;
  }
  return out;
}

std::string SigningScope::text() const {
  std::string out(date);
  out.append("/").append(region).append("/").append(service).append("/aws4_request");
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("SHA-256 is not available");
  }
  return to_hex({reinterpret_cast<const char*>(digest.data()), size});
}

std::string signing_key(const SigningScope& scope, std::string_view secret_key) {
  std::string key = hmac_sha256("AWS4" + std::string(secret_key), scope.date);
  key = hmac_sha256(key, scope.region);
  key = hmac_sha256(key, scope.service);
  return hmac_sha256(key, "aws4_request");
}

std::string sign_with_key(std::string_view canonical_text, std::string_view timestamp,
                          const SigningScope& scope, std::string_view key) {
  std::string to_sign(kAlgorithm);
  to_sign.append("\n").append(timestamp).append("\n").append(scope.text()).append("\n");
  to_sign.append(sha256_hex(canonical_text));
  return to_hex(hmac_sha256(key, to_sign));
}

std::string sign_canonical(std::string_view canonical_text, std::string_view timestamp,
                           const SigningScope& scope, std::string_view secret_key) {
  return sign_with_key(canonical_text, timestamp, scope, signing_key(scope, secret_key));
}

}  // namespace stator::net
