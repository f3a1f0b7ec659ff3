// HTTP framing: whatever the bytes and however they arrive, the same requests are understood; then
// what is read from the head and the body of one.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/gzip.h"
#include "net/request_parser.h"
#include "net/signature.h"
#include "replay_main.h"

namespace {

using namespace stator;
using State = net::RequestParser::State;

constexpr uint64_t kBodyLimit = 4096;
constexpr uint32_t kHeaderLimit = 1024;

struct Outcome {
  State state = State::kNeedMore;
  int status = 0;
  size_t used = 0;
  bool is_keep_alive = false;
  bool is_chunked = false;
  bool expects_continue = false;
  net::Request request;
};

// Reads one request as a connection does, `step` bytes at a time. The request's views point into
// `wire`.
Outcome read(std::string_view wire, size_t step) {
  Outcome outcome;
  net::RequestParser parser(outcome.request, kBodyLimit, kHeaderLimit);
  size_t arrived = 0;
  while (arrived < wire.size()) {
    arrived += std::min(step, wire.size() - arrived);
    for (;;) {
      size_t now = 0;
      outcome.state = parser.feed(wire.substr(outcome.used, arrived - outcome.used), now);
      outcome.used += now;
      if (outcome.used > arrived) std::abort();
      if (outcome.state != State::kHeader || outcome.used == arrived) break;
    }
    if (outcome.state == State::kDone || outcome.state == State::kFailed) break;
  }
  outcome.status = parser.failed_status();
  outcome.is_keep_alive = parser.is_keep_alive();
  outcome.is_chunked = parser.is_chunked();
  outcome.expects_continue = parser.expects_continue();
  if ((outcome.state == State::kFailed) != (outcome.status != 0)) std::abort();
  return outcome;
}

// What is understood when it arrives at once is understood in pieces, and the same; nothing else
// is. Where the bytes end before a request does, it may be refused already or only later, as they
// happen to arrive.
void expect_same(const Outcome& left, const Outcome& right) {
  if ((left.state == State::kDone) != (right.state == State::kDone)) std::abort();
  if (left.state != State::kDone) return;
  if (left.is_keep_alive != right.is_keep_alive || left.is_chunked != right.is_chunked ||
      left.expects_continue != right.expects_continue)
    std::abort();
  const net::Request& a = left.request;
  const net::Request& b = right.request;
  if (left.used != right.used || a.body != b.body || a.method != b.method) std::abort();
  if (a.path != b.path || a.query != b.query || a.headers.size() != b.headers.size()) std::abort();
  for (size_t i = 0; i < a.headers.size(); ++i) {
    const bool same =
        a.headers[i].name == b.headers[i].name && a.headers[i].value == b.headers[i].value;
    if (!same) std::abort();
  }
}

void use(const net::Request& request) {
  net::parse_signature(request);
  net::choose_coding(request.header("Accept-Encoding"));
  std::string inflated;
  net::inflate_gzip(request.body, 10 * kBodyLimit, inflated);
  if (inflated.size() > 10 * kBodyLimit) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view wire(reinterpret_cast<const char*>(data), size);
  // A connection goes on behind a request that was read, and ends at one that was not.
  for (int requests = 0; requests < 4 && !wire.empty(); ++requests) {
    const Outcome whole = read(wire, wire.size());
    expect_same(whole, read(wire, 1));
    expect_same(whole, read(wire, 7));
    if (whole.state != State::kDone) break;
    if (whole.request.body.size() > kBodyLimit) std::abort();
    use(whole.request);
    wire.remove_prefix(whole.used);
  }
  return 0;
}
