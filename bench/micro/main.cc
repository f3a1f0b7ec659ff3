// Micro-benchmarks: times with Google Benchmark, or a fixed number of runs of one case, so that an
// instruction counter can look at it (see bench/instructions.py).
//
//   bench_micro [Google Benchmark's flags]
//   bench_micro --list
//   bench_micro --run NAME TIMES
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cases.h"

int main(int argc, char** argv) {
  using stator::bench::Case;
  using stator::bench::cases;
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--list") {
    for (const Case& one : cases()) std::printf("%s\n", one.name.c_str());
    return 0;
  }
  if (first == "--run" && argc == 4) {
    for (const Case& one : cases()) {
      if (one.name != argv[2]) continue;
      const auto body = one.make();
      for (long left = std::atol(argv[3]); left > 0; --left) body();
      return 0;
    }
    std::fprintf(stderr, "bench_micro: no case '%s'\n", argv[2]);
    return 2;
  }
  for (const Case& one : cases()) {
    benchmark::RegisterBenchmark(one.name.c_str(), [&one](benchmark::State& state) {
      const auto body = one.make();
      for (auto _ : state) body();
    });
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
