#include "http/wire_errors.h"

namespace stator::http {

namespace {

void append_escaped(std::string& out, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out.append("\\u00");
      out.push_back(kHex[(c >> 4) & 15]);
      out.push_back(kHex[c & 15]);
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      out.push_back('?');  // a header's bytes have no encoding; JSON is UTF-8
    } else {
      out.push_back(c);
    }
  }
}

}  // namespace

std::string coral_error(std::string_view name, std::string_view message) {
  std::string body = R"({"__type":"com.amazon.coral.service#)";
  body.append(name).append("\"");
  if (!message.empty()) {
    body.append(R"(,"message":")");
    append_escaped(body, message);
    body.append("\"");
  }
  return body.append("}");
}

std::string_view signature_error_name(const net::SignatureError& error) {
  using Kind = net::SignatureError::Kind;
  switch (error.kind) {
    case Kind::kMissingAuthenticationToken:
      return "MissingAuthenticationTokenException";
    case Kind::kIncompleteSignature:
      return "IncompleteSignatureException";
    case Kind::kInvalidSignature:
      return "InvalidSignatureException";
    case Kind::kUnrecognizedClient:
      break;
  }
  return "UnrecognizedClientException";
}

std::string signature_error(const net::SignatureError& error) {
  return coral_error(signature_error_name(error), error.message);
}

std::string lambda_error(std::string_view message) {
  std::string body = R"({"message":")";
  append_escaped(body, message);
  return body.append("\"}");
}

}  // namespace stator::http
