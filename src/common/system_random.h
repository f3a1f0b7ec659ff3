// Random bits from the operating system.
#pragma once

#include <cstdint>

namespace stator {

// Not std::random_device, which asks the processor what it can do: on a virtual machine that takes
// a good part of a start. Throws std::system_error.
uint64_t system_random();

}  // namespace stator
