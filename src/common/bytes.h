// Fixed-width and variable-width integers in byte strings.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace stator {

// A stored record that cannot be read. Never the fault of a request.
class CorruptRecord : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename T>
void append_big_endian(std::string& out, T value) {
  for (int shift = static_cast<int>(sizeof(T)) * 8 - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>((static_cast<uint64_t>(value) >> shift) & 0xFF));
  }
}

template <typename T>
T read_big_endian(std::string_view& in) {
  if (in.size() < sizeof(T)) throw CorruptRecord("record ends inside an integer");
  uint64_t value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value = (value << 8) | static_cast<unsigned char>(in[i]);
  in.remove_prefix(sizeof(T));
  return static_cast<T>(value);
}

inline void append_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

inline uint64_t read_varint(std::string_view& in) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (in.empty()) throw CorruptRecord("record ends inside a length");
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  throw CorruptRecord("length of more than 64 bits");
}

inline std::string_view read_bytes(std::string_view& in, uint64_t count) {
  if (count > in.size()) throw CorruptRecord("record ends inside a string");
  const std::string_view bytes = in.substr(0, count);
  in.remove_prefix(count);
  return bytes;
}

inline void append_string(std::string& out, std::string_view text) {
  append_varint(out, text.size());
  out.append(text);
}

inline std::string_view read_string(std::string_view& in) {
  return read_bytes(in, read_varint(in));
}

// The smallest string that is greater than every string with this prefix; empty if there is none.
inline std::string prefix_end(std::string prefix) {
  while (!prefix.empty()) {
    const auto last = static_cast<unsigned char>(prefix.back());
    if (last != 0xFF) {
      prefix.back() = static_cast<char>(last + 1);
      return prefix;
    }
    prefix.pop_back();
  }
  return prefix;
}

}  // namespace stator
