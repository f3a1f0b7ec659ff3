#include "net/request_parser.h"

#include <gtest/gtest.h>

#include <string>

namespace stator::net {
namespace {

using State = RequestParser::State;

// Feeds `wire` as it would arrive in pieces of `step` bytes, through the header and a chunked body.
struct Parsed {
  std::string wire;
  Request request;
  State state = State::kNeedMore;
  int status = 0;
  bool keep_alive = false;
  size_t used = 0;

  explicit Parsed(std::string text, size_t step = std::string::npos, uint64_t limit = 100)
      : wire(std::move(text)) {
    RequestParser parser(request, limit, 1000);
    size_t end = 0;
    while (end < wire.size()) {
      end = step > wire.size() - end ? wire.size() : end + step;
      for (;;) {
        size_t now = 0;
        state = parser.feed(std::string_view(wire).substr(used, end - used), now);
        used += now;
        if (state != State::kHeader || used == end) break;
      }
      if (state == State::kDone || state == State::kFailed) break;
    }
    status = parser.failed_status();
    if (state == State::kDone) keep_alive = parser.is_keep_alive();
  }
};

TEST(EqualsIgnoringCase, ChangesLettersOnly) {
  for (const size_t size : {1u, 7u, 8u, 9u, 17u}) {
    const std::string padding(size - 1, 'x');
    for (int one = 0; one < 128; ++one) {
      for (int other = 0; other < 128; ++other) {
        const bool is_letter = (one | 32) >= 'a' && (one | 32) <= 'z';
        const bool equal = one == other || (is_letter && (one ^ 32) == other);
        const std::string left = padding + static_cast<char>(one);
        const std::string right = padding + static_cast<char>(other);
        EXPECT_EQ(equals_ignoring_case(left, right), equal) << left << " " << right;
      }
    }
  }
  EXPECT_FALSE(equals_ignoring_case("a", "ab"));
  EXPECT_TRUE(equals_ignoring_case("", {}));
}

TEST(RequestParser, ReadsRequestLineAndHeaders) {
  const Parsed parsed(
      "GET /a/b?x=1&y HTTP/1.1\r\nHost: h\r\nX-Thing:  two words \r\nx-thing: last\r\n\r\nrest");
  ASSERT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.request.method, Method::kGet);
  EXPECT_EQ(parsed.request.path, "/a/b");
  EXPECT_EQ(parsed.request.query, "x=1&y");
  EXPECT_EQ(parsed.request.header("X-THING"), "last");
  EXPECT_EQ(parsed.request.headers[1].value, "two words");
  EXPECT_FALSE(parsed.request.has_header("other"));
  EXPECT_TRUE(parsed.keep_alive);
  EXPECT_EQ(parsed.wire.substr(parsed.used), "rest");
}

TEST(RequestParser, ReadsTheSameFromPiecesOfAnySize) {
  const std::string wire =
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nTrailer: x\r\n\r\nnext";
  for (size_t step = 1; step <= wire.size(); ++step) {
    const Parsed parsed(wire, step);
    ASSERT_EQ(parsed.state, State::kDone) << step;
    EXPECT_EQ(parsed.request.body, "abcde");
    EXPECT_EQ(parsed.request.header("host"), "h");
    EXPECT_FALSE(parsed.request.has_header("trailer"));
    EXPECT_EQ(wire.substr(parsed.used), "next");
  }
}

TEST(RequestParser, ReadsAnEmptyChunkedBodyFromPiecesOfAnySize) {
  const std::string wire = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nnext";
  for (size_t step = 1; step <= wire.size(); ++step) {
    const Parsed parsed(wire, step);
    ASSERT_EQ(parsed.state, State::kDone) << step << " " << parsed.status;
    EXPECT_EQ(parsed.request.body, "");
    EXPECT_EQ(wire.substr(parsed.used), "next");
  }
}

TEST(RequestParser, CountsTheHeaderTheSameHoweverItArrives) {
  const std::string start = "GET / HTTP/1.1\r\nLong: ";
  const std::string end = "\r\n\r\n";
  for (const size_t size : {999u, 1000u, 1001u, 1500u}) {
    const std::string wire = start + std::string(size - start.size() - end.size(), 'x') + end;
    for (const size_t step : {size_t{1}, size_t{7}, size_t{998}, wire.size()}) {
      const Parsed parsed(wire, step);
      EXPECT_EQ(parsed.status, size <= 1000 ? 0 : 431) << size << " bytes, by " << step;
      EXPECT_EQ(parsed.state == State::kDone, size <= 1000);
    }
  }
}

TEST(RequestParser, TakesAbsoluteTargets) {
  EXPECT_EQ(Parsed("GET http://h:1/p?q HTTP/1.1\r\n\r\n").request.path, "/p");
  EXPECT_EQ(Parsed("GET http://h:1 HTTP/1.1\r\n\r\n").request.path, "/");
}

TEST(RequestParser, KnowsWhenAConnectionIsKept) {
  EXPECT_FALSE(Parsed("GET / HTTP/1.0\r\n\r\n").keep_alive);
  EXPECT_TRUE(Parsed("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keep_alive);
  EXPECT_FALSE(Parsed("GET / HTTP/1.1\r\nConnection: close\r\n\r\n").keep_alive);
  EXPECT_FALSE(Parsed("GET / HTTP/1.1\r\nconnection: TE , Close\r\n\r\n").keep_alive);
  EXPECT_TRUE(Parsed("GET / HTTP/1.1\r\nConnection: keep-alive\r\n\r\n").keep_alive);
}

TEST(RequestParser, TakesTheSameLengthTwice) {
  const Parsed parsed("POST / HTTP/1.1\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\nabc");
  ASSERT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.request.body, "ab");
  EXPECT_EQ(parsed.wire.substr(parsed.used), "c");
}

TEST(RequestParser, TakesTabsAndAnyByteAboveAsciiInValues) {
  const Parsed parsed("GET / HTTP/1.1\r\nA: \t one\ttwo\xc3\xa4\xff three \t\r\n\r\n");
  ASSERT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.request.header("a"), "one\ttwo\xc3\xa4\xff three");
}

TEST(RequestParser, RefusesALongMethodHoweverItArrives) {
  const std::string wire = std::string(40, 'M') + " / HTTP/1.1\r\n\r\n";
  for (size_t step = 1; step <= wire.size(); ++step) EXPECT_EQ(Parsed(wire, step).status, 400);
}

TEST(RequestParser, PassesOverChunkExtensions) {
  const Parsed parsed(
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
      "1;a\r\nx\r\n1 ; b = c;d=\"e;\\\"f\" \r\ny\r\n0;g\r\n\r\n");
  ASSERT_EQ(parsed.state, State::kDone);
  EXPECT_EQ(parsed.request.body, "xy");
}

TEST(RequestParser, RefusesMoreExtensionsThanBody) {
  std::string wire = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 50; ++i) wire += "1;" + std::string(30, 'e') + "\r\nx\r\n";
  EXPECT_EQ(Parsed(wire).status, 400);
}

TEST(RequestParser, RefusesATrailerWithoutEnd) {
  std::string wire = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  for (int i = 0; i < 200; ++i) wire += "a: bcdef\r\n";
  for (const size_t step : {size_t{1}, size_t{100}, wire.size()})
    EXPECT_EQ(Parsed(wire, step).status, 431);
}

TEST(RequestParser, RefusesABodyAboveTheLimit) {
  EXPECT_EQ(Parsed("POST / HTTP/1.1\r\nContent-Length: 101\r\n\r\n").status, 413);
  EXPECT_EQ(Parsed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n").status, 413);
  const std::string fifty(50, 'x');
  EXPECT_EQ(Parsed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n32\r\n" + fifty +
                   "\r\n33\r\n" + fifty + "x\r\n0\r\n\r\n")
                .status,
            413);
}

class RefusedRequest : public ::testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(RefusedRequest, GetsItsStatus) {
  const Parsed parsed(GetParam().first);
  EXPECT_EQ(parsed.state, State::kFailed);
  EXPECT_EQ(parsed.status, GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(
    Wire, RefusedRequest,
    ::testing::Values(
        std::pair{"garbage\r\n\r\n", 400}, std::pair{"GET  / HTTP/1.1\r\n\r\n", 400},
        std::pair{"GET / HTTP/1.1\nHost: h\n\n", 505}, std::pair{"GET / HTTP/2.0\r\n\r\n", 505},
        std::pair{"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
        std::pair{"GET / HTTP/1.1\r\nspace : x\r\n\r\n", 400},
        std::pair{"GET / HTTP/1.1\r\nFolded: a\r\n b\r\n\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
                  400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
                  400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked, gzip\r\n\r\n", 501},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked"
                  "\r\n\r\n",
                  400},
        std::pair{"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nContent-Length: 5, 5\r\n\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nContent-Length:\r\n\r\n", 400},
        std::pair{"GET / HTTP/1.1\r\n: x\r\n\r\n", 400},
        std::pair{"GET / HTTP/1.1\r\nBare: a\nb: c\r\n\r\n", 400},
        std::pair{"GET / HTTP/1.1\r\nLone: a\rb and a long rest\r\n\r\n", 400},
        std::pair{"GET / HTTP/1.1\r\nDeleted: 1234567890\x7f\r\n\r\n", 400},
        std::pair{"GET /\x01 HTTP/1.1\r\n\r\n", 400}, std::pair{"GET / HTTP/1.1 \r\n\r\n", 505},
        std::pair{"GET /\r\n\r\n", 400}, std::pair{"\r\nGET / HTTP/1.1\r\n\r\n", 400},
        std::pair{"\x16\x03\x01 a greeting of TLS has no lines", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\n", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;a=\"\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0;a=\"b\\\"\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;a b\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;=b\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1 a\r\n", 400},
        std::pair{"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno colon\r\n\r\n",
                  400},
        std::pair{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400}));

TEST(RequestParser, RefusesTooManyHeadersAndTooLongOnes) {
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 129; ++i) many += "a:\r\n";
  EXPECT_EQ(Parsed(many + "\r\n").status, 431);
  EXPECT_EQ(Parsed("GET / HTTP/1.1\r\nLong: " + std::string(2000, 'x') + "\r\n\r\n").status, 431);
}

}  // namespace
}  // namespace stator::net
