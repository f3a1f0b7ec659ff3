#include "engine/rocksdb/log_order.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <utility>

#include "engine/rocksdb/wal_tail.h"

namespace stator::engine {

namespace {

// A batch begins with the number of its first row, 8 bytes, the least significant first.
uint64_t first_row(const rocksdb::WriteBatch& batch) {
  const std::string& bytes = batch.Data();
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

LogOrder::LogOrder(std::filesystem::path directory, AtGap at_gap, bool unflushed)
    : directory_(std::move(directory)),
      at_gap_(at_gap),
      logs_(unflushed ? log_numbers(directory_) : std::vector<uint64_t>()) {}

void LogOrder::ColumnFamilyLogNumberMap(const std::map<uint32_t, uint64_t>& first_logs,
                                        const std::map<std::string, uint32_t>&) {
  if (!first_logs.empty()) first_log_ = first_logs.begin()->second;
}

rocksdb::WalFilter::WalProcessingOption LogOrder::LogRecordFound(unsigned long long log,
                                                                 const std::string&,
                                                                 const rocksdb::WriteBatch& batch,
                                                                 rocksdb::WriteBatch*, bool*) {
  if (log < first_log_) return WalProcessingOption::kContinueProcessing;
  const uint64_t first = first_row(batch);
  if ((log != current_log_ && is_gap_before(log)) || (next_ && first != *next_)) {
    found_gap_ = true;
    return at_gap_ == AtGap::kEnd ? WalProcessingOption::kStopReplay
                                  : WalProcessingOption::kCorruptedRecord;
  }
  current_log_ = log;
  next_ = first + batch.Count();
  return WalProcessingOption::kContinueProcessing;
}

// Whether something is missing before the first record that was found in a log.
bool LogOrder::is_gap_before(unsigned long long log) {
  const uint64_t from = std::max(first_log_, current_log_ + 1);
  // A log is begun when the one before has something in it.
  for (const uint64_t other : logs_) {
    if (other >= from && other < log) return true;
  }
  return !begins_with_record(log_path(directory_, log));
}

}  // namespace stator::engine
