#include "common/md5.h"

#include <openssl/evp.h>

#include <memory>
#include <stdexcept>

namespace stator {

std::array<unsigned char, 16> md5(std::initializer_list<std::string_view> parts) {
  // Looking an algorithm up costs more than hashing a key, so it is done once.
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "MD5", nullptr);
  thread_local const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::array<unsigned char, 16> digest{};
  if (algorithm == nullptr || EVP_DigestInit_ex2(context.get(), algorithm, nullptr) != 1) {
    throw std::runtime_error("MD5 is not available");
  }
  for (const std::string_view part : parts)
    EVP_DigestUpdate(context.get(), part.data(), part.size());
  EVP_DigestFinal_ex(context.get(), digest.data(), nullptr);
  return digest;
}

}  // namespace stator
