// Reads one HTTP/1.x request from the bytes of a connection. The header is kept as views into the
// connection's buffer (no copies). What two parties could read differently is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "net/http_message.h"

namespace stator::net {

// Not thread-safe. One object per request, never reused. The bytes given to feed() must stay where
// they are until the request was answered, as far as they belong to the header.
class RequestParser {
 public:
  enum class State {
    kNeedMore,  // feed more bytes
    kHeader,    // the header is complete, a body follows
    kDone,      // the request is complete
    kFailed,    // failed_status() says what to answer before closing
  };

  // Limits in bytes; the header's counts from the request line to the empty line.
  RequestParser(Request& request, uint64_t body_limit, uint32_t header_limit)
      : request_(request), body_limit_(body_limit), header_limit_(header_limit) {}

  // Reads on from `bytes`, the unread bytes so far; `used` is how many of them are done with. Stops
  // after the header. Without new bytes it is not called again.
  State feed(std::string_view bytes, size_t& used);

  int failed_status() const { return failed_status_; }
  bool is_keep_alive() const { return !closes_ && (is_http_11_ || keeps_); }
  bool is_chunked() const { return is_chunked_; }
  bool expects_continue() const { return expects_continue_; }
  // Of a body that is not chunked.
  uint64_t body_size() const { return content_length_.value_or(0); }

 private:
  enum class Part {
    kRequestLine,
    kFields,
    kBody,
    kChunkHead,
    kChunk,
    kChunkEnd,
    kTrailer,
  };

  // Each of them reads what it can of `rest` and takes it off. Nothing: go on with the part that
  // follows.
  using Step = std::optional<State>;
  Step read_part(std::string_view& rest);
  Step read_request_line(std::string_view& rest);
  Step read_field(std::string_view& rest);
  Step read_body(std::string_view& rest);
  Step read_chunk_head(std::string_view& rest);
  Step read_chunk(std::string_view& rest);
  Step read_chunk_end(std::string_view& rest);
  Step read_trailer(std::string_view& rest);

  // Takes a line off, with its end: up to a line feed, without it. Nothing if it is not complete.
  std::optional<std::string_view> take_line(std::string_view& rest);
  Step wait_for_header(std::string_view rest);
  bool set_target(std::string_view target);
  // Nothing, or the status of a refusal.
  int take_field(std::string_view name, std::string_view value);
  int take_content_length(std::string_view value);
  void take_connection(std::string_view value);
  State end_header();
  State fail(int status);

  Request& request_;
  const uint64_t body_limit_;
  const size_t header_limit_;
  Part part_ = Part::kRequestLine;
  size_t searched_ = 0;         // of the unread bytes: no line ends there
  size_t header_bytes_ = 0;     // of those done with
  size_t extension_bytes_ = 0;  // of all chunks
  size_t trailer_bytes_ = 0;
  uint64_t left_ = 0;  // of the body, or of a chunk
  std::optional<uint64_t> content_length_;
  int failed_status_ = 0;
  bool is_http_11_ = false;
  bool has_host_ = false;
  bool closes_ = false;
  bool keeps_ = false;
  bool has_transfer_encoding_ = false;
  bool is_chunked_ = false;
  bool expects_continue_ = false;
};

}  // namespace stator::net
