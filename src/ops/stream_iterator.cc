#include "ops/stream_iterator.h"

#include <algorithm>

#include "common/base64.h"
#include "common/bytes.h"
#include "common/md5.h"

namespace stator::ops {

namespace {

constexpr size_t kVersionDigits = 20;
constexpr size_t kOrdinalDigits = 5;
constexpr std::string_view kFormat = "|1|";
constexpr size_t kCheckBytes = 8;

std::string padded(uint64_t value, size_t digits) {
  const std::string text = std::to_string(value);
  return std::string(digits - text.size(), '0') + text;
}

std::string check_of(std::string_view arn, std::string_view bytes) {
  const auto digest = md5({"shard iterator ", arn, bytes});
  return {digest.begin(), digest.begin() + kCheckBytes};
}

}  // namespace

std::string sequence_number(store::StreamPosition at) {
  return "1" + padded(at.version, kVersionDigits) + padded(at.ordinal, kOrdinalDigits);
}

std::optional<store::StreamPosition> parse_sequence_number(std::string_view text) {
  if (text.size() != 1 + kVersionDigits + kOrdinalDigits || text[0] != '1') return std::nullopt;
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  const auto number = [](std::string_view digits) -> std::optional<uint64_t> {
    uint64_t value = 0;
    for (const char digit : digits) {
      const auto next = static_cast<uint64_t>(digit - '0');
      if (value > (UINT64_MAX - next) / 10) return std::nullopt;
      value = value * 10 + next;
    }
    return value;
  };
  const auto version = number(text.substr(1, kVersionDigits));
  const auto ordinal = number(text.substr(1 + kVersionDigits));
  if (!version || !ordinal) return std::nullopt;
  return store::StreamPosition{*version, static_cast<uint32_t>(*ordinal)};
}

std::string shard_iterator_text(std::string_view stream_arn, const ShardIterator& iterator) {
  std::string bytes;
  append_big_endian(bytes, iterator.stream.table);
  append_big_endian(bytes, iterator.stream.number);
  append_big_endian(bytes, iterator.shard);
  append_big_endian(bytes, iterator.at.version);
  append_big_endian(bytes, iterator.at.ordinal);
  append_big_endian(bytes, iterator.issued_ms);
  bytes += check_of(stream_arn, bytes);
  std::string text(stream_arn);
  text += kFormat;
  append_base64(text, bytes);
  return text;
}

std::optional<ShardIterator> parse_shard_iterator(std::string_view text) {
  const size_t bar = text.find(kFormat);
  if (bar == std::string_view::npos) return std::nullopt;
  const auto decoded = decode_base64(text.substr(bar + kFormat.size()));
  constexpr size_t kSize = 8 + 4 + 4 + 8 + 4 + 8;
  if (!decoded || decoded->size() != kSize + kCheckBytes) return std::nullopt;
  std::string_view bytes = *decoded;
  if (bytes.substr(kSize) != check_of(text.substr(0, bar), bytes.substr(0, kSize)))
    return std::nullopt;
  ShardIterator iterator;
  iterator.stream.table = read_big_endian<uint64_t>(bytes);
  iterator.stream.number = read_big_endian<uint32_t>(bytes);
  iterator.shard = read_big_endian<uint32_t>(bytes);
  iterator.at.version = read_big_endian<uint64_t>(bytes);
  iterator.at.ordinal = read_big_endian<uint32_t>(bytes);
  iterator.issued_ms = read_big_endian<int64_t>(bytes);
  return iterator;
}

}  // namespace stator::ops
