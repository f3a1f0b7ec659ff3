// A request as it came off the wire and the answer to it. Both belong to a connection, which reuses
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/task.h"
#include "net/memory_budget.h"

namespace stator::net {

enum class Method { kGet, kHead, kPost, kPut, kDelete, kOptions, kOther };

struct Header {
  std::string_view name;
  std::string_view value;  // without the white space around it
};

// True if the two are equal but for the case of ASCII letters.
bool equals_ignoring_case(std::string_view left, std::string_view right);

// When the parts of a request were done (metrics::steady_us); 0: not, or not known. The connection
// knows the first two, the handler the others.
struct RequestTimes {
  uint64_t began_us = 0;     // its first byte was there
  uint64_t arrived_us = 0;   // its last one
  uint64_t routed_us = 0;    // it is known what it asks for
  uint64_t parsed_us = 0;    // its body is read
  uint64_t executed_us = 0;  // it was done
  uint64_t framed_us = 0;    // its answer is ready to be written
  // How long it waited while it was executed: for keys that others hold, the disk, the commit.
  uint64_t waited_for_keys_us = 0;
  uint64_t waited_for_disk_us = 0;
  uint64_t waited_for_commit_us = 0;
};

// The views point into the connection's buffer and hold until the answer is written.
struct Request {
  Method method = Method::kOther;
  std::string_view path;   // "/", never with scheme and host
  std::string_view query;  // after the '?', not decoded; may be empty
  std::vector<Header> headers;
  std::string body;    // the handler may take it
  MemoryShare memory;  // what the body holds; a handler that makes it larger asks here first
  RequestTimes times;
  std::string id;  // the handler's

  // The value of a header, the last one if it is repeated; empty if it is not there.
  std::string_view header(std::string_view name) const;
  bool has_header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string_view content_type;  // of static storage; empty: no such header
  std::string headers;            // further headers, each as "Name: value\r\n"
  std::string body;

  void clear();
  // `value` must not contain line ends: what comes from a request never does.
  void add_header(std::string_view name, std::string_view value);
};

// What answers requests. One object serves all threads of a server.
class Handler {
 public:
  virtual ~Handler() = default;
  // Fills `response`. Starts on the connection's thread and may end on any. Both arguments live
  // until the task ended.
  virtual Task<void> handle(Request& request, Response& response) = 0;
  // The answer is on its way, or the client is gone. On the connection's thread; must not block.
  virtual void written(const Request& /*request*/, const Response& /*response*/) {}
};

}  // namespace stator::net
