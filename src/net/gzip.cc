#include "net/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

#include "net/header_value.h"
#include "net/http_message.h"

namespace stator::net {

namespace {

constexpr int kGzipWindow = 15 + 16;
constexpr int kZlibWindow = 15;
constexpr size_t kFirstStep = 16 * 1024;

struct InflateStream {
  z_stream stream{};
  InflateStream() {
    if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw std::bad_alloc();
  }
  ~InflateStream() { inflateEnd(&stream); }
};

// The weight in a list entry's parameters: the first "q"; 1 if there is none or it is no number.
double weight_of(std::string_view parameters) {
  std::optional<double> weight;
  split(parameters, ';', [&](std::string_view parameter) {
    const size_t equals = parameter.find('=');
    if (weight || equals == std::string_view::npos) return;
    if (!equals_ignoring_case(trim(parameter.substr(0, equals)), "q")) return;
    const std::string_view number = trim(parameter.substr(equals + 1));
    double value = 1;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size()) value = 1;
    weight = std::clamp(value, 0.0, 1.0);
  });
  return weight.value_or(1);
}

}  // namespace

Inflated inflate_gzip(std::string_view bytes, size_t limit, std::string& out) {
  out.clear();
  InflateStream inflater;
  z_stream& stream = inflater.stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  size_t size = 0;
  for (;;) {
    if (size == out.size()) {
      // One byte more than allowed, to see that there is one.
      if (size > limit) return Inflated::kTooLarge;
      out.resize(std::min(limit + 1, size + std::max(size, kFirstStep)));
    }
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + size);
    stream.avail_out = static_cast<uInt>(out.size() - size);
    const int result = inflate(&stream, Z_NO_FLUSH);
    size = out.size() - stream.avail_out;
    if (size > limit) return Inflated::kTooLarge;
    if (result == Z_STREAM_END) {
      const bool is_member =
          stream.avail_in >= 2 && stream.next_in[0] == 0x1f && stream.next_in[1] == 0x8b;
      if (!is_member) break;
      inflateReset(&stream);
      continue;
    }
    if (result != Z_OK && result != Z_BUF_ERROR) return Inflated::kDamaged;
    if (stream.avail_in == 0 && stream.avail_out > 0) return Inflated::kDamaged;  // cut short
  }
  out.resize(size);
  return Inflated::kOk;
}

void deflate_into(std::string_view bytes, Coding coding, std::string& out) {
  z_stream stream{};
  const int window = coding == Coding::kGzip ? kGzipWindow : kZlibWindow;
  // The fastest level: the connection's thread does this.
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  out.resize(deflateBound(&stream, bytes.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("deflate did not finish");
}

Coding choose_coding(std::string_view accept_encoding) {
  struct Candidate {
    std::optional<double> weight;
    int position = 0;
  };
  Candidate gzip, deflate, any;
  int position = 0;
  split(accept_encoding, ',', [&](std::string_view entry) {
    const size_t semicolon = entry.find(';');
    const std::string_view name = trim(entry.substr(0, semicolon));
    Candidate* candidate = nullptr;
    if (equals_ignoring_case(name, "gzip")) candidate = &gzip;
    if (equals_ignoring_case(name, "deflate")) candidate = &deflate;
    if (name == "*") candidate = &any;
    ++position;
    if (candidate == nullptr) return;
    const double weight =
        semicolon == std::string_view::npos ? 1 : weight_of(entry.substr(semicolon + 1));
    if (candidate->weight && *candidate->weight >= weight) return;
    candidate->weight = weight;
    candidate->position = position;
  });
  const int behind_all = position + 1;
  for (Candidate* candidate : {&gzip, &deflate}) {
    if (!candidate->weight && any.weight) {
      candidate->weight = any.weight;
      candidate->position = behind_all;
    }
  }
  const double gzip_weight = gzip.weight.value_or(0);
  const double deflate_weight = deflate.weight.value_or(0);
  if (gzip_weight <= 0 && deflate_weight <= 0) return Coding::kIdentity;
  if (gzip_weight != deflate_weight) {
    return gzip_weight > deflate_weight ? Coding::kGzip : Coding::kDeflate;
  }
  return gzip.position <= deflate.position ? Coding::kGzip : Coding::kDeflate;
}

}  // namespace stator::net
