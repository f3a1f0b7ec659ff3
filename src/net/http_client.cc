#include "net/http_client.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <mutex>
#include <optional>

#include "net/client_connection.h"
#include "net/http_message.h"

namespace stator::net {

namespace {

using Kind = HttpError::Kind;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Most answers are small; one that is not is read in larger pieces.
constexpr size_t kFirstReadBytes = 4 * 1024;
constexpr size_t kReadBytes = 64 * 1024;

// Fills a ClientResponse from the bytes of a connection.
class ResponseParser final : public boost::beast::http::basic_parser<false> {
 public:
  ResponseParser(ClientResponse& response, size_t body_limit, uint32_t header_limit, bool is_head)
      : response_(response), limit_(body_limit) {
    this->header_limit(header_limit);
    this->body_limit(boost::none);  // ours also holds for chunks, and says what it is
    skip(is_head);
    eager(true);
  }

  bool too_large() const { return too_large_; }

 private:
  using error_code = boost::beast::error_code;
  using string_view = boost::beast::string_view;

  void on_request_impl(boost::beast::http::verb, string_view, string_view, int,
                       error_code&) override {}
  void on_response_impl(int code, string_view, int, error_code&) override {
    response_.status = code;
  }
  void on_field_impl(boost::beast::http::field, string_view name, string_view value,
                     error_code&) override {
    response_.headers.emplace_back(std::string(name), std::string(value));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>& size, error_code& ec) override {
    if (!size) return;
    if (*size > limit_) return refuse(ec);
    response_.body.reserve(*size);
  }
  std::size_t on_body_impl(string_view body, error_code& ec) override { return take(body, ec); }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& ec) override {
    return take(body, ec);
  }
  void on_finish_impl(error_code&) override {}

  std::size_t take(string_view bytes, error_code& ec) {
    if (bytes.size() > limit_ - response_.body.size()) {
      refuse(ec);
      return 0;
    }
    response_.body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void refuse(error_code& ec) {
    too_large_ = true;
    ec = boost::beast::http::make_error_code(boost::beast::http::error::body_limit);
  }

  ClientResponse& response_;
  const size_t limit_;
  bool too_large_ = false;
};

bool has_line_end(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

bool is_own_header(std::string_view name) {
  return equals_ignoring_case(name, "host") || equals_ignoring_case(name, "content-length") ||
         equals_ignoring_case(name, "connection") ||
         equals_ignoring_case(name, "transfer-encoding");
}

std::string head_of(const ClientRequest& request) {
  const auto invalid = [](std::string_view what) {
    return HttpError(Kind::kInvalid, "not a request: " + std::string(what));
  };
  for (const char c : request.method) {
    if (c < 'A' || c > 'Z') throw invalid("method");
  }
  if (request.method.empty()) throw invalid("method");
  if (request.url.host.empty() || !request.url.path.starts_with('/')) throw invalid("url");
  for (const std::string* part : {&request.url.host, &request.url.path, &request.url.query}) {
    for (const char c : *part) {
      if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) throw invalid("url");
    }
  }
  std::string head = request.method + " " + request.url.path;
  if (!request.url.query.empty()) head.append("?").append(request.url.query);
  head.append(" HTTP/1.1\r\nHost: ").append(request.url.authority()).append("\r\n");
  for (const auto& [name, value] : request.headers) {
    if (name.empty() || has_line_end(name) || has_line_end(value) ||
        name.find_first_of(": \t") != std::string::npos) {
      throw invalid("header " + name);
    }
    if (is_own_header(name)) continue;
    head.append(name).append(": ").append(value).append("\r\n");
  }
  const bool has_body = !request.body.empty() || request.method == "POST" ||
                        request.method == "PUT" || request.method == "PATCH";
  if (has_body) {
    head.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
  }
  head.append("\r\n");
  return head;
}

bool may_be_repeated(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "PUT" || method == "DELETE";
}

// Ended before the first byte of an answer, on a connection that had been used before.
class StaleConnection {};

}  // namespace

void ClientRequest::set_header(std::string_view name, std::string value) {
  for (auto& [present, old] : headers) {
    if (!equals_ignoring_case(present, name)) continue;
    old = std::move(value);
    return;
  }
  headers.emplace_back(std::string(name), std::move(value));
}

std::string_view ClientResponse::header(std::string_view name) const {
  for (const auto& [present, value] : headers) {
    if (equals_ignoring_case(present, name)) return value;
  }
  return {};
}

class HttpClient::Connections {
 public:
  explicit Connections(HttpClientOptions options) : options_(std::move(options)) {
    stop_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop_fd_ < 0) throw std::runtime_error("no event descriptor for the HTTP client");
    if (!options_.ca_file.empty()) tls();
  }
  ~Connections() {
    idle_.clear();
    ::close(stop_fd_);
  }

  ClientResponse send(const ClientRequest& request, milliseconds timeout) {
    const std::string head = head_of(request);
    const Deadline deadline = steady_clock::now() + timeout;
    const std::string host =
        (request.url.is_https ? "https://" : "http://") + request.url.authority();
    if (auto kept = take_idle(host)) {
      try {
        return exchange(host, std::move(kept), true, request, head, deadline);
      } catch (const StaleConnection&) {
        if (!may_be_repeated(request.method)) {
          throw HttpError(Kind::kBroken, request.url.authority() + " closed the connection");
        }
      }
    }
    const Deadline connected = std::min(deadline, steady_clock::now() + options_.connect_timeout);
    auto connection = std::make_unique<ClientConnection>(
        request.url, request.url.is_https ? tls() : nullptr, stop_fd_, connected);
    return exchange(host, std::move(connection), false, request, head, deadline);
  }

  void stop() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(stop_fd_, &one, sizeof one);
    const std::lock_guard lock(mutex_);
    idle_.clear();
  }

  milliseconds timeout() const { return options_.timeout; }

 private:
  using Connection = std::unique_ptr<ClientConnection>;
  struct Idle {
    std::string host;
    Connection connection;
    steady_clock::time_point since;
  };
  struct ContextFree {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };

  ClientResponse exchange(const std::string& host, Connection connection, bool is_reused,
                          const ClientRequest& request, const std::string& head,
                          Deadline deadline) {
    ClientResponse response;
    std::optional<ResponseParser> parser;
    const auto begin_answer = [&] {
      response = {};
      parser.emplace(response, options_.response_limit_bytes, options_.header_limit_bytes,
                     request.method == "HEAD");
    };
    begin_answer();
    std::string buffer;
    size_t piece = kFirstReadBytes;
    bool any = false;
    try {
      connection->write(head, request.body, deadline);
    } catch (const HttpError& error) {
      if (error.kind() != Kind::kBroken) throw;
      if (is_reused) throw StaleConnection();
      // The other side may have answered and closed before it had read all: its answer says why.
    }
    while (!parser->is_done()) {
      const size_t old = buffer.size();
      buffer.resize(old + piece);
      size_t count = 0;
      try {
        count = connection->read(buffer.data() + old, piece, deadline);
      } catch (const HttpError& error) {
        if (error.kind() == Kind::kBroken && is_reused && !any) throw StaleConnection();
        throw;
      }
      buffer.resize(old + count);
      if (count == piece) piece = kReadBytes;
      if (count == 0) {
        boost::beast::error_code error;
        if (is_reused && !any) throw StaleConnection();
        if (parser->got_some()) parser->put_eof(error);
        if (error || !parser->is_done()) throw broken(request, "the connection ended early");
        break;
      }
      any = true;
      parse(*parser, buffer, request);
      while (parser->is_done() && response.status < 200) {  // an interim answer
        begin_answer();
        parse(*parser, buffer, request);
      }
    }
    if (parser->keep_alive() && buffer.empty()) keep(host, std::move(connection));
    return response;
  }

  // Takes what is whole off `buffer`.
  void parse(ResponseParser& parser, std::string& buffer, const ClientRequest& request) {
    size_t used = 0;
    while (used < buffer.size() && !parser.is_done()) {
      boost::beast::error_code error;
      const size_t count =
          parser.put(boost::asio::buffer(buffer.data() + used, buffer.size() - used), error);
      used += count;
      if (error == boost::beast::http::error::need_more) break;
      if (parser.too_large()) {
        throw HttpError(Kind::kTooLarge, "the answer of " + request.url.authority() + " is above " +
                                             std::to_string(options_.response_limit_bytes) +
                                             " bytes");
      }
      if (error) throw broken(request, error.message());
      if (count == 0) break;
    }
    buffer.erase(0, used);
  }

  static HttpError broken(const ClientRequest& request, std::string_view why) {
    return HttpError(Kind::kBroken, "the answer of " + request.url.authority() +
                                        " cannot be read: " + std::string(why));
  }

  Connection take_idle(const std::string& host) {
    const auto now = steady_clock::now();
    std::vector<Idle> dropped;  // closed after the lock
    const std::lock_guard lock(mutex_);
    for (size_t i = idle_.size(); i-- > 0;) {
      const bool is_old = now - idle_[i].since > options_.idle_timeout;
      if (!is_old && idle_[i].host != host) continue;
      Idle taken = std::move(idle_[i]);
      idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
      if (!is_old && taken.connection->is_quiet()) return std::move(taken.connection);
      dropped.push_back(std::move(taken));
    }
    return nullptr;
  }

  void keep(const std::string& host, Connection connection) {
    const std::lock_guard lock(mutex_);
    const auto same = std::count_if(idle_.begin(), idle_.end(),
                                    [&](const Idle& idle) { return idle.host == host; });
    if (static_cast<size_t>(same) >= options_.idle_per_host) return;
    if (idle_.size() >= options_.idle_total) idle_.erase(idle_.begin());
    idle_.push_back({host, std::move(connection), steady_clock::now()});
  }

  // Reading the system's certificates takes a while: only once https is used.
  SSL_CTX* tls() {
    const std::lock_guard lock(tls_mutex_);
    if (tls_ != nullptr) return tls_.get();
    std::unique_ptr<SSL_CTX, ContextFree> made(SSL_CTX_new(TLS_client_method()));
    if (made == nullptr) throw std::runtime_error("TLS is not available");
    SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
    SSL_CTX_set_mode(made.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr);
    if (SSL_CTX_set_default_verify_paths(made.get()) != 1) {
      throw std::runtime_error("the system's certificates cannot be read");
    }
    if (!options_.ca_file.empty() &&
        SSL_CTX_load_verify_locations(made.get(), options_.ca_file.c_str(), nullptr) != 1) {
      throw std::runtime_error("cannot read certificates from " + options_.ca_file);
    }
    tls_ = std::move(made);
    return tls_.get();
  }

  const HttpClientOptions options_;
  int stop_fd_ = -1;
  std::mutex mutex_;
  std::vector<Idle> idle_;  // the last used one last
  std::mutex tls_mutex_;
  std::unique_ptr<SSL_CTX, ContextFree> tls_;
};

HttpClient::HttpClient(HttpClientOptions options)
    : connections_(std::make_unique<Connections>(std::move(options))) {}

HttpClient::~HttpClient() = default;

ClientResponse HttpClient::send(const ClientRequest& request) {
  return send(request, connections_->timeout());
}

ClientResponse HttpClient::send(const ClientRequest& request, milliseconds timeout) {
  return connections_->send(request, timeout);
}

void HttpClient::stop() {
  connections_->stop();
}

}  // namespace stator::net
