// Text eight bytes at a time.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace stator {

inline uint64_t load_8_bytes(const char* bytes) {
  static_assert(std::endian::native == std::endian::little);
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

}  // namespace stator
