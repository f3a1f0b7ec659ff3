// Makes HTTP/1.1 requests to others: an object store, a function to be called, another region.
// Blocking, for threads of background work; never for the threads of an event loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/url.h"

namespace stator::net {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct ClientRequest {
  std::string method = "GET";
  Url url;
  // Host, Content-Length and Connection are the client's to add.
  Fields headers;
  std::string body;

  void set_header(std::string_view name, std::string value);
};

struct ClientResponse {
  int status = 0;
  Fields headers;
  std::string body;

  // The value of a header, the first one if it is repeated; empty if it is not there.
  std::string_view header(std::string_view name) const;
};

// No answer, or none that could be read. An answer of any status is not an error.
class HttpError : public std::runtime_error {
 public:
  enum class Kind {
    kInvalid,   // the request itself: nothing was sent, and trying again is of no use
    kConnect,   // name not found, refused, unreachable: nothing was sent
    kTls,       // handshake or certificate: nothing was sent
    kTimeout,   // of any stage
    kBroken,    // the connection ended early, or the answer is no HTTP
    kTooLarge,  // the answer is above the limit
    kStopped,   // stop() was called
  };
  HttpError(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

struct HttpClientOptions {
  // For the connection to be there, with the TLS handshake. Looking a name up has the resolver's
  // own limit.
  std::chrono::milliseconds connect_timeout{5'000};
  // For the whole request, unless send() is given another one.
  std::chrono::milliseconds timeout{60'000};
  size_t response_limit_bytes = size_t{64} * 1024 * 1024;
  uint32_t header_limit_bytes = 64 * 1024;
  // Connections kept open between requests, each at most this long.
  size_t idle_per_host = 8;
  size_t idle_total = 64;
  std::chrono::milliseconds idle_timeout{15'000};
  // PEM file of the certificates to trust besides the system's; empty: the system's alone.
  std::string ca_file;
};

// Thread-safe; each call uses a connection of its own. Redirects are answers like any other,
// proxies are not used.
class HttpClient {
 public:
  // Throws std::runtime_error if the certificates cannot be read.
  explicit HttpClient(HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Throws HttpError. A request on a kept connection that the other side had closed is sent once
  // more on a new one, if its method may be repeated (GET, HEAD, PUT, DELETE).
  ClientResponse send(const ClientRequest& request);
  ClientResponse send(const ClientRequest& request, std::chrono::milliseconds timeout);

  // Ends calls under way and refuses further ones. From any thread.
  void stop();

 private:
  class Connections;
  std::unique_ptr<Connections> connections_;
};

}  // namespace stator::net
