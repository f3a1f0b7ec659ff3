// Sees that nothing is missing between two records of the log while it is replayed.
#pragma once

#include <rocksdb/wal_filter.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace stator::engine {

// RocksDB numbers every row that is written, so a record begins with the number after the last one
// of the record before. It does not look at that itself: a part of a log that reads as zeros, the
// end of a log that is followed by another, or a log in the middle may be gone without notice.
class LogOrder final : public rocksdb::WalFilter {
 public:
  // What to do at a gap: end there, as if nothing had been written after it, or refuse.
  explicit LogOrder(bool ends_at_gap) : ends_at_gap_(ends_at_gap) {}

  bool found_gap() const { return found_gap_; }

  static const char* kClassName() { return "LogOrder"; }
  const char* Name() const override { return kClassName(); }
  void ColumnFamilyLogNumberMap(const std::map<uint32_t, uint64_t>& first_logs,
                                const std::map<std::string, uint32_t>& names) override;
  WalProcessingOption LogRecordFound(unsigned long long log, const std::string& file,
                                     const rocksdb::WriteBatch& batch, rocksdb::WriteBatch* changed,
                                     bool* is_changed) override;

 private:
  const bool ends_at_gap_;
  uint64_t first_log_ = 0;  // older ones are in files already
  std::optional<uint64_t> next_;
  bool found_gap_ = false;
};

}  // namespace stator::engine
