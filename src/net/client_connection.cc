#include "net/client_connection.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace stator::net {

namespace {

using Kind = HttpError::Kind;

std::string error_text(int error) {
  return std::generic_category().message(error);
}

bool is_ip_address(const std::string& host) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

std::string tls_error(SSL* ssl) {
  const long verified = SSL_get_verify_result(ssl);
  if (verified != X509_V_OK) return X509_verify_cert_error_string(verified);
  const unsigned long code = ERR_get_error();
  if (code == 0) return "connection closed";
  char text[256];
  ERR_error_string_n(code, text, sizeof text);
  return text;
}

int milliseconds_until(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
}

}  // namespace

ClientConnection::ClientConnection(const Url& url, SSL_CTX* tls, int stop_fd, Deadline deadline)
    : stop_fd_(stop_fd), peer_(url.authority()) {
  try {
    connect_to(url, deadline);
    if (tls != nullptr) handshake(url, tls, deadline);
  } catch (...) {
    if (fd_ >= 0) ::close(fd_);
    throw;
  }
}

ClientConnection::~ClientConnection() {
  if (fd_ >= 0) ::close(fd_);
}

void ClientConnection::connect_to(const Url& url, Deadline deadline) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int result =
      getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (result != 0) {
    throw HttpError(Kind::kConnect, "cannot resolve " + url.host + ": " + gai_strerror(result));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  int left = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) ++left;
  std::string why = "no address";
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next, --left) {
    // An address that does not answer must not take the time of the next one.
    const auto now = std::chrono::steady_clock::now();
    const Deadline own = left > 1 ? now + (deadline - now) / left : deadline;
    try {
      if (connect_one(address, own, why)) return;
    } catch (const HttpError& error) {
      if (error.kind() != Kind::kTimeout || left == 1) throw;
      why = error.what();
    }
  }
  throw HttpError(Kind::kConnect, "cannot connect to " + peer_ + ": " + why);
}

bool ClientConnection::connect_one(const void* info, Deadline deadline, std::string& why) {
  const auto* address = static_cast<const addrinfo*>(info);
  if (fd_ >= 0) ::close(fd_);
  fd_ = ::socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) {
    why = error_text(errno);
    return false;
  }
  if (::connect(fd_, address->ai_addr, address->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) {
      why = error_text(errno);
      return false;
    }
    wait_for(POLLOUT, deadline);
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      why = error_text(error);
      return false;
    }
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return true;
}

void ClientConnection::handshake(const Url& url, SSL_CTX* tls, Deadline deadline) {
  ssl_.reset(SSL_new(tls));
  BIO* incoming = BIO_new(BIO_s_mem());
  BIO* outgoing = BIO_new(BIO_s_mem());
  if (ssl_ == nullptr || incoming == nullptr || outgoing == nullptr) throw std::bad_alloc();
  // An empty buffer means "not yet", not the end.
  BIO_set_mem_eof_return(incoming, -1);
  BIO_set_mem_eof_return(outgoing, -1);
  SSL_set_bio(ssl_.get(), incoming, outgoing);
  SSL_set_verify(ssl_.get(), SSL_VERIFY_PEER, nullptr);
  if (is_ip_address(url.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), url.host.c_str());
  } else {
    SSL_set_tlsext_host_name(ssl_.get(), url.host.c_str());
    SSL_set1_host(ssl_.get(), url.host.c_str());
  }
  for (;;) {
    ERR_clear_error();
    const int result = SSL_connect(ssl_.get());
    if (result == 1) break;
    if (!serve_tls(result, deadline)) {
      throw HttpError(Kind::kTls, "TLS with " + peer_ + " failed: " + tls_error(ssl_.get()));
    }
  }
  flush_tls(deadline);
}

void ClientConnection::wait_for(short events, Deadline deadline) {
  for (;;) {
    pollfd waiting[2] = {{fd_, events, 0}, {stop_fd_, POLLIN, 0}};
    const int ready = ::poll(waiting, 2, milliseconds_until(deadline));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) throw HttpError(Kind::kBroken, "poll: " + error_text(errno));
    if (waiting[1].revents != 0) throw HttpError(Kind::kStopped, "the client is stopped");
    if (waiting[0].revents != 0) return;
    throw HttpError(Kind::kTimeout, "timed out waiting for " + peer_);
  }
}

void ClientConnection::write_raw(std::string_view head, std::string_view body, Deadline deadline) {
  while (!head.empty() || !body.empty()) {
    iovec parts[2] = {{const_cast<char*>(head.data()), head.size()},
                      {const_cast<char*>(body.data()), body.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t sent = ::sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (sent >= 0) {
      const size_t of_head = std::min(head.size(), static_cast<size_t>(sent));
      head.remove_prefix(of_head);
      body.remove_prefix(static_cast<size_t>(sent) - of_head);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      throw HttpError(Kind::kBroken, "writing to " + peer_ + ": " + error_text(errno));
    }
    wait_for(POLLOUT, deadline);
  }
}

size_t ClientConnection::read_raw(char* into, size_t size, Deadline deadline) {
  for (;;) {
    const ssize_t count = ::recv(fd_, into, size, 0);
    if (count >= 0) return static_cast<size_t>(count);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      throw HttpError(Kind::kBroken, "reading from " + peer_ + ": " + error_text(errno));
    }
    wait_for(POLLIN, deadline);
  }
}

void ClientConnection::flush_tls(Deadline deadline) {
  char* bytes = nullptr;
  BIO* outgoing = SSL_get_wbio(ssl_.get());
  const long size = BIO_get_mem_data(outgoing, &bytes);
  if (size <= 0) return;
  write_raw({bytes, static_cast<size_t>(size)}, {}, deadline);
  BIO_reset(outgoing);
}

bool ClientConnection::serve_tls(int result, Deadline deadline) {
  const int error = SSL_get_error(ssl_.get(), result);
  flush_tls(deadline);
  if (error == SSL_ERROR_WANT_WRITE) return true;
  if (error != SSL_ERROR_WANT_READ) return false;
  char bytes[16 * 1024];
  const size_t count = read_raw(bytes, sizeof bytes, deadline);
  if (count == 0) return false;
  BIO_write(SSL_get_rbio(ssl_.get()), bytes, static_cast<int>(count));
  return true;
}

void ClientConnection::write(std::string_view head, std::string_view body, Deadline deadline) {
  if (ssl_ == nullptr) return write_raw(head, body, deadline);
  write_tls(head, deadline);
  write_tls(body, deadline);
}

void ClientConnection::write_tls(std::string_view bytes, Deadline deadline) {
  // In pieces, so that the encrypted copy stays small.
  constexpr size_t kPiece = 64 * 1024;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPiece);
    ERR_clear_error();
    const int result = SSL_write(ssl_.get(), piece.data(), static_cast<int>(piece.size()));
    if (result > 0) {
      bytes.remove_prefix(static_cast<size_t>(result));
      flush_tls(deadline);
    } else if (!serve_tls(result, deadline)) {
      throw HttpError(Kind::kBroken, "writing to " + peer_ + ": " + tls_error(ssl_.get()));
    }
  }
}

size_t ClientConnection::read(char* into, size_t size, Deadline deadline) {
  if (ssl_ == nullptr) return read_raw(into, size, deadline);
  for (;;) {
    ERR_clear_error();
    const int result = SSL_read(ssl_.get(), into, static_cast<int>(size));
    if (result > 0) return static_cast<size_t>(result);
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) return 0;
    // Without TLS's own goodbye anyone on the way could have cut the connection.
    if (!serve_tls(result, deadline)) {
      throw HttpError(Kind::kBroken, "reading from " + peer_ + ": " + tls_error(ssl_.get()));
    }
  }
}

bool ClientConnection::is_quiet() {
  char bytes[4 * 1024];
  const ssize_t count = ::recv(fd_, bytes, sizeof bytes, 0);
  if (count < 0) return errno == EAGAIN;
  if (count == 0 || ssl_ == nullptr) return false;
  // Session tickets come after the handshake and belong to no answer; a goodbye does end the
  // connection.
  BIO_write(SSL_get_rbio(ssl_.get()), bytes, static_cast<int>(count));
  ERR_clear_error();
  const int result = SSL_peek(ssl_.get(), bytes, 1);
  return result <= 0 && SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ;
}

}  // namespace stator::net
