// HTTP framing: whatever the bytes and however they arrive, the same request or the same refusal;
// then what is read from the head and the body of a request that was understood.
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
  if ((outcome.state == State::kFailed) != (outcome.status != 0)) std::abort();
  return outcome;
}

void expect_same(const Outcome& left, const Outcome& right) {
  // What is wrong in two ways may be refused for either, as its bytes happen to arrive.
  if (left.state != right.state) std::abort();
  if (left.state != State::kDone) return;
  if (left.used != right.used || left.request.body != right.request.body) std::abort();
  if (left.request.headers.size() != right.request.headers.size()) std::abort();
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
