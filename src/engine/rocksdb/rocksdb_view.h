// A view of the rocksdb engine: a snapshot of the store.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/thread_pool.h"
#include "engine/engine.h"
#include "engine/rocksdb/store.h"

namespace stator::engine {

// Reads what is in memory at once; what is not, on the reader pool. Scans go there as soon as the
// store has files: in RocksDB before 8.6 an iterator that must not wait for a disk may leave rows
// out where it would have to.
class RocksdbView final : public View {
 public:
  RocksdbView(Store& store, ThreadPool& readers);
  ~RocksdbView() override;
  RocksdbView(const RocksdbView&) = delete;
  RocksdbView& operator=(const RocksdbView&) = delete;

  Task<std::optional<std::string>> get(std::string_view key) override;
  Task<std::vector<std::optional<std::string>>> get_many(
      const std::vector<std::string>& keys) override;
  Task<Rows> scan(Range range, Direction direction, ScanLimit limit) override;
  // As scan, in the engine's own space too.
  Task<Rows> scan_all(Range range, Direction direction, ScanLimit limit);

 private:
  bool read(bool cached, std::string_view key, std::optional<std::string>& value) const;
  Rows read_rows(const Range& range, Direction direction, const ScanLimit& limit) const;

  Store& store_;
  ThreadPool& readers_;
  const rocksdb::Snapshot* const snapshot_;
};

}  // namespace stator::engine
