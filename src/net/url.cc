#include "net/url.h"

#include <charconv>

#include "common/hex.h"

namespace stator::net {

namespace {

constexpr uint16_t kHttpPort = 80;
constexpr uint16_t kHttpsPort = 443;

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

// Whether a URL may hold it: what could end a line or a word of the request never may.
bool is_allowed(char c) {
  return static_cast<unsigned char>(c) > 0x20 && c != 0x7f;
}

std::optional<uint16_t> parse_port(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

}  // namespace

std::string Url::authority() const {
  std::string out = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != (is_https ? kHttpsPort : kHttpPort)) out.append(":").append(std::to_string(port));
  return out;
}

std::optional<Url> parse_url(std::string_view text) {
  for (const char c : text) {
    if (!is_allowed(c)) return std::nullopt;
  }
  Url url;
  if (text.starts_with("http://")) {
    text.remove_prefix(7);
  } else if (text.starts_with("https://")) {
    url.is_https = true;
    text.remove_prefix(8);
  } else {
    return std::nullopt;
  }
  text = text.substr(0, text.find('#'));
  const size_t end = text.find_first_of("/?");
  std::string_view authority = text.substr(0, end);
  text.remove_prefix(authority.size());
  if (authority.find('@') != std::string_view::npos) return std::nullopt;

  url.port = url.is_https ? kHttpsPort : kHttpPort;
  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t close = authority.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    url.host = authority.substr(1, close - 1);
    port = authority.substr(close + 1);
  } else {
    const size_t colon = authority.find(':');
    url.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) port = authority.substr(colon);
  }
  if (url.host.empty()) return std::nullopt;
  if (!port.empty()) {
    const auto number = port[0] == ':' ? parse_port(port.substr(1)) : std::nullopt;
    if (!number) return std::nullopt;
    url.port = *number;
  }

  const size_t question = text.find('?');
  if (question != std::string_view::npos) url.query = text.substr(question + 1);
  const std::string_view path = text.substr(0, question);
  if (!path.empty()) url.path = path;
  return url;
}

std::string percent_encode(std::string_view text, bool keep_slash) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c) || (c == '/' && keep_slash)) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(kDigits[byte >> 4]);
    out.push_back(kDigits[byte & 15]);
  }
  return out;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace stator::net
