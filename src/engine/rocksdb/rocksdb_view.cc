#include "engine/rocksdb/rocksdb_view.h"

#include <rocksdb/iterator.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "common/waits.h"
#include "engine/rocksdb/indexed_memtable.h"

namespace stator::engine {

RocksdbView::RocksdbView(Store& store, ThreadPool& readers)
    : store_(store), readers_(readers), snapshot_(store.db().GetSnapshot()) {}

RocksdbView::~RocksdbView() {
  store_.db().ReleaseSnapshot(snapshot_);
}

// False if the value is not in memory and only that was asked for.
bool RocksdbView::read(bool cached, std::string_view key, std::optional<std::string>& value) const {
  std::string bytes;
  const Store::Found found = store_.get(cached, snapshot_, key, bytes);
  if (found == Store::Found::kNotInMemory) return false;
  value.reset();
  if (found == Store::Found::kValue) value = std::move(bytes);
  return true;
}

Task<std::optional<std::string>> RocksdbView::get(std::string_view key) {
  std::optional<std::string> value;
  if (read(true, key, value)) co_return value;
  Executor* const home = Executor::current();
  OwnWaits own_waits;
  Waits* const waits = co_await own_waits;
  WaitTimer reading(waits, &Waits::disk_us);
  if (store_.file_reads().are_quick()) {
    read(false, key, value);
    co_return value;
  }
  SwitchTo to_reader(&readers_);
  co_await to_reader;
  std::exception_ptr error;
  try {
    read(false, key, value);
  } catch (...) {
    error = std::current_exception();
  }
  SwitchTo to_home(home);
  co_await to_home;
  if (error) std::rethrow_exception(error);
  co_return value;
}

Task<std::vector<std::optional<std::string>>> RocksdbView::get_many(
    const std::vector<std::string>& keys) {
  std::vector<std::optional<std::string>> values(keys.size());
  std::vector<size_t> missing;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!read(true, keys[i], values[i])) missing.push_back(i);
  }
  if (missing.empty()) co_return values;
  Executor* const home = Executor::current();
  OwnWaits own_waits;
  Waits* const waits = co_await own_waits;
  WaitTimer reading(waits, &Waits::disk_us);
  if (store_.file_reads().are_quick()) {
    for (const size_t i : missing) read(false, keys[i], values[i]);
    co_return values;
  }
  SwitchTo to_reader(&readers_);
  co_await to_reader;
  std::exception_ptr error;
  try {
    for (const size_t i : missing) read(false, keys[i], values[i]);
  } catch (...) {
    error = std::current_exception();
  }
  SwitchTo to_home(home);
  co_await to_home;
  if (error) std::rethrow_exception(error);
  co_return values;
}

namespace {

std::unique_ptr<rocksdb::Iterator> make_iterator(rocksdb::DB& db,
                                                 const rocksdb::ReadOptions& options) {
  std::optional<ReadingAt> reading;
  if (options.snapshot != nullptr) reading.emplace(options.snapshot->GetSequenceNumber());
  return std::unique_ptr<rocksdb::Iterator>(db.NewIterator(options));
}

}  // namespace

Rows read_rows(rocksdb::DB& db, const rocksdb::Snapshot* snapshot, const Range& range,
               Direction direction, const ScanLimit& limit) {
  const rocksdb::Slice lower(range.begin);
  const rocksdb::Slice upper(range.end);
  rocksdb::ReadOptions options;
  options.snapshot = snapshot;
  options.iterate_lower_bound = &lower;
  options.iterate_upper_bound = &upper;
  const std::unique_ptr<rocksdb::Iterator> it = make_iterator(db, options);
  const bool forward = direction == Direction::kForward;
  if (forward) {
    it->SeekToFirst();
  } else {
    it->SeekToLast();
  }
  Rows rows;
  while (it->Valid()) {
    const rocksdb::Slice key = it->key();
    const rocksdb::Slice value = it->value();
    const size_t bytes = rows.bytes() + key.size() + value.size();
    if (!rows.empty() && (rows.size() >= limit.rows || bytes > limit.bytes)) {
      rows.set_more(true);
      return rows;
    }
    rows.append({key.data(), key.size()}, {value.data(), value.size()});
    if (forward) {
      it->Next();
    } else {
      it->Prev();
    }
  }
  if (!it->status().ok()) throw_status("The store cannot be read", it->status());
  return rows;
}

Task<Rows> RocksdbView::scan(Range range, Direction direction, ScanLimit limit) {
  if (range.end > kReservedPrefix) range.end = kReservedPrefix;
  return scan_all(std::move(range), direction, limit);
}

Task<Rows> RocksdbView::scan_all(Range range, Direction direction, ScanLimit limit) {
  Rows rows;
  if (range.begin >= range.end) co_return rows;
  if (store_.scans_stay_in_memory()) {
    rows = read_rows(store_.db(), snapshot_, range, direction, limit);
    co_return rows;
  }
  Executor* const home = Executor::current();
  OwnWaits own_waits;
  Waits* const waits = co_await own_waits;
  WaitTimer reading(waits, &Waits::disk_us);
  if (store_.file_reads().are_quick()) {
    const FileReads::Watch watch(store_.file_reads());
    rows = read_rows(store_.db(), snapshot_, range, direction, limit);
    co_return rows;
  }
  SwitchTo to_reader(&readers_);
  co_await to_reader;
  std::exception_ptr error;
  try {
    const FileReads::Watch watch(store_.file_reads());
    rows = read_rows(store_.db(), snapshot_, range, direction, limit);
  } catch (...) {
    error = std::current_exception();
  }
  SwitchTo to_home(home);
  co_await to_home;
  if (error) std::rethrow_exception(error);
  co_return rows;
}

}  // namespace stator::engine
