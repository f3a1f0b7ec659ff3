#include "common/ids.h"

#include <algorithm>

#include "common/system_random.h"

namespace stator {

namespace {

// The finalizer of SplitMix64: every bit of the input changes half of the output's.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

RandomIds::RandomIds() : key0_(system_random()), key1_(system_random()) {}

RandomIds::RandomIds(uint64_t seed) : key0_(mix(seed)), key1_(mix(~seed)) {}

RandomIds::Words RandomIds::draw() {
  const uint64_t count = counter_.fetch_add(1, std::memory_order_relaxed);
  Words words;
  uint64_t state = mix(count ^ key0_);
  for (uint64_t& word : words) {
    state = mix(state + key1_);
    word = state;
  }
  return words;
}

std::string RandomIds::request_id() {
  static constexpr char kAlphabet[] = "0123456789ABCDEFGHIJKLMNOPQRSTUV";
  static constexpr size_t kPerWord = 12;  // twelve times five bits of each word
  const Words words = draw();
  std::string id(kRequestIdSize, '0');
  char* at = id.data();
  size_t left = kRequestIdSize;
  for (uint64_t word : words) {
    for (size_t i = std::min(left, kPerWord); i > 0; --i, --left, word >>= 5)
      *at++ = kAlphabet[word & 31];
  }
  return id;
}

std::string RandomIds::uuid() {
  static constexpr char kHex[] = "0123456789abcdef";
  Words words = draw();
  words[0] = (words[0] & ~0xf000ULL) | 0x4000ULL;        // version 4
  words[1] = (words[1] & ~(3ULL << 62)) | (2ULL << 62);  // variant 10
  std::string id;
  id.reserve(36);
  for (int nibble = 0; nibble < 32; ++nibble) {
    if (nibble == 8 || nibble == 12 || nibble == 16 || nibble == 20) id.push_back('-');
    id.push_back(kHex[(words[nibble / 16] >> (60 - 4 * (nibble % 16))) & 15]);
  }
  return id;
}

uint64_t RandomIds::number() {
  return draw()[0];
}

}  // namespace stator
