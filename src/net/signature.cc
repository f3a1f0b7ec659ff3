#include "net/signature.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "common/hex.h"
#include "net/header_value.h"

namespace stator::net {

namespace {

using Kind = SignatureError::Kind;

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kPrefix = "AWS4-";

SignatureError incomplete(std::string message) {
  return {Kind::kIncompleteSignature, std::move(message)};
}

// Like find_first_of, which asks for each character whether it is one of them.
size_t find_either(std::string_view text, char first, char second) {
  const size_t found = text.find(first);
  return std::min(found, text.substr(0, found).find(second));
}

void append_decoded(std::string& out, std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(c == '+' ? ' ' : c);
    }
  }
}

bool is_iso_basic(std::string_view text) {  // 20130609T100759Z
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return false;
  for (size_t i = 0; i < 15; ++i) {
    if (i != 8 && (text[i] < '0' || text[i] > '9')) return false;
  }
  return true;
}

// Fills the scope of `signature` from "key/20130609/us-east-1/dynamodb/aws4_request". Slashes at
// the end do not count.
std::optional<SignatureError> read_credential(std::string_view credential, Signature& signature) {
  std::string_view rest = credential;
  while (!rest.empty() && rest.back() == '/') rest.remove_suffix(1);
  std::array<std::string_view, 5> parts;
  size_t count = 0;
  for (bool more = true; more; ++count) {
    const size_t slash = rest.find('/');
    if (count < parts.size()) parts[count] = rest.substr(0, slash);
    more = slash != std::string_view::npos;
    if (more) rest.remove_prefix(slash + 1);
  }
  if (count != parts.size()) {
    return incomplete(
        "Credential must have exactly 5 slash-delimited elements, e.g. "
        "keyid/date/region/service/term, got '" +
        std::string(credential) + "'");
  }
  signature.access_key = parts[0];
  signature.date = parts[1];
  signature.region = parts[2];
  signature.service = parts[3];
  return std::nullopt;
}

// What the two forms have in common, in the service's order: date, algorithm, credential.
std::optional<SignatureError> read_common(std::string_view iso_date, std::string_view algorithm,
                                          std::string_view credential, Signature& signature) {
  if (!iso_date.empty() && !is_iso_basic(iso_date)) {
    return incomplete("Date must be in ISO-8601 'basic format'. Got '" + std::string(iso_date) +
                      "'. See http://en.wikipedia.org/wiki/ISO_8601");
  }
  if (algorithm != kAlgorithm) {
    return incomplete("Unsupported AWS 'algorithm': '" + std::string(algorithm) +
                      "' (only AWS4-HMAC-SHA256 for now). ");
  }
  return read_credential(credential, signature);
}

std::variant<Signature, SignatureError> parse_header(const Request& request,
                                                     std::string_view authorization) {
  Signature signature;
  std::string_view credential;
  const size_t space = find_either(authorization, ' ', ',');
  const std::string_view algorithm = authorization.substr(0, space);
  std::string_view rest =
      space == std::string_view::npos ? std::string_view() : authorization.substr(space + 1);
  while (!rest.empty()) {
    const size_t comma_or_space = find_either(rest, ',', ' ');
    const size_t end = std::min(comma_or_space, rest.substr(0, comma_or_space).find('\t'));
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) {
      return incomplete(
          "'" + std::string(pair) +
          "' not a valid key=value pair (missing equal-sign) in Authorization header: '" +
          std::string(authorization) + "'.");
    }
    const std::string_view key = pair.substr(0, equals);
    const std::string_view value = pair.substr(equals + 1);
    if (key == "Credential") credential = value;
    if (key == "Signature") signature.signature = value;
    if (key == "SignedHeaders") signature.signed_headers = value;
  }
  const std::string_view iso_date = request.header("x-amz-date");
  signature.timestamp = iso_date.empty() ? request.header("date") : iso_date;
  signature.security_token = request.header("x-amz-security-token");

  std::string missing;
  const std::pair<std::string_view, std::string_view> required[] = {
      {"Credential", credential},
      {"Signature", signature.signature},
      {"SignedHeaders", signature.signed_headers}};
  for (const auto& [name, value] : required) {
    if (!value.empty()) continue;
    missing.append("Authorization header requires '").append(name).append("' parameter. ");
  }
  if (signature.timestamp.empty()) {
    missing.append(
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. ");
  }
  if (!missing.empty()) {
    return incomplete(missing.append("Authorization=").append(authorization));
  }
  if (auto error = read_common(iso_date, algorithm, credential, signature)) return *error;
  return signature;
}

struct QueryParameter {
  std::string_view name;
  std::string_view value;
};

std::vector<QueryParameter> decode_query(std::string_view query, std::string& decoded) {
  // Offsets first: the text moves while it grows.
  struct Span {
    size_t name_begin, name_end, value_end;
  };
  std::vector<Span> spans;
  while (!query.empty()) {
    const size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    const size_t equals = pair.find('=');
    Span span{decoded.size(), 0, 0};
    append_decoded(decoded, pair.substr(0, equals));
    span.name_end = decoded.size();
    if (equals != std::string_view::npos) append_decoded(decoded, pair.substr(equals + 1));
    span.value_end = decoded.size();
    spans.push_back(span);
  }
  std::vector<QueryParameter> parameters;
  const std::string_view text = decoded;
  for (const Span& span : spans) {
    parameters.push_back({text.substr(span.name_begin, span.name_end - span.name_begin),
                          text.substr(span.name_end, span.value_end - span.name_end)});
  }
  return parameters;
}

std::variant<Signature, SignatureError> parse_query(const std::vector<QueryParameter>& parameters,
                                                    std::unique_ptr<std::string> decoded) {
  Signature signature;
  signature.is_presigned = true;
  signature.decoded = std::move(decoded);
  std::string_view algorithm;
  std::string_view credential;
  for (const QueryParameter& parameter : parameters) {
    if (parameter.name == "X-Amz-Algorithm") algorithm = parameter.value;
    if (parameter.name == "X-Amz-Credential") credential = parameter.value;
    if (parameter.name == "X-Amz-Signature") signature.signature = parameter.value;
    if (parameter.name == "X-Amz-SignedHeaders") signature.signed_headers = parameter.value;
    if (parameter.name == "X-Amz-Date") signature.timestamp = parameter.value;
    if (parameter.name == "X-Amz-Security-Token") signature.security_token = parameter.value;
  }
  std::string missing;
  const std::pair<std::string_view, std::string_view> required[] = {
      {"X-Amz-Algorithm", algorithm},
      {"X-Amz-Credential", credential},
      {"X-Amz-Signature", signature.signature},
      {"X-Amz-SignedHeaders", signature.signed_headers},
      {"X-Amz-Date", signature.timestamp}};
  for (const auto& [name, value] : required) {
    if (!value.empty()) continue;
    missing.append("AWS query-string parameters must include '").append(name).append("'. ");
  }
  if (!missing.empty()) {
    return incomplete(missing.append("Re-examine the query-string parameters."));
  }
  if (auto error = read_common(signature.timestamp, algorithm, credential, signature)) {
    return *error;
  }
  return signature;
}

}  // namespace

std::variant<Signature, SignatureError> parse_signature(const Request& request) {
  std::unique_ptr<std::string> decoded;
  std::vector<QueryParameter> parameters;
  bool has_algorithm = false;
  if (!request.query.empty()) {
    decoded = std::make_unique<std::string>();
    parameters = decode_query(request.query, *decoded);
    for (const QueryParameter& parameter : parameters) {
      has_algorithm = has_algorithm || parameter.name == "X-Amz-Algorithm";
    }
  }
  const std::string_view authorization = trim(request.header("authorization"));
  if (!authorization.empty() && has_algorithm) {
    return SignatureError{
        Kind::kInvalidSignature,
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."};
  }
  if (has_algorithm) return parse_query(parameters, std::move(decoded));
  if (authorization.substr(0, kPrefix.size()) != kPrefix) {
    return SignatureError{Kind::kMissingAuthenticationToken,
                          "Request is missing Authentication Token"};
  }
  return parse_header(request, authorization);
}

}  // namespace stator::net
