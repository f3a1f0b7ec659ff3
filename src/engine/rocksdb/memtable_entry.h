// How RocksDB lays out an entry of a memtable: the length of its internal key as a varint, the key,
// 8 bytes of sequence number and kind (the higher the newer), then the value. Internal to the
// engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/words.h"

namespace stator::engine {

inline constexpr size_t kVersionBytes = 8;
inline constexpr int kKindBits = 8;  // the lowest of them

inline std::string_view internal_key_of(const char* entry) {
  uint32_t length = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(*entry++);
    length |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return {entry, length};
  }
}

inline std::string_view key_of(std::string_view internal_key) {
  return internal_key.substr(0, internal_key.size() - kVersionBytes);
}

inline uint64_t version_of(std::string_view internal_key) {
  return load_8_bytes(internal_key.data() + internal_key.size() - kVersionBytes);
}

}  // namespace stator::engine
