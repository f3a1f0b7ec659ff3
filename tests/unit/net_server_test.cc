// The server in one process with its client: what handlers may do, and how it ends.
#include "net/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <coroutine>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "common/executor.h"

namespace stator::net {
namespace {

// A gate that handlers wait at. It resumes them on the opening thread or on the executor they came
// from.
class Gate {
 public:
  explicit Gate(bool on_executor) : on_executor_(on_executor) {}

  struct Wait {
    Gate& gate;
    explicit Wait(Gate& g) : gate(g) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      const std::lock_guard lock(gate.mutex_);
      gate.waiting_.push_back({handle, Executor::current()});
      ++gate.count_;
    }
    void await_resume() const noexcept {}
  };

  int count() const { return count_; }
  void open() {
    std::vector<std::pair<std::coroutine_handle<>, Executor*>> waiting;
    {
      const std::lock_guard lock(mutex_);
      waiting.swap(waiting_);
    }
    for (auto& [handle, executor] : waiting) resume_on(on_executor_ ? executor : nullptr, handle);
  }

 private:
  const bool on_executor_;
  std::mutex mutex_;
  std::vector<std::pair<std::coroutine_handle<>, Executor*>> waiting_;
  std::atomic<int> count_{0};
};

class TestHandler final : public Handler {
 public:
  Gate foreign_gate{false};
  Gate gate{true};
  std::atomic<bool> has_executor{true};
  std::atomic<bool> is_blocked{false};  // a thread, in a handler
  std::atomic<bool> unblock{false};

  // Those that served "/thread".
  size_t thread_count() {
    const std::lock_guard lock(mutex_);
    return threads_.size();
  }
  void forget_threads() {
    const std::lock_guard lock(mutex_);
    threads_.clear();
  }

  Task<void> handle(Request& request, Response& response) override {
    if (Executor::current() == nullptr) has_executor = false;
    if (request.path == "/thread") {
      const std::lock_guard lock(mutex_);
      threads_.insert(std::this_thread::get_id());
    }
    if (request.path == "/throw") throw std::runtime_error("thrown");
    if (request.path == "/foreign") co_await Gate::Wait(foreign_gate);
    if (request.path == "/gate") co_await Gate::Wait(gate);
    if (request.path == "/block") {
      is_blocked = true;
      while (!unblock) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (request.path == "/large") response.body.assign(20'000'000, 'x');
    if (response.body.empty()) response.body = request.path;
  }

 private:
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
};

class Client {
 public:
  explicit Client(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval timeout{20, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    EXPECT_EQ(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  }
  ~Client() { ::close(fd_); }

  void get(const std::string& path) { send("GET " + path + " HTTP/1.1\r\n\r\n"); }
  void send(const std::string& bytes) {
    EXPECT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // The body of the next answer; "" and status 0 at the connection's end.
  std::string body() {
    size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!fill()) return {};
    }
    status = std::stoi(buffer_.substr(9, 3));
    head = buffer_.substr(0, end);
    const size_t size = std::stoul(head.substr(head.find("Content-Length: ") + 16));
    buffer_.erase(0, end + 4);
    while (buffer_.size() < size) {
      if (!fill()) return {};
    }
    std::string body = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return body;
  }
  bool at_end() { return buffer_.empty() && !fill(); }

  int status = 0;
  std::string head;

 private:
  bool fill() {
    char bytes[65536];
    const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
    if (count <= 0) {
      status = 0;
      return false;
    }
    buffer_.append(bytes, static_cast<size_t>(count));
    return true;
  }

  int fd_;
  std::string buffer_;
};

template <typename Condition>
void wait_until(Condition condition) {
  for (int i = 0; i < 20'000 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ASSERT_TRUE(condition());
}

class ServerTest : public ::testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.port = 0;
    if (options.threads == 0) options.threads = 2;
    server_ = std::make_unique<Server>(options);
    server_->bind();
    server_->start(handler_);
  }

  TestHandler handler_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, AnswersOnEveryThread) {
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<Client>(server_->port()));
  for (auto& client : clients) client->get("/hello");
  for (auto& client : clients) EXPECT_EQ(client->body(), "/hello");
  EXPECT_TRUE(handler_.has_executor);
  EXPECT_EQ(server_->connection_count(), 8u);
  clients.clear();
  wait_until([&] { return server_->connection_count() == 0; });
}

// Little to do needs one thread: the connections of the others go there, and lose nothing.
TEST_F(ServerTest, ConnectionsMoveToTheThreadThatIsLeft) {
  ServerOptions options;
  options.threads = 4;
  start(options);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(std::make_unique<Client>(server_->port()));
  size_t threads = 0;
  wait_until([&] {
    handler_.forget_threads();
    for (auto& client : clients) client->send("GET /thread HTTP/1.1\r\n\r\nGET /next HTTP/1.1\r\n");
    for (auto& client : clients) EXPECT_EQ(client->body(), "/thread");
    for (auto& client : clients) client->send("\r\n");
    for (auto& client : clients) EXPECT_EQ(client->body(), "/next");
    const size_t before = std::exchange(threads, handler_.thread_count());
    return threads == 1 && before == 1;
  });
  clients.clear();
  EXPECT_TRUE(server_->drain());
}

// It waits for room every few milliseconds then, and must not go on with that once it is to end.
TEST_F(ServerTest, DrainsWhileSomebodyWaitsForRoom) {
  ServerOptions options;
  options.max_connections = 2;
  start(options);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(std::make_unique<Client>(server_->port()));
  clients[0]->get("/served");
  EXPECT_EQ(clients[0]->body(), "/served");
  clients[1]->get("/served");
  EXPECT_EQ(clients[1]->body(), "/served");
  EXPECT_TRUE(server_->drain());
}

// The server ends while connections are on their way from one thread to another.
TEST_F(ServerTest, DrainsWhileConnectionsMove) {
  for (int round = 0; round < 5; ++round) {
    ServerOptions options;
    options.threads = 4;
    start(options);
    std::vector<std::thread> clients;
    for (int i = 0; i < 8; ++i) {
      clients.emplace_back([this] {
        Client client(server_->port());
        for (;;) {
          client.get("/thread");
          if (client.body() != "/thread") return;
        }
      });
    }
    wait_until([&] { return handler_.thread_count() > 1; });
    // Threads are let go after a while: somewhere around there.
    std::this_thread::sleep_for(std::chrono::milliseconds(150 + 30 * round));
    EXPECT_TRUE(server_->drain());
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(server_->connection_count(), 0u);
    handler_.forget_threads();
  }
}

TEST_F(ServerTest, AHandlerThatThrowsIsA500AndTheConnectionGoesOn) {
  start();
  Client client(server_->port());
  client.get("/throw");
  EXPECT_EQ(client.body(), "");
  EXPECT_EQ(client.status, 500);
  client.get("/next");
  EXPECT_EQ(client.body(), "/next");
}

TEST_F(ServerTest, AWaitingHandlerHoldsUpNoOtherConnection) {
  start({.threads = 1});
  Client waiting(server_->port());
  Client other(server_->port());
  waiting.get("/gate");
  wait_until([&] { return handler_.gate.count() == 1; });
  other.get("/other");
  EXPECT_EQ(other.body(), "/other");
  handler_.gate.open();
  EXPECT_EQ(waiting.body(), "/gate");
}

TEST_F(ServerTest, AHandlerMayEndOnAForeignThread) {
  start();
  Client client(server_->port());
  for (int i = 1; i <= 3; ++i) {
    client.get("/foreign");
    wait_until([&] { return handler_.foreign_gate.count() == i; });
    handler_.foreign_gate.open();
    EXPECT_EQ(client.body(), "/foreign");
  }
}

TEST_F(ServerTest, ALargeAnswerArrivesWhole) {
  start();
  Client client(server_->port());
  client.get("/large");
  EXPECT_EQ(client.body(), std::string(20'000'000, 'x'));
}

TEST_F(ServerTest, DrainAnswersWhatIsUnderWayAndClosesTheRest) {
  start();
  Client busy(server_->port());
  Client idle(server_->port());
  idle.get("/x");
  EXPECT_EQ(idle.body(), "/x");
  busy.get("/gate");
  wait_until([&] { return handler_.gate.count() == 1; });
  bool in_time = false;
  std::thread drain([&] { in_time = server_->drain(); });
  EXPECT_TRUE(idle.at_end());
  handler_.gate.open();
  EXPECT_EQ(busy.body(), "/gate");
  EXPECT_NE(busy.head.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(busy.at_end());
  drain.join();
  EXPECT_TRUE(in_time);
}

TEST_F(ServerTest, DrainThatTakesTooLongCutsConnectionsOffButWaitsForHandlers) {
  start({.drain_timeout = std::chrono::milliseconds(20)});
  Client busy(server_->port());
  busy.get("/gate");
  wait_until([&] { return handler_.gate.count() == 1; });
  std::atomic<bool> ended{false};
  bool in_time = true;
  std::thread drain([&] {
    in_time = server_->drain();
    ended = true;
  });
  EXPECT_TRUE(busy.at_end());
  EXPECT_FALSE(ended);
  handler_.gate.open();
  drain.join();
  EXPECT_FALSE(in_time);
}

// A busy thread finds its timer due and the drain waiting at the same moment.
TEST_F(ServerTest, DrainEndsAThreadWhoseTimerWasDueMeanwhile) {
  ServerOptions options;
  options.threads = 2;
  options.header_timeout = std::chrono::milliseconds(40);  // looked at every 10 ms
  options.drain_timeout = std::chrono::seconds(20);
  start(options);
  Client first(server_->port());  // of the thread that closes the port
  first.get("/a");
  EXPECT_EQ(first.body(), "/a");
  Client second(server_->port());
  second.send("GET /block HTTP/1.1\r\nConnection: close\r\n\r\n");
  wait_until([&] { return handler_.is_blocked.load(); });
  std::thread drainer([&] {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(server_->drain());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  });
  EXPECT_TRUE(first.at_end());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the timer's
  handler_.unblock = true;
  EXPECT_EQ(second.body(), "/block");
  drainer.join();
}

TEST_F(ServerTest, LargeBodiesBeyondTheMemoryLimitAre503) {
  start({.memory_limit_bytes = 1'000'000});
  Client first(server_->port());
  first.send("POST /gate HTTP/1.1\r\nContent-Length: 900000\r\n\r\n" + std::string(900'000, 'x'));
  wait_until([&] { return handler_.gate.count() == 1; });
  Client second(server_->port());
  second.send("POST / HTTP/1.1\r\nContent-Length: 900000\r\n\r\n");
  second.send(std::string(100'000, 'x'));
  second.body();
  EXPECT_EQ(second.status, 503);
  Client small(server_->port());
  small.send("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(small.body(), "/");
  handler_.gate.open();
  EXPECT_EQ(first.body(), "/gate");
  Client third(server_->port());
  third.send("POST / HTTP/1.1\r\nContent-Length: 900000\r\n\r\n" + std::string(900'000, 'x'));
  EXPECT_EQ(third.body(), "/");
}

TEST_F(ServerTest, APortInUseIsOneClearSentence) {
  start();
  Server second({.port = server_->port()});
  try {
    second.bind();
    second.start(handler_);
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_EQ(std::string(e.what()),
              "cannot listen on 127.0.0.1:" + std::to_string(server_->port()) +
                  ": Address already in use");
  }
}

TEST_F(ServerTest, AServerThatWasNeverStartedEnds) {
  Server bound({.port = 0});
  bound.bind();
  EXPECT_NE(bound.port(), 0);
}

}  // namespace
}  // namespace stator::net
