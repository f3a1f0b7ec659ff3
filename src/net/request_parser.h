// Reads one HTTP/1.x request from the bytes of a connection. Framing is Beast's; this class keeps
// the header as views into the connection's buffer (no copies) and refuses what two parties could
// read differently.
#pragma once

#include <boost/beast/http/basic_parser.hpp>

#include <cstdint>
#include <string_view>

#include "net/http_message.h"

namespace stator::net {

// Not thread-safe. One object per request, never reused. The bytes given to feed() must stay where
// they are until the request was answered, as far as they belong to the header.
class RequestParser final : private boost::beast::http::basic_parser<true> {
 public:
  enum class State {
    kNeedMore,  // feed more bytes
    kHeader,    // the header is complete, a body follows
    kDone,      // the request is complete
    kFailed,    // status() says what to answer before closing
  };

  // Limits in bytes; the header's counts from the request line to the empty line.
  RequestParser(Request& request, uint64_t body_limit, uint32_t header_limit);

  // Reads on from `bytes`, the unread bytes so far; `used` is how many of them are done with. Stops
  // after the header. Never call it twice with the same bytes.
  State feed(std::string_view bytes, size_t& used);

  int failed_status() const { return failed_status_; }
  bool is_keep_alive() const { return keep_alive(); }
  bool is_chunked() const { return chunked(); }
  bool expects_continue() const { return expects_continue_; }
  // Of a body that is not chunked.
  uint64_t body_size() const { return content_length().value_or(0); }

 private:
  using error_code = boost::beast::error_code;
  using string_view = boost::beast::string_view;

  void on_request_impl(boost::beast::http::verb method, string_view method_str, string_view target,
                       int version, error_code& ec) override;
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_field_impl(boost::beast::http::field name, string_view name_string, string_view value,
                     error_code& ec) override;
  void on_header_impl(error_code& ec) override;
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code& ec) override;
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t remain, string_view body, error_code& ec) override;
  void on_finish_impl(error_code&) override {}

  State fail(int status);

  Request& request_;
  const size_t header_limit_bytes_;
  size_t header_bytes_ = 0;  // of those done with
  std::string_view feeding_;
  int failed_status_ = 0;
  bool is_http_11_ = false;
  bool expects_continue_ = false;
  bool has_transfer_encoding_ = false;
  bool header_done_ = false;
};

}  // namespace stator::net
