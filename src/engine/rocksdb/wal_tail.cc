#include "engine/rocksdb/wal_tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
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
  // Of a byte and of those that follow it.
  uint32_t of(uint8_t first, std::string_view bytes) const {
    uint32_t crc = add(~0U, first);
    for (const char c : bytes) crc = add(crc, static_cast<unsigned char>(c));
    return ~crc;
  }

 private:
  uint32_t add(uint32_t crc, uint8_t byte) const { return crc >> 8 ^ table_[(crc ^ byte) & 0xff]; }

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

size_t block_end_of(std::string_view log, size_t at) {
  return std::min(log.size(), (at / kBlockBytes + 1) * kBlockBytes);
}

bool has_checksum(std::string_view log, size_t at, uint8_t type, size_t length) {
  static const Crc32c crc;
  if (at + kHeaderBytes + length > block_end_of(log, at)) return false;
  // The checksum covers the type and the bytes.
  return crc.of(type, log.substr(at + kHeaderBytes, length)) ==
         unmask(little_endian(log.substr(at, 4)));
}

// The fragment at `at` by its header, if that is possible.
std::optional<Fragment> header_at(std::string_view log, size_t at) {
  if (at + kHeaderBytes > block_end_of(log, at)) return std::nullopt;
  const auto type = static_cast<uint8_t>(log[at + 6]);
  if (type < kFull || type > kLast) return std::nullopt;
  const size_t length = little_endian(log.substr(at + 4, 2));
  if (at + kHeaderBytes + length > block_end_of(log, at)) return std::nullopt;
  return Fragment{type, kHeaderBytes + length};
}

// The intact fragment at `at`, if there is one.
std::optional<Fragment> fragment_at(std::string_view log, size_t at) {
  const std::optional<Fragment> fragment = header_at(log, at);
  if (!fragment || !has_checksum(log, at, fragment->type, fragment->bytes - kHeaderBytes))
    return std::nullopt;
  return fragment;
}

// A disk writes sectors whole.
constexpr size_t kSectorBytes = 512;

bool misses_a_sector(std::string_view log, size_t begin, size_t end) {
  for (size_t at = begin; at < end;) {
    const size_t next = std::min(end, (at / kSectorBytes + 1) * kSectorBytes);
    const std::string_view part = log.substr(at, next - at);
    if (std::all_of(part.begin(), part.end(), [](char c) { return c == '\0'; })) return true;
    at = next;
  }
  return false;
}

// Whether the fragment at `at`, which is not intact, was written to its end.
bool was_written_whole(std::string_view log, size_t at) {
  if (at + kHeaderBytes > block_end_of(log, at)) return false;
  if (const std::optional<Fragment> fragment = header_at(log, at))
    return !misses_a_sector(log, at, at + fragment->bytes);
  // Something in the header is not possible: would another type, or another bit of the length, be?
  const auto type = static_cast<uint8_t>(log[at + 6]);
  const size_t length = little_endian(log.substr(at + 4, 2));
  for (uint8_t other = kFull; other <= kLast; ++other) {
    if (has_checksum(log, at, other, length)) return true;
  }
  for (int bit = 0; bit < 16; ++bit) {
    if (has_checksum(log, at, type, length ^ (size_t{1} << bit))) return true;
  }
  return false;
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

// A block of the log begins with a fragment, so that its last one can be read without the rest. One
// that is full was followed by another: then it is not the end that is damaged.
std::string read_last_block(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto bytes = static_cast<size_t>(file.tellg());
  std::string block(bytes % kBlockBytes, '\0');
  file.seekg(static_cast<std::streamoff>(bytes - block.size()));
  if (!file.read(block.data(), static_cast<std::streamsize>(block.size()))) return {};
  return block;
}

}  // namespace

std::vector<uint64_t> log_numbers(const std::filesystem::path& directory) {
  std::vector<uint64_t> numbers;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".log")
      numbers.push_back(std::strtoull(entry.path().stem().c_str(), nullptr, 10));
  }
  if (error) return {};
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::filesystem::path log_path(const std::filesystem::path& directory, uint64_t number) {
  return directory / fmt::format("{:06}.log", number);
}

bool begins_with_record(const std::filesystem::path& log) {
  std::ifstream file(log, std::ios::binary);
  std::string block(kBlockBytes, '\0');
  file.read(block.data(), static_cast<std::streamsize>(block.size()));
  block.resize(static_cast<size_t>(file.gcount()));
  const std::optional<Fragment> fragment = fragment_at(block, 0);
  return fragment && (fragment->type == kFull || fragment->type == kFirst);
}

std::vector<LogDamage> read_logs(const std::filesystem::path& directory, uint64_t first_log) {
  std::vector<uint64_t> logs = log_numbers(directory);
  std::erase_if(logs, [&](uint64_t number) { return number < first_log; });
  // The newest that has something in it: one that was just begun is still empty.
  size_t newest = logs.size();
  std::error_code error;
  while (newest > 0 &&
         std::filesystem::file_size(log_path(directory, logs[newest - 1]), error) == 0)
    --newest;
  std::vector<LogDamage> found;
  for (size_t i = 0; i < logs.size(); ++i) {
    const std::filesystem::path path = log_path(directory, logs[i]);
    const std::string log = read_file(path);
    const size_t damage = first_damage(log);
    LogDamage& one = found.emplace_back();
    one.name = path.filename().string();
    if (damage == log.size()) continue;
    one.damaged_at = damage;
    one.is_torn =
        i + 1 >= newest && !was_written_whole(log, damage) && !record_begins_after(log, damage + 1);
  }
  return found;
}

bool only_last_record_is_torn(const std::filesystem::path& directory, uint64_t first_log) {
  bool torn = false;
  for (const LogDamage& log : read_logs(directory, first_log)) {
    if (log.damaged_at && !log.is_torn) return false;
    torn = torn || log.is_torn;
  }
  return torn;
}

bool last_record_was_altered(const std::filesystem::path& directory) {
  std::vector<uint64_t> logs = log_numbers(directory);
  // A log that was just begun is still empty.
  std::error_code error;
  while (!logs.empty() && std::filesystem::file_size(log_path(directory, logs.back()), error) == 0)
    logs.pop_back();
  if (logs.empty()) return false;
  const std::string block = read_last_block(log_path(directory, logs.back()));
  size_t at = 0;
  while (const std::optional<Fragment> fragment = header_at(block, at))
    at = skip_block_trailer(at + fragment->bytes);
  return at < block.size() && was_written_whole(block, at);
}

}  // namespace stator::engine
