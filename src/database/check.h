// Looks through a data directory that no server uses, and says what is wrong with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace stator {

struct CheckReport {
  uint64_t files = 0;
  uint64_t tables = 0;
  uint64_t items = 0;
  uint64_t index_entries = 0;
  uint64_t stream_records = 0;
  uint64_t backups = 0;
  // One sentence each; of many only the first, since one damage may have many consequences.
  std::vector<std::string> problems;
  uint64_t problem_count = 0;
  // What is as it should be, and worth knowing.
  std::vector<std::string> remarks;
};

// Every checksum, every record, every index entry against its item and every item against its
// entries, every counter against a count, the streams against the tables. Changes nothing. Throws
// engine::EngineError if there is nothing to look at: no data directory, or one that is in use.
CheckReport check_directory(const std::filesystem::path& directory);

}  // namespace stator
