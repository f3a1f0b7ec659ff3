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

// Rows of `range` in `db`, as of `snapshot` or the newest. Throws EngineError.
Rows read_rows(rocksdb::DB& db, const rocksdb::Snapshot* snapshot, const Range& range,
               Direction direction, const ScanLimit& limit);

// Reads what is in memory at once, the system's too; what is not, on the reader pool.
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
  // As far as it goes without waiting for a disk. True if that is all there is to read.
  bool add_rows_in_memory(const Range& range, Direction direction, const ScanLimit& limit,
                          Rows& rows);

  Store& store_;
  ThreadPool& readers_;
  const rocksdb::Snapshot* const snapshot_;
};

}  // namespace stator::engine
