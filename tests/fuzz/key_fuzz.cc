// Keys: bytes are read or refused as a CorruptRecord; what was encoded is read back; the order of
// the encoded is the order of the values. The input is two values, split where its first byte says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "common/bytes.h"
#include "model/key_codec.h"
#include "replay_main.h"

namespace {

using namespace stator;
using model::Number;
using model::Value;

template <typename Action>
void allow_corrupt(Action action) {
  try {
    action();
  } catch (const CorruptRecord&) {
  }
}

void read_bytes_as_keys(std::string_view bytes) {
  allow_corrupt([&] { model::hash_in_key(bytes, model::items_prefix(1).size()); });
  allow_corrupt([&] { model::expiry_in_key(bytes); });
  allow_corrupt([&] {
    std::string_view rest = bytes;
    const Number number = Number::decode_ordered(rest);
    std::string written;
    number.encode_ordered(written);
    std::string_view again = written;
    if (Number::decode_ordered(again) != number || !again.empty()) std::abort();
  });
  allow_corrupt([&] {
    std::string_view rest = bytes;
    const Number number = Number::decode(rest);
    std::string written;
    number.encode(written);
    std::string_view again = written;
    if (Number::decode(again) != number || !again.empty()) std::abort();
  });
}

std::string index_sort(const Value& value) {
  std::string key;
  model::append_index_sort(key, value);
  return key;
}

int sign(std::strong_ordering order) {
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

void compare_numbers(std::string_view left, std::string_view right) {
  const std::optional<Number> a = Number::parse(left);
  const std::optional<Number> b = Number::parse(right);
  if (!a || !b) return;
  if (Number::parse(a->to_string()) != a) std::abort();
  std::string ordered;
  a->encode_ordered(ordered);
  std::string_view rest = ordered;
  if (Number::decode_ordered(rest) != *a || !rest.empty()) std::abort();
  const std::string x = index_sort(Value::number(*a));
  const std::string y = index_sort(Value::number(*b));
  if (sign(*a <=> *b) != sign(x <=> y)) std::abort();
  if (const auto sum = Number::add(*a, *b)) {
    if (Number::add(*b, *a) != sum) std::abort();
  }
}

// Followed by anything, as a key is by the rest of the key.
void compare_texts(std::string_view left, std::string_view right) {
  const std::string x = index_sort(Value::binary(std::string(left))) + '\xFF';
  const std::string y = index_sort(Value::binary(std::string(right))) + '\0';
  if (left != right && (left < right) != (x < y)) std::abort();
  if ((left == right) != (x.substr(0, x.size() - 1) == y.substr(0, y.size() - 1))) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  read_bytes_as_keys(input);
  if (input.empty()) return 0;
  const size_t split = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  const std::string_view left = input.substr(0, split);
  const std::string_view right = input.substr(left.size());
  compare_numbers(left, right);
  compare_texts(left, right);
  return 0;
}
