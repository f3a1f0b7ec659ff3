// Sees that nothing is missing between two records of the log while it is replayed.
#pragma once

#include <rocksdb/wal_filter.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stator::engine {

// RocksDB numbers every row that is written, so a record begins with the number after the last one
// of the record before. It does not look at that itself: a part of a log that reads as zeros, the
// end of a log that is followed by another, or a log in the middle may be gone without notice.
class LogOrder final : public rocksdb::WalFilter {
 public:
  // What to do at a gap: end there, as if nothing had been written after it, or refuse.
  enum class AtGap { kEnd, kRefuse };
  // `unflushed` if logs were not flushed to disk: then one may have lost all that it had, although
  // the next one has not.
  LogOrder(std::filesystem::path directory, AtGap at_gap, bool unflushed);

  bool found_gap() const { return found_gap_; }
  // What is in older logs is in data files too. 0 until the replay has begun.
  uint64_t first_log() const { return first_log_; }

  static const char* kClassName() { return "LogOrder"; }
  const char* Name() const override { return kClassName(); }
  void ColumnFamilyLogNumberMap(const std::map<uint32_t, uint64_t>& first_logs,
                                const std::map<std::string, uint32_t>& names) override;
  WalProcessingOption LogRecordFound(unsigned long long log, const std::string& file,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch* changed,
                                     bool* is_changed) override;

 private:
  bool is_gap_before(unsigned long long log);

  const std::filesystem::path directory_;
  const AtGap at_gap_;
  const std::vector<uint64_t> logs_;  // that should have records if a later one has
  uint64_t first_log_ = 0;
  uint64_t current_log_ = 0;
  std::optional<uint64_t> next_;
  bool found_gap_ = false;
};

}  // namespace stator::engine
