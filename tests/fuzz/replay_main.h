// A main() for fuzz targets built without libFuzzer: replays files and folders, then optionally
// mutates them.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace stator::fuzz {

inline constexpr auto kSlow = std::chrono::seconds(1);
inline constexpr size_t kMaxInputBytes = 1 << 16;

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void run_one(const std::string& input) {
  const auto begin = std::chrono::steady_clock::now();
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  if (std::chrono::steady_clock::now() - begin <= kSlow) return;
  std::cerr << "slow input of " << input.size() << " bytes:\n" << input << "\n";
  std::abort();
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
  std::vector<std::string> inputs;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--mutate" && i + 1 < argc) {
      mutations = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
        if (entry.is_regular_file()) inputs.push_back(read_file(entry.path()));
      }
    } else {
      inputs.push_back(read_file(argument));
    }
  }
  if (inputs.empty()) {
    std::cerr << "usage: " << argv[0] << " [--mutate COUNT] FILE|FOLDER...\n";
    return 2;
  }
  for (const std::string& input : inputs) run_one(input);
  std::mt19937_64 random(1);
  for (size_t i = 0; i < mutations; ++i) run_one(mutate(inputs, random));
  std::cout << inputs.size() << " inputs, " << mutations << " mutations\n";
  return 0;
}

}  // namespace stator::fuzz

#ifndef STATOR_LIBFUZZER
int main(int argc, char** argv) {
  return stator::fuzz::replay(argc, argv);
}
#endif
