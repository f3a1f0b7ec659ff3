// Tells libFuzzer which code was reached. GCC calls the function below at every branch; libFuzzer
// takes counters of its user's into account if they lie in this section. (Its own way of counting
// needs Clang, and Debian's does not compile C++20 against the standard library of GCC 12.)
#include <cstddef>
#include <cstdint>

extern "C" const char __executable_start;  // where the program was loaded; the linker's

namespace {

constexpr size_t kCounters = size_t{1} << 16;

__attribute__((section("__libfuzzer_extra_counters"))) uint8_t counters[kCounters];

// Only what the thread of the fuzzer does: what goes on in the background comes at other moments in
// every run.
thread_local bool counts = false;
// The branch before this one: a counter stands for the way from one to the other.
thread_local uintptr_t before = 0;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  counts = true;
  return 0;
}

extern "C" __attribute__((no_sanitize_coverage, no_sanitize("address", "undefined"))) void
__sanitizer_cov_trace_pc() {
  if (!counts) return;
  const auto here = reinterpret_cast<uintptr_t>(__builtin_return_address(0)) -
                    reinterpret_cast<uintptr_t>(&__executable_start);
  const uintptr_t mixed = (here ^ before) * 0x9E3779B97F4A7C15u;
  before = here >> 1;
  uint8_t& counter = counters[mixed >> 48];
  if (counter < 255) ++counter;
}

// GCC also tells of comparisons of floating-point numbers, which libFuzzer does not take.
extern "C" __attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_cmpf(float, float) {}
extern "C" __attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_cmpd(double, double) {}
