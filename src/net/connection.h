// One client's connection: reads a request, has it answered, writes the answer, and again. Internal
// to net.
#pragma once

#include <chrono>
#include <coroutine>
#include <memory>
#include <optional>
#include <string>

#include "common/task.h"
#include "net/http_message.h"
#include "net/request_parser.h"
#include "net/worker.h"

namespace stator::net {

// Lives on its worker's thread, which may change between two requests. Holds one request at a time:
// a client that pipelines is answered in order, its further requests wait in the buffer and then in
// the socket.
class Connection final : private EventLoop::Watcher {
 public:
  // `number` is its own among those of the server.
  Connection(Worker& worker, Descriptor socket, uint64_t number);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Serves until the connection is over. The connection may be deleted when the task has ended, not
  // before.
  Task<void> run();

  Worker& worker() { return *worker_; }
  // It lives on this worker's thread from now on.
  void arrive(Worker& worker);

  void close_if_late(SteadyTime now);
  // Closes it if no request is being read or answered.
  void close_if_idle();
  void close();
  // Since when there is no request; nothing while one is being read or answered.
  std::optional<SteadyTime> idle_since() const;

 private:
  enum class Reading { kOk, kRefused, kGone };
  class ReadSome;
  class WriteSome;
  class NextTurn;
  class Move;

  void ready(uint32_t events) override;
  // Next bytes into the buffer; 0 at the end of the connection.
  ReadSome read_some(char* into, size_t size);
  // Makes the system call that somebody waits for, and resumes him unless the socket is not ready.
  void read_on();
  void write_on();
  // How many bytes of the two the socket took: none if it takes none now, -1 if it is broken.
  ssize_t send(std::string_view first, std::string_view second);
  // The rest of a body whose size is known, straight into the request.
  Task<Reading> read_sized_body();
  Task<Reading> read_chunked_body();
  Task<bool> write_all(std::string_view first, std::string_view second);
  // Refuses the request, then reads on for a while: closing with unread bytes would reset the
  // connection and the client would never see the answer.
  Task<void> refuse(int status);
  Task<void> linger();

  // Sends what the socket takes at once; true if that was everything. Takes the sent bytes off the
  // views.
  bool write_now(std::string_view& first, std::string_view& second);
  // Counts what was sent and takes it off the views.
  void take_off(size_t sent, std::string_view& first, std::string_view& second);
  void begin_request();
  void consume_request();
  void set_deadline(std::chrono::milliseconds timeout);
  void set_idle(std::chrono::milliseconds timeout);
  void set_transfer_deadline(SteadyTime start, size_t moved);
  void clear_deadline() { deadline_ = SteadyTime::max(); }

  void watch();

  Worker* worker_;
  const uint64_t number_;
  Descriptor socket_;
  bool may_read_ = false;  // bytes may be there that nobody was told of again
  bool hung_up_ = false;   // the other side sends no more
  bool read_posted_ = false;
  ReadSome* reading_ = nullptr;
  WriteSome* writing_ = nullptr;
  const size_t capacity_;
  std::unique_ptr<char[]> buffer_;  // never moves: the request's views point into it
  size_t filled_ = 0;               // bytes in the buffer
  size_t parsed_ = 0;               // of those, done with
  std::optional<RequestParser> parser_;
  Request request_;
  Response response_;
  std::string out_;
  MemoryShare answer_memory_;
  int refused_status_ = 0;  // why a body was refused
  SteadyTime deadline_ = SteadyTime::max();
  SteadyTime idle_since_ = SteadyTime::min();
  bool idle_ = true;
  bool in_pieces_ = false;  // the request took more than one read
  bool failed_ = false;     // the socket is of no further use
};

}  // namespace stator::net
