// Random identifiers: request ids and UUIDs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace stator {

// Thread-safe. Unique for practical purposes, not secret: do not use it for keys or passwords.
class RandomIds {
 public:
  static constexpr size_t kRequestIdSize = 52;

  // Seeded by the operating system.
  RandomIds();
  // A fixed sequence, for tests.
  explicit RandomIds(uint64_t seed);

  // Fifty-two characters of 0-9A-V, the form of the service's x-amzn-RequestId.
  std::string request_id();
  // "9b2b8f6e-6a8f-4f0e-9d5b-0a1b2c3d4e5f" (version 4).
  std::string uuid();
  uint64_t number();

 private:
  using Words = std::array<uint64_t, 5>;
  Words draw();

  uint64_t key0_;
  uint64_t key1_;
  std::atomic<uint64_t> counter_{0};
};

}  // namespace stator
