// The client against servers in the same process: ours, and one that sends whatever bytes a test
// wants.
#include "net/http_client.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "net/server.h"

namespace stator::net {
namespace {

using std::chrono::milliseconds;
using Kind = HttpError::Kind;

class EchoHandler final : public Handler {
 public:
  Task<void> handle(Request& request, Response& response) override {
    if (request.path == "/large") {
      response.body.assign(3'000'000, 'x');
      co_return;
    }
    if (request.path == "/missing") response.status = 404;
    response.add_header("X-Seen", request.header("x-sent"));
    response.add_header("X-Host", request.header("host"));
    response.body =
        std::string(request.path) + "?" + std::string(request.query) + ":" + request.body;
  }
};

// Answers each connection with fixed bytes, by the turn it came in.
class RawServer {
 public:
  using Serve = std::function<void(int fd, int turn)>;
  explicit RawServer(Serve serve) : serve_(std::move(serve)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (;;) {
        const int fd = ::accept(listener_, nullptr, nullptr);
        if (fd < 0) return;
        serve_(fd, turns++);
        ::close(fd);
      }
    });
  }
  ~RawServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }

  // Reads up to the end of a header.
  static bool read_head(int fd) {
    std::string seen;
    char byte;
    while (!seen.ends_with("\r\n\r\n")) {
      if (::recv(fd, &byte, 1, 0) <= 0) return false;
      seen.push_back(byte);
    }
    return true;
  }
  static void send(int fd, std::string_view bytes) {
    [[maybe_unused]] const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  uint16_t port = 0;
  std::atomic<int> turns{0};

 private:
  Serve serve_;
  int listener_ = -1;
  std::thread thread_;
};

ClientRequest request_to(uint16_t port, std::string_view target, std::string method = "GET") {
  ClientRequest request;
  request.method = std::move(method);
  request.url = parse_url("http://127.0.0.1:" + std::to_string(port) + std::string(target)).value();
  return request;
}

class HttpClientTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ServerOptions options;
    options.port = 0;
    options.threads = 1;
    server_ = std::make_unique<Server>(options);
    server_->bind();
    server_->start(handler_);
  }
  Kind error_of(HttpClient& client, const ClientRequest& request,
                milliseconds timeout = milliseconds(20'000)) {
    try {
      client.send(request, timeout);
    } catch (const HttpError& error) {
      message_ = error.what();
      return error.kind();
    }
    ADD_FAILURE() << "no error";
    return Kind::kInvalid;
  }

  EchoHandler handler_;
  std::unique_ptr<Server> server_;
  // A sanitized build on a busy machine takes seconds to read the system's certificates.
  static HttpClientOptions patient() {
    HttpClientOptions options;
    options.connect_timeout = std::chrono::seconds(60);
    return options;
  }

  HttpClient client_{patient()};
  std::string message_;
};

TEST_F(HttpClientTest, SendsAndReceivesAllParts) {
  ClientRequest request = request_to(server_->port(), "/a%20b?x=1", "POST");
  request.headers = {{"X-Sent", "seen"}};
  request.body = std::string(300'000, 'b');
  const ClientResponse response = client_.send(request);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.header("x-seen"), "seen");
  EXPECT_EQ(response.header("X-Host"), "127.0.0.1:" + std::to_string(server_->port()));
  EXPECT_EQ(response.body, "/a%20b?x=1:" + request.body);
  EXPECT_EQ(client_.send(request_to(server_->port(), "/missing")).status, 404);
  const ClientResponse head = client_.send(request_to(server_->port(), "/large", "HEAD"));
  EXPECT_EQ(head.header("content-length"), "3000000");
  EXPECT_EQ(head.body, "");
}

TEST_F(HttpClientTest, KeepsAndReusesConnections) {
  for (int i = 0; i < 5; ++i) client_.send(request_to(server_->port(), "/"));
  EXPECT_EQ(server_->connection_count(), 1u);
}

TEST_F(HttpClientTest, ThreadsShareOneClient) {
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string path = "/" + std::to_string(t) + "/" + std::to_string(i);
        if (client_.send(request_to(server_->port(), path)).body == path + "?:") ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 200);
}

TEST_F(HttpClientTest, LargerThanTheLimitIsRefused) {
  HttpClientOptions options;
  options.response_limit_bytes = 2'999'999;
  HttpClient client(options);
  EXPECT_EQ(error_of(client, request_to(server_->port(), "/large")), Kind::kTooLarge);
  options.response_limit_bytes = 3'000'000;
  HttpClient larger(options);
  EXPECT_EQ(larger.send(request_to(server_->port(), "/large")).body.size(), 3'000'000u);
}

TEST_F(HttpClientTest, AKeptConnectionThatWasClosedIsReplaced) {
  RawServer server([](int fd, int) {
    if (RawServer::read_head(fd))
      RawServer::send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });  // says keep-alive, then closes
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client_.send(request_to(server.port, "/")).body, "ok");
  EXPECT_EQ(server.turns, 3);
}

TEST_F(HttpClientTest, ClosedWhileTheRequestIsUnderWay) {
  RawServer server([](int fd, int turn) {
    if (!RawServer::read_head(fd)) return;
    RawServer::send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    if (turn == 0) RawServer::read_head(fd);  // the second request gets no answer
  });
  client_.send(request_to(server.port, "/"));
  EXPECT_EQ(client_.send(request_to(server.port, "/")).body, "ok");  // sent again
  RawServer other([](int fd, int) {
    if (!RawServer::read_head(fd)) return;
    RawServer::send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    RawServer::read_head(fd);
  });
  client_.send(request_to(other.port, "/"));
  EXPECT_EQ(error_of(client_, request_to(other.port, "/", "POST")), Kind::kBroken);  // not repeated
}

TEST_F(HttpClientTest, FormsOfAnswers) {
  const std::vector<std::pair<std::string, std::string>> answers = {
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n",
       "abcde"},
      {"HTTP/1.0 200 OK\r\n\r\nuntil the end", "until the end"},
      {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end", "until the end"},
      {"HTTP/1.1 204 No Content\r\n\r\n", ""},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", "x"},
  };
  for (const auto& [bytes, body] : answers) {
    RawServer server([&](int fd, int) {
      if (RawServer::read_head(fd)) RawServer::send(fd, bytes);
    });
    EXPECT_EQ(client_.send(request_to(server.port, "/")).body, body) << bytes;
  }
}

TEST_F(HttpClientTest, AnswersThatAreNone) {
  for (const char* bytes : {"", "HTTP/1.1 200 OK\r\n", "nonsense\r\n\r\n",
                            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
                            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab"}) {
    RawServer server([&](int fd, int) {
      if (RawServer::read_head(fd)) RawServer::send(fd, bytes);
    });
    EXPECT_EQ(error_of(client_, request_to(server.port, "/")), Kind::kBroken) << bytes;
  }
}

TEST_F(HttpClientTest, ASilentServerIsTimedOut) {
  RawServer server([](int fd, int) {
    RawServer::read_head(fd);
    char byte;
    while (::recv(fd, &byte, 1, 0) > 0) {
    }
  });
  EXPECT_EQ(error_of(client_, request_to(server.port, "/"), milliseconds(50)), Kind::kTimeout);
}

TEST_F(HttpClientTest, StopEndsCallsUnderWayAndFurtherOnes) {
  std::atomic<bool> reading{false};
  RawServer server([&](int fd, int) {
    RawServer::read_head(fd);
    reading = true;
    char byte;
    while (::recv(fd, &byte, 1, 0) > 0) {
    }
  });
  std::thread stopper([&] {
    for (int i = 0; i < 20'000 && !reading; ++i) std::this_thread::sleep_for(milliseconds(1));
    client_.stop();
  });
  EXPECT_EQ(error_of(client_, request_to(server.port, "/")), Kind::kStopped);
  stopper.join();
  EXPECT_EQ(error_of(client_, request_to(server_->port(), "/")), Kind::kStopped);
}

TEST_F(HttpClientTest, NobodyListens) {
  uint16_t port = 0;
  {
    RawServer server([](int, int) {});
    port = server.port;
  }
  EXPECT_EQ(error_of(client_, request_to(port, "/")), Kind::kConnect);
  EXPECT_NE(message_.find("127.0.0.1:" + std::to_string(port)), std::string::npos) << message_;
}

TEST_F(HttpClientTest, LineEndsNeverReachTheWire) {
  ClientRequest request = request_to(server_->port(), "/");
  request.headers = {{"X-Sent", "a\r\nX-Other: b"}};
  EXPECT_EQ(error_of(client_, request), Kind::kInvalid);
  request.headers = {{"X-Sent\r\nX", "a"}};
  EXPECT_EQ(error_of(client_, request), Kind::kInvalid);
  request.headers = {};
  request.url.path = "/ HTTP/1.1\r\n";
  EXPECT_EQ(error_of(client_, request), Kind::kInvalid);
  request.url.path = "/";
  request.method = "GET /x";
  EXPECT_EQ(error_of(client_, request), Kind::kInvalid);
}

// A certificate for 127.0.0.1 and a server that shows it.
class TlsServer {
 public:
  TlsServer()
      : key_(EVP_EC_gen("P-256")),
        certificate_(make_certificate(key_)),
        context_(SSL_CTX_new(TLS_server_method())),
        raw_([this](int fd, int) { serve(fd); }) {}
  ~TlsServer() {
    SSL_CTX_free(context_);
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }
  uint16_t port() const { return raw_.port; }
  void write_certificate(const std::string& path) const {
    FILE* file = std::fopen(path.c_str(), "w");
    PEM_write_X509(file, certificate_);
    std::fclose(file);
  }

 private:
  static X509* make_certificate(EVP_PKEY* key) {
    X509* made = X509_new();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, key);
    X509_NAME* name = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(made, name);
    X509_EXTENSION* names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1");
    X509_add_ext(made, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(made, key, EVP_sha256());
    return made;
  }
  void serve(int fd) {
    SSL_CTX_use_certificate(context_, certificate_);
    SSL_CTX_use_PrivateKey(context_, key_);
    SSL* ssl = SSL_new(context_);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
      char byte;
      std::string seen;
      while (SSL_read(ssl, &byte, 1) == 1) {
        seen.push_back(byte);
        if (!seen.ends_with("\r\n\r\n")) continue;
        seen.clear();
        const std::string answer =
            "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + std::string(100'000, 's');
        SSL_write(ssl, answer.data(), static_cast<int>(answer.size()));
      }
      SSL_shutdown(ssl);
    }
    SSL_free(ssl);
  }

  EVP_PKEY* key_;
  X509* certificate_;
  SSL_CTX* context_;
  RawServer raw_;  // last: its thread uses the others
};

TEST_F(HttpClientTest, TlsWithCertificatesThatAreTrusted) {
  signal(SIGPIPE, SIG_IGN);  // the test's own server
  const std::string path =
      (std::filesystem::temp_directory_path() / ("stator_ca_" + std::to_string(getpid()))).string();
  std::unique_ptr<HttpClient> trusting;
  TlsServer server;  // ends before the client closes its connection
  server.write_certificate(path);
  HttpClientOptions options;
  options.ca_file = path;
  trusting = std::make_unique<HttpClient>(options);
  ClientRequest request = request_to(server.port(), "/");
  request.url.is_https = true;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(trusting->send(request).body, std::string(100'000, 's'));
  trusting.reset();

  EXPECT_EQ(error_of(client_, request), Kind::kTls);  // nobody vouches for it
  HttpClient other(options);
  request.url.host = "localhost";  // not the certificate's name
  EXPECT_EQ(error_of(other, request), Kind::kTls);
  EXPECT_NE(message_.find("mismatch"), std::string::npos) << message_;
  std::filesystem::remove(path);
}

TEST_F(HttpClientTest, TlsToAServerWithoutIt) {
  ClientRequest request = request_to(server_->port(), "/");
  request.url.is_https = true;
  EXPECT_EQ(error_of(client_, request), Kind::kTls);
}

TEST(HttpClient, CertificatesThatCannotBeReadAreAnError) {
  HttpClientOptions options;
  options.ca_file = "/nonexistent";
  EXPECT_THROW(HttpClient{options}, std::runtime_error);
}

}  // namespace
}  // namespace stator::net
