// How far a command has come, in a small file, so that it goes on where it was interrupted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace stator::moving {

struct PartState {
  std::string position;  // empty: from the beginning
  bool finished = false;
};

struct Checkpoint {
  std::string what;  // names the work; that of another is not gone on with
  uint64_t items = 0;
  std::vector<PartState> parts;
  std::vector<std::string> notes;  // of the command's own
};

// Nothing (no parts) if there is no such file. Throws std::runtime_error if it belongs to other
// work or cannot be read.
Checkpoint read_checkpoint(const std::filesystem::path& path, const std::string& what);
// Replaces the file as a whole. Throws std::runtime_error.
void write_checkpoint(const std::filesystem::path& path, const Checkpoint& checkpoint);

}  // namespace stator::moving
