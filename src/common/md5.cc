#include "common/md5.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace stator {

namespace {

constexpr size_t kBlockBytes = 64;
static_assert(std::endian::native == std::endian::little);

struct State {
  uint32_t a = 0x67452301;
  uint32_t b = 0xefcdab89;
  uint32_t c = 0x98badcfe;
  uint32_t d = 0x10325476;
};

// One of the 64 steps of RFC 1321: `f` mixes three words of the state, `x` is a word of the block.
inline uint32_t step(uint32_t a, uint32_t b, uint32_t f, uint32_t x, uint32_t sine, int turn) {
  return b + std::rotl(a + f + x + sine, turn);
}

// The integer parts of 2^32 * |sin(i + 1)|.
constexpr uint32_t kSines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

// Four steps at a time, so that the words of the state change places by name only.
template <typename Mix, typename Word>
inline void round(State& s, const uint32_t (&x)[16], int first, const int (&turns)[4], Mix mix,
                  Word word) {
#pragma GCC unroll 4
  for (int i = first; i < first + 16; i += 4) {
    s.a = step(s.a, s.b, mix(s.b, s.c, s.d), x[word(i)], kSines[i], turns[0]);
    s.d = step(s.d, s.a, mix(s.a, s.b, s.c), x[word(i + 1)], kSines[i + 1], turns[1]);
    s.c = step(s.c, s.d, mix(s.d, s.a, s.b), x[word(i + 2)], kSines[i + 2], turns[2]);
    s.b = step(s.b, s.c, mix(s.c, s.d, s.a), x[word(i + 3)], kSines[i + 3], turns[3]);
  }
}

void add_block(State& state, const unsigned char* block) {
  uint32_t x[16];
  std::memcpy(x, block, kBlockBytes);
  State s = state;
  round(
      s, x, 0, {7, 12, 17, 22},
      [](uint32_t b, uint32_t c, uint32_t d) { return d ^ (b & (c ^ d)); },
      [](int i) { return i & 15; });
  round(
      s, x, 16, {5, 9, 14, 20},
      [](uint32_t b, uint32_t c, uint32_t d) { return c ^ (d & (b ^ c)); },
      [](int i) { return (5 * i + 1) & 15; });
  round(
      s, x, 32, {4, 11, 16, 23}, [](uint32_t b, uint32_t c, uint32_t d) { return b ^ c ^ d; },
      [](int i) { return (3 * i + 5) & 15; });
  round(
      s, x, 48, {6, 10, 15, 21}, [](uint32_t b, uint32_t c, uint32_t d) { return c ^ (b | ~d); },
      [](int i) { return (7 * i) & 15; });
  state.a += s.a;
  state.b += s.b;
  state.c += s.c;
  state.d += s.d;
}

}  // namespace

// Written out here because every key of every request is hashed: the general interface of a
// library costs more than the one block that most keys fill.
std::array<unsigned char, 16> md5(std::initializer_list<std::string_view> parts) {
  State state;
  unsigned char block[kBlockBytes];
  size_t filled = 0;
  uint64_t bytes = 0;
  for (std::string_view part : parts) {
    bytes += part.size();
    while (!part.empty()) {
      const size_t taken = std::min(part.size(), kBlockBytes - filled);
      std::memcpy(block + filled, part.data(), taken);
      part.remove_prefix(taken);
      filled += taken;
      if (filled < kBlockBytes) break;
      add_block(state, block);
      filled = 0;
    }
  }
  block[filled++] = 0x80;
  constexpr size_t kLengthAt = kBlockBytes - sizeof(uint64_t);
  if (filled > kLengthAt) {
    std::memset(block + filled, 0, kBlockBytes - filled);
    add_block(state, block);
    filled = 0;
  }
  std::memset(block + filled, 0, kLengthAt - filled);
  const uint64_t bits = bytes * 8;
  std::memcpy(block + kLengthAt, &bits, sizeof bits);
  add_block(state, block);
  std::array<unsigned char, 16> digest;
  std::memcpy(digest.data(), &state, digest.size());
  return digest;
}

}  // namespace stator
