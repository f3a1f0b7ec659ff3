// A main() for fuzz targets built without libFuzzer: replays files and folders, then optionally
// mutates them. What was being read when the process crashed is left in a file.
#pragma once

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace stator::fuzz {

inline constexpr double kSlowSeconds = 1;
inline constexpr size_t kMaxInputBytes = 1 << 16;

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// What the handler below writes down.
inline const std::string*& current_input() {
  static const std::string* input = nullptr;
  return input;
}

// Only what a signal handler may call.
inline void save_and_die(int signal) {
  if (const std::string* input = current_input()) {
    char name[] = "fuzz_crash_XXXXXX";
    const int file = mkstemp(name);
    const bool saved = file >= 0 && write(file, input->data(), input->size()) >= 0;
    const bool said =
        write(STDERR_FILENO, name, sizeof(name) - 1) > 0 &&
        write(STDERR_FILENO, saved ? " has the input\n" : " was not written\n", 15) > 0;
    if (said) fsync(file);
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// Of the process: a machine that is busy with other things makes nothing slow.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline void run_one(const std::string& input) {
  current_input() = &input;
  const double begin = processor_seconds();
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  if (processor_seconds() - begin > kSlowSeconds) {
    std::cerr << "slow input of " << input.size() << " bytes\n";
    std::abort();
  }
  current_input() = nullptr;
}

// A few small edits: bytes changed, taken out or doubled, and parts of other inputs put in.
inline std::string mutate(const std::vector<std::string>& inputs, std::mt19937_64& random) {
  const auto below = [&](size_t bound) { return bound == 0 ? 0 : random() % bound; };
  std::string text = inputs[below(inputs.size())];
  for (size_t edits = 1 + below(4); edits > 0; --edits) {
    const size_t at = below(text.size() + 1);
    const size_t length = below(std::min<size_t>(text.size() - at, 16) + 1);
    switch (below(5)) {
      case 0:
        text.insert(at, 1, static_cast<char>(random()));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3: {
        const std::string& other = inputs[below(inputs.size())];
        text.insert(at, other.substr(below(other.size() + 1), below(32)));
        break;
      }
      default: {
        std::string many;
        for (size_t times = below(400); times > 0; --times) many += text.substr(at, length);
        text.insert(at, many);
        break;
      }
    }
    if (text.size() > kMaxInputBytes) text.resize(kMaxInputBytes);
  }
  return text;
}

inline int replay(int argc, char** argv) {
  size_t mutations = 0;
  double seconds = 0;
  uint64_t seed = std::random_device()();
  std::vector<std::string> inputs;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--mutate" && i + 1 < argc) {
      mutations = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--seconds" && i + 1 < argc) {
      seconds = std::strtod(argv[++i], nullptr);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
        if (entry.is_regular_file()) inputs.push_back(read_file(entry.path()));
      }
    } else {
      inputs.push_back(read_file(argument));
    }
  }
  if (inputs.empty()) {
    std::cerr << "usage: " << argv[0]
              << " [--mutate COUNT | --seconds SECONDS] [--seed SEED] FILE|FOLDER...\n";
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, save_and_die);
  }
  std::cerr << "seed " << seed << "\n";
  for (const std::string& input : inputs) run_one(input);
  std::mt19937_64 random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  size_t done = 0;
  while (done < mutations || std::chrono::steady_clock::now() < end) {
    run_one(mutate(inputs, random));
    ++done;
  }
  std::cout << inputs.size() << " inputs, " << done << " mutations\n";
  return 0;
}

}  // namespace stator::fuzz

#ifndef STATOR_LIBFUZZER
int main(int argc, char** argv) {
  return stator::fuzz::replay(argc, argv);
}
#endif
