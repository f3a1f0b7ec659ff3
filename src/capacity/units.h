// How many capacity units reads and writes cost. Only arithmetic; throttle.h has the buckets that
// run dry.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stator::capacity {

// One unit for each started KB, at least one.
inline double write_units(size_t bytes) {
  const size_t kilobytes = (bytes + 1023) / 1024;
  return static_cast<double>(kilobytes == 0 ? 1 : kilobytes);
}

// One unit for each started 4 KB, half of it for an eventually consistent read, at least one 4 KB.
inline double read_units(size_t bytes, bool consistent) {
  const size_t blocks = (bytes + 4095) / 4096;
  return static_cast<double>(blocks == 0 ? 1 : blocks) * (consistent ? 1.0 : 0.5);
}

}  // namespace stator::capacity
