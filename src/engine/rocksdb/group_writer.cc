#include "engine/rocksdb/group_writer.h"

#include <rocksdb/iterator.h>

#include <algorithm>
#include <memory>

namespace stator::engine {

namespace {

// Counters are loaded again when they are needed, so the cache is simply emptied when it is full.
constexpr size_t kCounterLimit = 65'536;
// Versions that are reserved with one write. What is left of them at the end of a run is never
// used.
constexpr uint64_t kVersionsAhead = 1ULL << 32;
// What a write may leave allocated for the next one.
constexpr size_t kKeptBatchBytes = 1024 * 1024;
// How long the marks of seconds are kept: a day more than anything is recovered.
constexpr int64_t kDay_s = 24 * 60 * 60;
constexpr int64_t kKeptMarks_s = 36 * kDay_s;

rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

std::string time_key(int64_t second) {
  std::string key(kTimePrefix);
  append_big_endian(key, static_cast<uint64_t>(second), 8);
  return key;
}

int64_t newest_mark(rocksdb::DB& db) {
  const std::unique_ptr<rocksdb::Iterator> at(db.NewIterator(rocksdb::ReadOptions()));
  at->SeekForPrev(time_key(-1));  // the highest there is
  if (!at->Valid() || !at->key().starts_with(slice(kTimePrefix))) return -1;
  return static_cast<int64_t>(
      decode_big_endian(at->key().ToStringView().substr(kTimePrefix.size())));
}

}  // namespace

GroupWriter::GroupWriter(Store& store, QueuedImages& images)
    : store_(store),
      images_(images),
      version_(store.opened_version()),
      version_ceiling_(version_),
      marked_s_(newest_mark(store.db())),
      visible_version_(version_) {}

rocksdb::Status GroupWriter::prepare(const std::vector<Change*>& group, bool may_block) {
  dirty_.clear();
  if (counters_.size() > kCounterLimit) counters_.clear();
  const auto writes = static_cast<uint64_t>(std::count_if(
      group.begin(), group.end(), [](const Change* change) { return !change->batch->empty(); }));
  const bool raise =
      version_ + writes > version_ceiling_ && store_.durability() != Durability::kMemory;
  if (raise && !may_block) return rocksdb::Status::Incomplete();
  const rocksdb::Status loaded = load_counters(group, may_block);
  if (!loaded.ok()) return loaded;
  if (batch_.GetDataSize() > kKeptBatchBytes) {
    batch_ = rocksdb::WriteBatch();
  } else {
    batch_.Clear();
  }
  raises_ceiling_ = raise;
  if (raise) raise_ceiling();
  if (writes > 0) mark_time();
  for (Change* change : group) {
    if (!change->batch->empty()) {
      ++version_;
      write_batch(*change->batch);
    }
    change->outcome.kind = Outcome::Kind::kCommitted;
    change->outcome.version = version_;
  }
  for (Counters::value_type* dirty : dirty_) {
    if (!dirty->second.dirty) continue;
    dirty->second.dirty = false;
    batch_.Put(dirty->first, encode_counter(dirty->second.value));
  }
  return rocksdb::Status::OK();
}

void GroupWriter::raise_ceiling() {
  version_ceiling_ = version_ + kVersionsAhead;
  scratch_.clear();
  append_big_endian(scratch_, version_ceiling_, 8);
  batch_.Put(slice(kVersionCeilingKey), scratch_);
}

// The first write of a second says which version it begins with. A clock that was set back gives no
// marks until it has caught up.
void GroupWriter::mark_time() {
  const int64_t now_s = store_.clock().now_s();
  if (now_s <= marked_s_) return;
  scratch_.clear();
  append_big_endian(scratch_, version_ + 1, 8);
  batch_.Put(time_key(now_s), scratch_);
  if (now_s / kDay_s != marked_s_ / kDay_s)
    batch_.DeleteRange(time_key(0), time_key(std::max<int64_t>(0, now_s - kKeptMarks_s)));
  marked_s_ = now_s;
}

void GroupWriter::resolve_counters() {
  if (images_.empty()) return;
  for (const Counters::value_type* dirty : dirty_)
    images_.resolve(dirty->first, dirty->second.before);
}

// Makes sure that every counter of the group is known, as it is before the group.
rocksdb::Status GroupWriter::load_counters(const std::vector<Change*>& group, bool may_block) {
  try {
    std::string value;
    for (const Change* change : group) {
      for (const Batch::Operation& operation : change->batch->operations()) {
        const auto* add = std::get_if<Batch::Add>(&operation);
        if (add == nullptr || counters_.contains(add->key)) continue;
        const Store::Found found = store_.get(!may_block, nullptr, add->key, value);
        if (found == Store::Found::kNotInMemory) return rocksdb::Status::Incomplete();
        counters_[add->key].value = found == Store::Found::kValue ? decode_counter(value) : 0;
      }
    }
    return rocksdb::Status::OK();
  } catch (const EngineError& error) {
    return rocksdb::Status::IOError(error.what());
  }
}

void GroupWriter::write_batch(const Batch& batch) {
  uint64_t ordinal = 0;
  for (const Batch::Operation& operation : batch.operations()) {
    if (const auto* put = std::get_if<Batch::Put>(&operation)) {
      batch_.Put(put->key, put->value);
      set_counter(put->key, decode_counter(put->value));
    } else if (const auto* append = std::get_if<Batch::Append>(&operation)) {
      scratch_ = append->prefix;
      append_big_endian(scratch_, version_, 8);
      append_big_endian(scratch_, ordinal++, 4);
      batch_.Put(scratch_, append->value);
    } else if (const auto* add = std::get_if<Batch::Add>(&operation)) {
      Counters::value_type& entry = *counters_.find(add->key);
      Counter& counter = entry.second;
      if (!counter.dirty) {
        counter.dirty = true;
        counter.before = counter.value;
        dirty_.push_back(&entry);
      }
      counter.value = add_counter(counter.value, add->delta);
    } else if (const auto* erase = std::get_if<Batch::Erase>(&operation)) {
      batch_.Delete(erase->key);
      set_counter(erase->key, 0);
    } else if (const auto* erase_range = std::get_if<Batch::EraseRange>(&operation)) {
      const Range& range = erase_range->range;
      if (range.begin >= range.end) continue;
      batch_.DeleteRange(range.begin, range.end);
      for (auto& [key, counter] : counters_) {
        if (key < range.begin || key >= range.end) continue;
        counter.value = 0;
        counter.dirty = false;
      }
    }
  }
}

// A counter that is put or erased like any key goes on from there.
void GroupWriter::set_counter(const std::string& key, int64_t value) {
  if (counters_.empty()) return;
  const auto it = counters_.find(key);
  if (it == counters_.end()) return;
  it->second.value = value;
  it->second.dirty = false;
}

rocksdb::Status GroupWriter::write(bool may_block) {
  if (batch_.Count() > 0) {
    rocksdb::WriteOptions options;
    // The machine may forget unflushed commits, but somebody may have seen their versions: the
    // ceiling is always kept.
    options.sync = store_.durability() == Durability::kSync ||
                   (raises_ceiling_ && store_.durability() == Durability::kOs);
    options.disableWAL = store_.durability() == Durability::kMemory;
    options.no_slowdown = !may_block;
    const rocksdb::Status status = store_.db().Write(options, &batch_);
    if (!status.ok()) return status;
  }
  visible_version_.store(version_, std::memory_order_release);
  return rocksdb::Status::OK();
}

}  // namespace stator::engine
