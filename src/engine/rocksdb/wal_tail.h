// Tells a log that the machine's end cut off from a log that is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace stator::engine {

// A commit writes one record to the log and waits for its flush before the next one is written. So
// when the machine stops, only the last record of the newest log can be incomplete, in any of its
// parts. True if that explains every damage that the newest log in `directory` has: nothing that
// was acknowledged is behind it.
// Logs before `first_log` are not needed any more.
bool only_last_record_is_torn(const std::filesystem::path& directory, uint64_t first_log);

// A machine that stops leaves parts of the last record unwritten: missing, or zeros of whole
// sectors. True if the last record of the newest log has all its parts and is still not what was
// written: then it was acknowledged, and changed later. RocksDB takes such a record for a torn one
// if its length was hit. Reads at most 32 KB.
bool last_record_was_altered(const std::filesystem::path& directory);

// What a log looks like from its first byte to its last.
struct LogDamage {
  std::string name;
  std::optional<size_t> damaged_at;  // the first byte of the first record that is not intact
  // Only the last record is concerned, which was never written whole and so never acknowledged.
  bool is_torn = false;
};
// Of every log in `directory` from `first_log` on, the oldest first.
std::vector<LogDamage> read_logs(const std::filesystem::path& directory, uint64_t first_log);

// The numbers of the logs in `directory`, in their order, and the path of one.
std::vector<uint64_t> log_numbers(const std::filesystem::path& directory);
std::filesystem::path log_path(const std::filesystem::path& directory, uint64_t number);
// Whether the first bytes of a log are an intact part of a record.
bool begins_with_record(const std::filesystem::path& log);

}  // namespace stator::engine
