#include "net/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "common/log.h"
#include "common/metrics.h"
#include "net/response_writer.h"

namespace stator::net {

namespace {

// Beside a full header the buffer has room for the pieces of a chunked body.
constexpr size_t kBodyRoom = 16 * 1024;
// What simdjson wants to be allowed to read behind a text.
constexpr size_t kPadding = 64;
// An answer up to this size is copied behind its head and sent as one piece.
constexpr size_t kCopyLimit = 8 * 1024;
// A body buffer above this is given back after its request, so that idle connections stay small.
constexpr size_t kKeepLimit = 64 * 1024;
constexpr size_t kBodyStep = 256 * 1024;
constexpr size_t kMinRate = 64 * 1024;  // bytes a second
constexpr std::chrono::milliseconds kLingerTime{5'000};
constexpr size_t kLingerBytes = 64 * 1024 * 1024;
constexpr std::string_view kNothing;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

// Resumes with the number of bytes read; 0 means that the connection is over.
class Connection::ReadSome {
 public:
  ReadSome(Connection& connection, char* into, size_t size)
      : connection_(connection), into_(into), size_(size) {}
  bool await_ready() const noexcept { return connection_.failed_; }
  void await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    connection_.reading_ = this;
    if (!connection_.may_read_) return;
    // Bytes that are there already wait for their turn, as those of other connections do.
    connection_.read_posted_ = true;
    connection_.worker_->loop().call([connection = &connection_] {
      connection->read_posted_ = false;
      if (connection->reading_ != nullptr) connection->read_on();
    });
  }
  size_t await_resume() const noexcept { return bytes_; }

 private:
  friend class Connection;
  Connection& connection_;
  char* into_;
  size_t size_;
  size_t bytes_ = 0;
  std::coroutine_handle<> handle_;
};

class Connection::WriteSome {
 public:
  WriteSome(Connection& connection, std::string_view first, std::string_view second)
      : connection_(connection), first_(first), second_(second) {}
  bool await_ready() const noexcept { return connection_.failed_; }
  void await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    connection_.writing_ = this;
  }
  size_t await_resume() const noexcept { return bytes_; }

 private:
  friend class Connection;
  Connection& connection_;
  std::string_view first_;
  std::string_view second_;
  size_t bytes_ = 0;
  std::coroutine_handle<> handle_;
};

// Goes on on the worker's thread, when what became ready there has been served.
class Connection::NextTurn {
 public:
  explicit NextTurn(Worker& worker) : worker_(worker) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) { worker_.post(handle); }
  void await_resume() const noexcept {}

 private:
  Worker& worker_;
};

// Goes on on another worker's thread.
class Connection::Move {
 public:
  Move(Connection& connection, Worker& to) : connection_(connection), to_(to) {}
  bool await_ready() const noexcept { return connection_.failed_; }
  bool await_suspend(std::coroutine_handle<> handle) {
    // As soon as the other worker knows of it, it may be gone.
    connection_.may_read_ = false;
    connection_.worker_->loop().unwatch(connection_.socket_.get());
    if (to_.move_here(connection_, *connection_.worker_, handle)) return true;
    connection_.watch();
    return false;
  }
  void await_resume() const noexcept {}

 private:
  Connection& connection_;
  Worker& to_;
};

Connection::Connection(Worker& worker, Descriptor socket, uint64_t number)
    : worker_(&worker),
      number_(number),
      socket_(std::move(socket)),
      capacity_(worker.options().header_limit_bytes + kBodyRoom),
      buffer_(new char[capacity_]),
      answer_memory_(worker.memory()) {
  request_.memory = MemoryShare(worker.memory());
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  watch();
}

void Connection::watch() {
  if (!worker_->loop().watch(socket_.get(), *this, EPOLLIN | EPOLLOUT | EPOLLRDHUP)) close();
}

void Connection::arrive(Worker& worker) {
  worker_ = &worker;
  watch();  // tells again of what is there already
}

void Connection::ready(uint32_t events) {
  constexpr uint32_t kOver = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  if ((events & kOver) != 0) hung_up_ = true;
  if ((events & (EPOLLIN | kOver)) != 0) may_read_ = true;
  if (reading_ != nullptr) {
    if (may_read_ && !read_posted_) read_on();
  } else if (writing_ != nullptr && (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
    write_on();
  }
}

Connection::ReadSome Connection::read_some(char* into, size_t size) {
  return ReadSome(*this, into, size);
}

void Connection::read_on() {
  ssize_t bytes = 0;
  do {
    bytes = ::recv(socket_.get(), reading_->into_, reading_->size_, 0);
  } while (bytes < 0 && errno == EINTR);
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
    may_read_ = false;
    return;
  }
  // Less than was asked for is all there is; the loop tells of more.
  if (bytes > 0) may_read_ = hung_up_ || static_cast<size_t>(bytes) == reading_->size_;
  ReadSome& read = *std::exchange(reading_, nullptr);
  read.bytes_ = bytes > 0 ? static_cast<size_t>(bytes) : 0;
  read.handle_.resume();  // may be the end of this object
}

void Connection::write_on() {
  const ssize_t bytes = send(writing_->first_, writing_->second_);
  if (bytes == 0) return;
  WriteSome& write = *std::exchange(writing_, nullptr);
  write.bytes_ = bytes > 0 ? static_cast<size_t>(bytes) : 0;
  write.handle_.resume();  // may be the end of this object
}

ssize_t Connection::send(std::string_view first, std::string_view second) {
  assert(!first.empty() || !second.empty());
  ssize_t bytes = 0;
  do {
    if (second.empty()) {
      bytes = ::send(socket_.get(), first.data(), first.size(), MSG_NOSIGNAL);
    } else {
      std::array<iovec, 2> both{{{const_cast<char*>(first.data()), first.size()},
                                 {const_cast<char*>(second.data()), second.size()}}};
      msghdr message{};
      message.msg_iov = both.data();
      message.msg_iovlen = both.size();
      bytes = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    }
  } while (bytes < 0 && errno == EINTR);
  if (bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  return bytes;
}

Task<void> Connection::run() {
  using State = RequestParser::State;
  const ServerOptions& options = worker_->options();
  set_idle(options.header_timeout);  // a client that connects has something to say
  for (;;) {
    begin_request();
    State state = State::kNeedMore;
    if (parsed_ < filled_) {
      idle_ = false;
      request_.times.began_us = metrics::steady_us();
      set_deadline(options.header_timeout);
    }
    for (;;) {
      if (parsed_ < filled_) {
        size_t used = 0;
        state = parser_->feed({buffer_.get() + parsed_, filled_ - parsed_}, used);
        parsed_ += used;
        if (state != State::kNeedMore) break;
      }
      if (filled_ >= options.header_limit_bytes) break;
      if (idle_ && worker_->is_draining()) co_return;
      const size_t bytes = co_await read_some(buffer_.get() + filled_, capacity_ - filled_);
      if (bytes == 0) co_return;
      worker_->counts().received_bytes.add(bytes);
      filled_ += bytes;
      in_pieces_ = !idle_;
      if (idle_) {
        idle_ = false;
        request_.times.began_us = metrics::steady_us();
        set_deadline(options.header_timeout);
      }
    }
    if (state == State::kNeedMore) {
      co_await refuse(431);
      co_return;
    }
    if (state == State::kFailed) {
      co_await refuse(parser_->failed_status());
      co_return;
    }
    if (state == State::kHeader) {
      if (parser_->expects_continue() && parsed_ == filled_) {
        const bool written = co_await write_all(kContinue, kNothing);
        if (!written) co_return;
      }
      Reading reading = Reading::kOk;
      if (parser_->is_chunked()) {
        reading = co_await read_chunked_body();
      } else {
        reading = co_await read_sized_body();
      }
      if (reading == Reading::kGone) co_return;
      if (reading == Reading::kRefused) {
        co_await refuse(refused_status_);
        co_return;
      }
    }

    clear_deadline();
    // Looking at the clock costs something, and most requests arrive in one piece.
    request_.times.arrived_us = in_pieces_ ? metrics::steady_us() : request_.times.began_us;
    const bool is_head = request_.method == Method::kHead;
    bool failed = false;
    try {
      co_await worker_->handler().handle(request_, response_);
    } catch (const std::exception& e) {
      spdlog::error("a request failed: {}", e.what());
      failed = true;
    } catch (...) {
      spdlog::error("a request failed");
      failed = true;
    }
    if (Executor::current() != worker_) co_await NextTurn(*worker_);
    if (failed_) co_return;
    if (failed) {
      response_.clear();
      response_.status = 500;
    }

    const bool keep_alive = parser_->is_keep_alive() && !worker_->is_draining();
    out_.clear();
    append_head(out_, response_, worker_->date().now(), keep_alive);
    std::string_view second;
    if (!is_head) {
      if (response_.body.size() <= kCopyLimit) {
        out_.append(response_.body);
      } else {
        second = response_.body;
      }
    }
    // Small answers of one turn are sent together, after it: a client that serves many connections
    // is then woken once for all of them, which costs more than the answers themselves.
    if (second.empty() && worker_->loop().others_wait()) {
      co_await NextTurn(*worker_);
      if (failed_) co_return;
    }
    std::string_view first = out_;
    if (!write_now(first, second)) {
      // A client that does not take its answers keeps them here; when there are too many, they go.
      if (!answer_memory_.grow_to(first.size() + second.size())) co_return;
      const bool written = co_await write_all(first, second);
      if (!written) co_return;
    }
    worker_->handler().written(request_, response_);
    if (!keep_alive) {
      if (parsed_ < filled_) co_await linger();
      co_return;
    }
    consume_request();
    set_idle(options.idle_timeout);
    Worker* const home = worker_->other_home(number_);
    if (home != nullptr) co_await Move(*this, *home);
  }
}

void Connection::begin_request() {
  request_.headers.clear();
  request_.body.clear();
  request_.memory.clear();
  request_.times = {};
  in_pieces_ = false;
  answer_memory_.clear();
  response_.clear();
  parser_.emplace(request_, worker_->options().body_limit_bytes,
                  worker_->options().header_limit_bytes);
}

void Connection::consume_request() {
  const size_t rest = filled_ - parsed_;
  if (rest > 0) std::memmove(buffer_.get(), buffer_.get() + parsed_, rest);
  filled_ = rest;
  parsed_ = 0;
  if (request_.body.capacity() > kKeepLimit) std::string().swap(request_.body);
  if (response_.body.capacity() > kKeepLimit) std::string().swap(response_.body);
  if (out_.capacity() > kKeepLimit) std::string().swap(out_);
}

Task<Connection::Reading> Connection::read_sized_body() {
  const size_t size = parser_->body_size();
  const size_t buffered = std::min(size, filled_ - parsed_);
  std::string& body = request_.body;
  // What a client announces costs it nothing, so memory follows what it sends.
  body.reserve(std::min(size, kBodyStep) + kPadding);
  body.assign(buffer_.get() + parsed_, buffered);
  parsed_ += buffered;
  const SteadyTime start = worker_->loop().now();
  size_t have = buffered;
  while (have < size) {
    set_transfer_deadline(start, have);
    if (have == body.size()) {
      const size_t next = std::min(size, have + std::max(have, kBodyStep));
      if (!request_.memory.grow_to(next)) {
        refused_status_ = 503;
        co_return Reading::kRefused;
      }
      body.reserve(next + kPadding);
      body.resize(next);
    }
    const size_t bytes = co_await read_some(body.data() + have, body.size() - have);
    if (bytes == 0) co_return Reading::kGone;
    in_pieces_ = true;
    worker_->counts().received_bytes.add(bytes);
    have += bytes;
  }
  co_return Reading::kOk;
}

Task<Connection::Reading> Connection::read_chunked_body() {
  using State = RequestParser::State;
  const size_t header_end = parsed_;
  const SteadyTime start = worker_->loop().now();
  for (;;) {
    if (parsed_ < filled_) {
      size_t used = 0;
      const State state = parser_->feed({buffer_.get() + parsed_, filled_ - parsed_}, used);
      parsed_ += used;
      if (state == State::kDone) co_return Reading::kOk;
      if (state == State::kFailed) {
        refused_status_ = parser_->failed_status();
        co_return Reading::kRefused;
      }
    }
    if (!request_.memory.grow_to(request_.body.size())) {
      refused_status_ = 503;
      co_return Reading::kRefused;
    }
    // The header stays where it is; what is left of the body so far moves up behind it.
    const size_t rest = filled_ - parsed_;
    std::memmove(buffer_.get() + header_end, buffer_.get() + parsed_, rest);
    parsed_ = header_end;
    filled_ = header_end + rest;
    if (filled_ == capacity_) {  // a chunk's head, or the trailer, that does not end
      refused_status_ = 400;
      co_return Reading::kRefused;
    }
    set_transfer_deadline(start, request_.body.size());
    const size_t bytes = co_await read_some(buffer_.get() + filled_, capacity_ - filled_);
    if (bytes == 0) co_return Reading::kGone;
    in_pieces_ = true;
    worker_->counts().received_bytes.add(bytes);
    filled_ += bytes;
  }
}

bool Connection::write_now(std::string_view& first, std::string_view& second) {
  const ssize_t sent = send(first, second);
  if (sent <= 0) return false;  // full, or will fail again and be seen then
  take_off(static_cast<size_t>(sent), first, second);
  return first.empty() && second.empty();
}

void Connection::take_off(size_t sent, std::string_view& first, std::string_view& second) {
  worker_->counts().sent_bytes.add(sent);
  const size_t of_first = std::min(sent, first.size());
  first.remove_prefix(of_first);
  second.remove_prefix(sent - of_first);
}

Task<bool> Connection::write_all(std::string_view first, std::string_view second) {
  const SteadyTime start = worker_->loop().now();
  size_t written = 0;
  while (!first.empty() || !second.empty()) {
    set_transfer_deadline(start, written);
    if (failed_) co_return false;
    const ssize_t sent = send(first, second);
    size_t bytes = sent > 0 ? static_cast<size_t>(sent) : 0;
    if (sent == 0) bytes = co_await WriteSome(*this, first, second);
    if (bytes == 0) co_return false;
    written += bytes;
    take_off(bytes, first, second);
  }
  co_return true;
}

Task<void> Connection::refuse(int status) {
  worker_->counts().refused.add();
  out_.clear();
  append_refusal(out_, status, worker_->date().now());
  // GCC 12 lays out the frame wrongly if this is one expression in a condition.
  Task<bool> writing = write_all(out_, kNothing);
  const bool written = co_await writing;
  if (written) co_await linger();
}

Task<void> Connection::linger() {
  if (failed_ || ::shutdown(socket_.get(), SHUT_WR) != 0) co_return;
  // Deadline and bytes are bounded: a client that never stops sending is reset.
  set_idle(kLingerTime);
  size_t discarded = 0;
  while (discarded < kLingerBytes) {
    const size_t bytes = co_await read_some(buffer_.get(), capacity_);
    if (bytes == 0) break;
    discarded += bytes;
  }
}

void Connection::set_deadline(std::chrono::milliseconds timeout) {
  deadline_ = worker_->loop().now() + timeout;
}

void Connection::set_idle(std::chrono::milliseconds timeout) {
  idle_ = true;
  idle_since_ = worker_->loop().now();
  deadline_ = idle_since_ + timeout;
}

void Connection::set_transfer_deadline(SteadyTime start, size_t moved) {
  deadline_ = start + worker_->options().transfer_timeout +
              std::chrono::milliseconds(moved * 1000 / kMinRate);
}

void Connection::close_if_late(SteadyTime now) {
  if (now > deadline_) close();
}

void Connection::close_if_idle() {
  if (idle_) close();
}

std::optional<SteadyTime> Connection::idle_since() const {
  if (!idle_ || failed_) return std::nullopt;
  return idle_since_;
}

void Connection::close() {
  failed_ = true;
  deadline_ = SteadyTime::max();
  socket_.close();
  // Whoever waits learns of it, but not before this call has ended.
  if (reading_ != nullptr) worker_->loop().post(std::exchange(reading_, nullptr)->handle_);
  if (writing_ != nullptr) worker_->loop().post(std::exchange(writing_, nullptr)->handle_);
}

}  // namespace stator::net
