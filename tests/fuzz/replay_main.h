// A main() for fuzz targets built without libFuzzer: replays files and folders, then optionally
// mutates them, from a seed. What was being read when the process crashed is left in a file, and
// the last line says how to come there again.
#pragma once

#include <unistd.h>

#include <algorithm>
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
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace stator::fuzz {

inline constexpr double kSlowSeconds = 1;
inline constexpr int kSlowTimes = 2;  // and once more
inline constexpr size_t kMaxInputBytes = 1 << 16;

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// What the handler below writes down, in texts that exist before anything goes wrong.
struct Progress {
  const std::string* input = nullptr;  // being read
  std::string run;                     // how to come here again
};

inline Progress& progress() {
  static Progress now;
  return now;
}

inline void say(std::string_view text) {
  const auto written = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(written);
}

// Only what a signal handler may call.
inline void save_and_die(int signal) {
  if (const std::string* input = progress().input) {
    char name[] = "fuzz_crash_XXXXXX";
    const int file = mkstemp(name);
    const bool saved = file >= 0 && write(file, input->data(), input->size()) ==
                                        static_cast<ssize_t>(input->size());
    say("died of ");
    say(progress().run);
    say("; the input is ");
    say(saved ? name : "not kept");
    say("\n");
  }
  std::signal(signal, SIG_DFL);
  raise(signal);
}

// Has `action` run before the statics of libraries end, which threads of it may still use. It may
// run more than once.
inline void (*&last_action())() {
  static void (*action)() = nullptr;
  return action;
}
inline void before_end(void (*action)()) {
  last_action() = action;
  std::atexit(action);  // libFuzzer ends with exit()
}

// Of the process: a machine that is busy with other things makes nothing slow.
inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline double seconds_of(const std::string& input) {
  const double begin = processor_seconds();
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  return processor_seconds() - begin;
}

inline void run_one(const std::string& input) {
  progress().input = &input;
  // Once may be the machine: a virtual one counts what its host took away as used.
  for (int slow = 0; seconds_of(input) > kSlowSeconds; ++slow) {
    if (slow == kSlowTimes) {
      std::cerr << "slow input of " << input.size() << " bytes\n";
      std::abort();
    }
  }
  progress().input = nullptr;
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
  uint64_t seed = 1;
  std::vector<std::string> inputs;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--mutate" && i + 1 < argc) {
      mutations = std::strtoull(argv[++i], nullptr, 10);
    } else if (argument == "--seconds" && i + 1 < argc) {
      seconds = std::strtod(argv[++i], nullptr);
    } else if (argument == "--seed" && i + 1 < argc) {
      const std::string value = argv[++i];
      seed = value == "random" ? std::random_device()() : std::strtoull(value.c_str(), nullptr, 10);
    } else if (std::filesystem::is_directory(argument)) {
      std::vector<std::filesystem::path> files;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
        if (entry.is_regular_file()) files.push_back(entry.path());
      }
      std::sort(files.begin(), files.end());  // a seed means the same on every machine
      for (const auto& file : files) inputs.push_back(read_file(file));
    } else {
      inputs.push_back(read_file(argument));
    }
  }
  if (inputs.empty()) {
    std::cerr << "usage: " << argv[0]
              << " [--mutate COUNT | --seconds SECONDS] [--seed SEED|random] FILE|FOLDER...\n";
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, save_and_die);
  }
  std::cerr << "seed " << seed << "\n";
  const std::string options = " --seed " + std::to_string(seed) + " --mutate ";
  progress().run = argv[0] + options + "0";
  for (const std::string& input : inputs) run_one(input);
  std::mt19937_64 random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  size_t done = 0;
  while (done < mutations || std::chrono::steady_clock::now() < end) {
    ++done;
    progress().run = argv[0] + options + std::to_string(done);
    run_one(mutate(inputs, random));
  }
  if (last_action() != nullptr) last_action()();
  std::cout << inputs.size() << " inputs, " << done << " mutations\n";
  return 0;
}

}  // namespace stator::fuzz

#ifndef STATOR_LIBFUZZER
int main(int argc, char** argv) {
  return stator::fuzz::replay(argc, argv);
}
#endif
