#include "engine/rocksdb/log_order.h"

#include <rocksdb/write_batch.h>

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
  if (next_ && first != *next_) {
    found_gap_ = true;
    return ends_at_gap_ ? WalProcessingOption::kStopReplay : WalProcessingOption::kCorruptedRecord;
  }
  next_ = first + batch.Count();
  return WalProcessingOption::kContinueProcessing;
}

}  // namespace stator::engine
