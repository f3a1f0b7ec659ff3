#include "common/system_random.h"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace stator {

uint64_t system_random() {
  uint64_t word = 0;
  if (::getrandom(&word, sizeof word, 0) != sizeof word)
    throw std::system_error(errno, std::generic_category(), "getrandom");
  return word;
}

}  // namespace stator
