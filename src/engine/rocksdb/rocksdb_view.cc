#include "engine/rocksdb/rocksdb_view.h"

#include <rocksdb/iterator.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace stator::engine {

RocksdbView::RocksdbView(Store& store, ThreadPool& readers)
    : store_(store), readers_(readers), snapshot_(store.db().GetSnapshot()) {}

RocksdbView::~RocksdbView() { store_.db().ReleaseSnapshot(snapshot_); }

rocksdb::ReadOptions RocksdbView::options(bool cached) const {
  rocksdb::ReadOptions options = cached ? store_.cached_read() : store_.full_read();
  options.snapshot = snapshot_;
  return options;
}

// False if the value is not in memory and only that was asked for.
bool RocksdbView::read(bool cached, std::string_view key, std::optional<std::string>& value) const {
  std::string bytes;
  const rocksdb::Status status =
      store_.db().Get(options(cached), rocksdb::Slice(key.data(), key.size()), &bytes);
  if (cached && status.IsIncomplete()) return false;
  if (status.IsNotFound()) {
    value.reset();
    return true;
  }
  if (!status.ok()) throw_status("The store cannot be read", status);
  value = std::move(bytes);
  return true;
}

Task<std::optional<std::string>> RocksdbView::get(std::string_view key) {
  std::optional<std::string> value;
  if (read(true, key, value)) co_return value;
  Executor* const home = Executor::current();
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

Task<std::vector<std::optional<std::string>>> RocksdbView::get_many(const std::vector<std::string>& keys) {
  std::vector<std::optional<std::string>> values(keys.size());
  std::vector<size_t> missing;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!read(true, keys[i], values[i])) missing.push_back(i);
  }
  if (missing.empty()) co_return values;
  Executor* const home = Executor::current();
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

// Adds the rows of `range` to `rows` up to `limit`. False if the next one is not in memory and only that was asked for.
bool RocksdbView::read_rows(bool cached, const Range& range, Direction direction, const ScanLimit& limit,
                            Rows& rows) const {
  const rocksdb::Slice lower(range.begin);
  const rocksdb::Slice upper(range.end);
  rocksdb::ReadOptions read = options(cached);
  read.iterate_lower_bound = &lower;
  read.iterate_upper_bound = &upper;
  const std::unique_ptr<rocksdb::Iterator> it(store_.db().NewIterator(read));
  const bool forward = direction == Direction::kForward;
  if (forward) {
    it->SeekToFirst();
  } else {
    it->SeekToLast();
  }
  while (it->Valid()) {
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
  const rocksdb::Status status = it->status();
  if (status.ok()) return true;
  if (!cached || !status.IsIncomplete()) throw_status("The store cannot be read", status);
  // A full page needs no look at what is behind it.
  if (rows.empty() || (rows.size() < limit.rows && rows.bytes() < limit.bytes)) return false;
  rows.set_more(true);
  return true;
}

Task<Rows> RocksdbView::scan(Range range, Direction direction, ScanLimit limit) {
  Rows rows;
  if (range.end > kReservedPrefix) range.end = kReservedPrefix;
  if (range.begin >= range.end) co_return rows;
  if (read_rows(true, range, direction, limit, rows)) co_return rows;
  // Goes on behind the last row that was in memory.
  if (!rows.empty()) {
    const std::string_view last = rows.key(rows.size() - 1);
    if (direction == Direction::kForward) {
      range.begin.assign(last);
      range.begin.push_back('\0');
    } else {
      range.end.assign(last);
    }
    if (range.begin >= range.end) co_return rows;
  }
  Executor* const home = Executor::current();
  SwitchTo to_reader(&readers_);
  co_await to_reader;
  std::exception_ptr error;
  try {
    read_rows(false, range, direction, limit, rows);
  } catch (...) {
    error = std::current_exception();
  }
  SwitchTo to_home(home);
  co_await to_home;
  if (error) std::rethrow_exception(error);
  co_return rows;
}

}  // namespace stator::engine
