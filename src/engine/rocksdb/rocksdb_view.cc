#include "engine/rocksdb/rocksdb_view.h"

#include <rocksdb/iterator.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "common/waits.h"
#include "engine/rocksdb/indexed_memtable.h"
#include "engine/rocksdb/no_wait.h"

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

// Adds rows of `range`, behind those that are there. False if NoWait ended it before the limit.
bool add_rows(rocksdb::DB& db, const rocksdb::Snapshot* snapshot, const Range& range,
              Direction direction, const ScanLimit& limit, Rows& rows) {
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
  for (;;) {
    if (NoWait::has_ended_read()) return false;
    if (!it->Valid()) break;
    const rocksdb::Slice key = it->key();
    const rocksdb::Slice value = it->value();
    const size_t bytes = rows.bytes() + key.size() + value.size();
    if (!rows.empty() && (rows.size() >= limit.rows || bytes > limit.bytes)) {
      rows.set_more(true);
      return true;
    }
    rows.append({key.data(), key.size()}, {value.data(), value.size()});
    if (forward) {
      it->Next();
    } else {
      it->Prev();
    }
  }
  if (!it->status().ok()) throw_status("The store cannot be read", it->status());
  return true;
}

// What of `range` comes after `rows`.
void go_on_behind(const Rows& rows, Direction direction, Range& range) {
  if (rows.empty()) return;
  const std::string_view last = rows.key(rows.size() - 1);
  if (direction == Direction::kForward) {
    range.begin = std::string(last) + '\0';
  } else {
    range.end = std::string(last);
  }
}

}  // namespace

Rows read_rows(rocksdb::DB& db, const rocksdb::Snapshot* snapshot, const Range& range,
               Direction direction, const ScanLimit& limit) {
  Rows rows;
  add_rows(db, snapshot, range, direction, limit, rows);
  return rows;
}

bool RocksdbView::add_rows_in_memory(const Range& range, Direction direction,
                                     const ScanLimit& limit, Rows& rows) {
  const NoWait no_wait;
  return add_rows(store_.db(), snapshot_, range, direction, limit, rows);
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
  if (store_.reads_can_end()) {
    const bool all = add_rows_in_memory(range, direction, limit, rows);
    if (all) co_return rows;
    go_on_behind(rows, direction, range);
    if (range.begin >= range.end) co_return rows;
  }
  Executor* const home = Executor::current();
  OwnWaits own_waits;
  Waits* const waits = co_await own_waits;
  WaitTimer reading(waits, &Waits::disk_us);
  SwitchTo to_reader(&readers_);
  co_await to_reader;
  std::exception_ptr error;
  try {
    add_rows(store_.db(), snapshot_, range, direction, limit, rows);
  } catch (...) {
    error = std::current_exception();
  }
  SwitchTo to_home(home);
  co_await to_home;
  if (error) std::rethrow_exception(error);
  co_return rows;
}

}  // namespace stator::engine
