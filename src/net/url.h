// The address of a request that we make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stator::net {

struct Url {
  bool is_https = false;
  std::string host;  // a name or an IP address, without the brackets of IPv6
  uint16_t port = 0;
  std::string path = "/";  // percent-encoded, begins with '/'
  std::string query;       // percent-encoded, without the '?'

  // What the Host header says: the port only where it is not the scheme's own.
  std::string authority() const;
};

// Of "http://host:port/path?query" or "https://…". Nothing for anything else, also for one with
// user information, white space or control characters. A fragment is dropped.
std::optional<Url> parse_url(std::string_view text);

// Percent-encodes all but letters, digits and "-._~"; '/' stays where `keep_slash` says so. Hex
// digits are upper case, as signatures want them.
std::string percent_encode(std::string_view text, bool keep_slash);
// The inverse; a '%' that two hex digits do not follow stands for itself, and so does '+'.
std::string percent_decode(std::string_view text);

}  // namespace stator::net
