// Tells libFuzzer which code was reached. GCC calls the function below at every branch; libFuzzer
// takes counters of its user's into account if they lie in this section. (Its own way of counting
// needs Clang, and Debian's does not compile C++20 against the standard library of GCC 12.)
#include <cstddef>
#include <cstdint>

namespace {

constexpr size_t kCounters = size_t{1} << 16;

__attribute__((section("__libfuzzer_extra_counters"))) uint8_t counters[kCounters];

// The branch before this one on the same thread: a counter stands for the way from one to the
// other.
thread_local uintptr_t before = 0;

}  // namespace

extern "C" __attribute__((no_sanitize_coverage, no_sanitize("address", "undefined"))) void
__sanitizer_cov_trace_pc() {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  const uintptr_t mixed = (here ^ before) * 0x9E3779B97F4A7C15u;
  before = here >> 1;
  uint8_t& counter = counters[mixed >> 48];
  if (counter < 255) ++counter;
}
