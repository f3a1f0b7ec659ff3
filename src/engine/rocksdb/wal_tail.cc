#include "engine/rocksdb/wal_tail.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace stator::engine {

namespace {

// The log's format: blocks of 32 KB, each a sequence of fragments that do not cross its end. A
// fragment is a checksum (4 bytes), a length (2) and a type (1), then the bytes. A record is one
// fragment, or a first, some middle and a last one.
constexpr size_t kBlockBytes = 32 * 1024;
constexpr size_t kHeaderBytes = 7;
enum FragmentType : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

class Crc32c {
 public:
  Crc32c() {
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78U : crc >> 1;
      table_[i] = crc;
    }
  }
  uint32_t of(std::string_view bytes) const {
    uint32_t crc = ~0U;
    for (const char c : bytes)
      crc = crc >> 8 ^ table_[(crc ^ static_cast<unsigned char>(c)) & 0xff];
    return ~crc;
  }

 private:
  std::array<uint32_t, 256> table_;
};

uint32_t little_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Checksums are stored rotated and shifted, so that a checksum of bytes with checksums in them is
// still a good one.
uint32_t unmask(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8U;
  return rotated >> 17 | rotated << 15;
}

struct Fragment {
  uint8_t type;
  size_t bytes;  // with its header
};

// The intact fragment at `at`, if there is one.
std::optional<Fragment> fragment_at(std::string_view log, size_t at) {
  static const Crc32c crc;
  const size_t block_end = std::min(log.size(), (at / kBlockBytes + 1) * kBlockBytes);
  if (at + kHeaderBytes > block_end) return std::nullopt;
  const auto type = static_cast<uint8_t>(log[at + 6]);
  if (type < kFull || type > kLast) return std::nullopt;
  const size_t length = little_endian(log.substr(at + 4, 2));
  if (at + kHeaderBytes + length > block_end) return std::nullopt;
  // The checksum covers the type and the bytes.
  if (crc.of(log.substr(at + 6, 1 + length)) != unmask(little_endian(log.substr(at, 4))))
    return std::nullopt;
  return Fragment{type, kHeaderBytes + length};
}

size_t skip_block_trailer(size_t at) {
  const size_t left = kBlockBytes - at % kBlockBytes;
  return left < kHeaderBytes ? at + left : at;
}

// Where the first fragment is that is not intact; the size of the log if all are.
size_t first_damage(std::string_view log) {
  size_t at = 0;
  while (at < log.size()) {
    const std::optional<Fragment> fragment = fragment_at(log, at);
    if (!fragment) return at;
    at = skip_block_trailer(at + fragment->bytes);
  }
  return log.size();
}

bool record_begins_after(std::string_view log, size_t at) {
  for (; at + kHeaderBytes <= log.size(); ++at) {
    const auto type = static_cast<uint8_t>(log[at + 6]);
    if (type != kFull && type != kFirst) continue;
    if (fragment_at(log, at)) return true;
  }
  return false;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

bool only_last_record_is_torn(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> logs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".log") logs.push_back(entry.path());
  }
  if (error || logs.empty()) return false;
  // Their names are numbers of the same width, or longer ones.
  std::sort(logs.begin(), logs.end(),
            [](const std::filesystem::path& a, const std::filesystem::path& b) {
              const std::string& left = a.native();
              const std::string& right = b.native();
              return left.size() != right.size() ? left.size() < right.size() : left < right;
            });
  for (size_t i = 0; i + 1 < logs.size(); ++i) {
    const std::string log = read_file(logs[i]);
    if (first_damage(log) != log.size()) return false;
  }
  const std::string newest = read_file(logs.back());
  const size_t damage = first_damage(newest);
  return damage != newest.size() && !record_begins_after(newest, damage + 1);
}

}  // namespace stator::engine
