// One connection of the client: a socket, with TLS where the URL says so, and deadlines on every
// wait. Internal to net.
#pragma once

#include <openssl/ssl.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "net/http_client.h"

namespace stator::net {

using Deadline = std::chrono::steady_clock::time_point;

// Used by one thread at a time. Every method throws HttpError.
class ClientConnection {
 public:
  // Connects. `stop_fd` becomes readable when the client is stopped; `tls` is null for http.
  ClientConnection(const Url& url, SSL_CTX* tls, int stop_fd, Deadline deadline);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // Both, one behind the other; small ones leave together, so that the other side wakes once.
  void write(std::string_view head, std::string_view body, Deadline deadline);
  // At least one byte, or 0 at the end of the connection.
  size_t read(char* into, size_t size, Deadline deadline);
  // True if nothing has come on it since the last answer, neither bytes nor its end.
  bool is_quiet();

 private:
  struct SslFree {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  void connect_to(const Url& url, Deadline deadline);
  bool connect_one(const void* address, Deadline deadline, std::string& why);
  void handshake(const Url& url, SSL_CTX* tls, Deadline deadline);
  void wait_for(short events, Deadline deadline);
  void write_raw(std::string_view head, std::string_view body, Deadline deadline);
  void write_tls(std::string_view bytes, Deadline deadline);
  size_t read_raw(char* into, size_t size, Deadline deadline);
  // Sends what TLS has ready, and reads for it if `result` says that it wants more. False at the
  // connection's end.
  bool serve_tls(int result, Deadline deadline);
  void flush_tls(Deadline deadline);

  int fd_ = -1;
  const int stop_fd_;
  std::string peer_;  // for messages
  std::unique_ptr<SSL, SslFree>
      ssl_;  // works on memory, so that no signal comes from a closed socket
};

}  // namespace stator::net
