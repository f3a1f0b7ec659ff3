#include "net/request_parser.h"

#include <boost/beast/http/error.hpp>

#include <limits>

namespace stator::net {

namespace http = boost::beast::http;

namespace {

constexpr size_t kMaxHeaders = 128;
// "0\r\n\r\n" is the shortest end of a chunked body. Beast, given less of it, runs into an
// assertion; and whatever a '0' of a body begins, this much is to come.
constexpr std::string_view kEndOfChunked = "0\r\n\r\n";

Method to_method(http::verb verb) {
  switch (verb) {
    case http::verb::get:
      return Method::kGet;
    case http::verb::head:
      return Method::kHead;
    case http::verb::post:
      return Method::kPost;
    case http::verb::put:
      return Method::kPut;
    case http::verb::delete_:
      return Method::kDelete;
    case http::verb::options:
      return Method::kOptions;
    default:
      return Method::kOther;
  }
}

// "http://host:8000/path" is how a client speaks to a proxy; a server must take it too.
std::string_view without_authority(std::string_view target) {
  if (target.empty() || target.front() == '/') return target;
  const size_t scheme = target.find("://");
  if (scheme == std::string_view::npos) return target;
  const size_t path = target.find_first_of("/?", scheme + 3);
  return path == std::string_view::npos ? std::string_view("/") : target.substr(path);
}

}  // namespace

RequestParser::RequestParser(Request& request, uint64_t body_limit, uint32_t header_limit_bytes)
    : request_(request), header_limit_bytes_(header_limit_bytes) {
  this->body_limit(body_limit);
  // Beast counts from where the bytes given to it begin, so where its limit lies depends on how
  // they arrive.
  header_limit(std::numeric_limits<uint32_t>::max());
  eager(false);
}

RequestParser::State RequestParser::fail(int status) {
  failed_status_ = status;
  return State::kFailed;
}

RequestParser::State RequestParser::feed(std::string_view bytes, size_t& used) {
  used = 0;
  while (used < bytes.size()) {
    const bool may_be_end = header_done_ && chunked() && bytes[used] == kEndOfChunked[0];
    if (may_be_end && bytes.size() - used < kEndOfChunked.size()) break;
    feeding_ = bytes.substr(used);
    error_code ec;
    const size_t now = put(boost::asio::const_buffer(feeding_.data(), feeding_.size()), ec);
    used += now;
    if (!header_done_) {
      // As much as the header has at least, and exactly once it has ended.
      const bool has_ended = !ec && is_header_done();
      const size_t seen = header_bytes_ + (has_ended ? now : feeding_.size() + 1);
      if ((has_ended || ec == http::error::need_more) && seen > header_limit_bytes_)
        return fail(431);
      header_bytes_ += now;
    }
    if (ec == http::error::need_more) return State::kNeedMore;
    if (ec == http::error::body_limit) return fail(413);
    if (ec == http::error::header_limit) return fail(431);
    if (ec == http::error::bad_version) return fail(505);
    if (ec) return fail(failed_status_ == 0 ? 400 : failed_status_);
    if (is_done()) return State::kDone;
    if (is_header_done() && !header_done_) {
      header_done_ = true;
      return State::kHeader;
    }
  }
  return State::kNeedMore;
}

void RequestParser::on_request_impl(http::verb method, string_view, string_view target, int version,
                                    error_code&) {
  request_.method = to_method(method);
  is_http_11_ = version == 11;
  const std::string_view local = without_authority({target.data(), target.size()});
  const size_t question = local.find('?');
  request_.path = local.substr(0, question);
  request_.query =
      question == std::string_view::npos ? std::string_view() : local.substr(question + 1);
  if (request_.path.empty()) request_.path = "/";
}

void RequestParser::on_field_impl(http::field name, string_view name_string, string_view value,
                                  error_code& ec) {
  if (header_done_) return;  // a trailer: nothing here needs one
  // A folded value is not in our buffer but in a copy that is about to go. Folding is obsolete and
  // a server may refuse it.
  if (!value.empty() && (value.data() < feeding_.data() ||
                         value.data() + value.size() > feeding_.data() + feeding_.size())) {
    ec = http::error::bad_obs_fold;
    return;
  }
  if (request_.headers.size() >= kMaxHeaders) {
    ec = http::error::header_limit;
    return;
  }
  if (name == http::field::transfer_encoding) has_transfer_encoding_ = true;
  const std::string_view text(value.data(), value.size());
  if (name == http::field::expect && equals_ignoring_case(text, "100-continue")) {
    expects_continue_ = is_http_11_;
  }
  request_.headers.push_back({{name_string.data(), name_string.size()}, text});
}

void RequestParser::on_header_impl(error_code& ec) {
  // An encoding that is not understood hides where the body ends; so does any encoding in HTTP/1.0.
  if (has_transfer_encoding_ && (!chunked() || !is_http_11_)) {
    failed_status_ = is_http_11_ ? 501 : 400;
    ec = http::error::bad_transfer_encoding;
  }
}

std::size_t RequestParser::on_body_impl(string_view body, error_code&) {
  request_.body.append(body.data(), body.size());
  return body.size();
}

std::size_t RequestParser::on_chunk_body_impl(std::uint64_t, string_view body, error_code&) {
  request_.body.append(body.data(), body.size());
  return body.size();
}

}  // namespace stator::net
