// Content codings: what a request's body may come in and what an answer may go out in.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stator::net {

enum class Coding { kIdentity, kGzip, kDeflate };

enum class Inflated {
  kOk,
  kDamaged,   // not gzip, cut short, or a checksum does not match
  kTooLarge,  // more than the limit: `out` never grows beyond it
};

// Inflates a gzip stream of one or more members into `out`. Bytes behind the last member that do
// not begin another one are ignored, as the service does.
Inflated inflate_gzip(std::string_view bytes, size_t limit, std::string& out);

// Deflates `bytes` into `out`: kGzip as a gzip stream, kDeflate as a zlib stream.
void deflate_into(std::string_view bytes, Coding coding, std::string& out);

// What a client that sent this Accept-Encoding gets. The weights and ties are resolved as the
// service was observed to: the greatest weight wins, then the coding named first, then gzip; "*"
// stands for the codings not named.
Coding choose_coding(std::string_view accept_encoding);

}  // namespace stator::net
