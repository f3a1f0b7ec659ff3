#include "engine/rocksdb/queued_images.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <unordered_set>
#include <utility>

namespace stator::engine {

namespace {

constexpr size_t kShards = 64;  // a power of two

bool contains(const Range& range, std::string_view key) {
  return key >= std::string_view(range.begin) && key < std::string_view(range.end);
}

// `key` and `value` point into `owner`, the batch of the latest change of the key.
struct Entry {
  std::string_view key;
  mutable std::shared_ptr<const Batch> owner;
  mutable const std::string* value = nullptr;  // null: erased, or a counter
  mutable uint32_t queued = 0;                 // operations on the key that are not in the store
  mutable bool counter = false;                // then `sum` counts
  mutable bool resolved =
      false;  // `sum` is the counter's value; otherwise what is added to the store's
  mutable int64_t sum = 0;
  mutable uint64_t generation = 0;
};

struct EntryHash {
  using is_transparent = void;
  size_t operator()(const Entry& entry) const { return std::hash<std::string_view>()(entry.key); }
  size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
};
struct EntryEqual {
  using is_transparent = void;
  static std::string_view key(const Entry& entry) { return entry.key; }
  static std::string_view key(std::string_view key) { return key; }
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return key(a) == key(b);
  }
};

}  // namespace

std::string encode_counter(int64_t value) {
  std::string bytes(8, '\0');
  const auto bits = static_cast<uint64_t>(value);
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(bits >> (8 * i));
  return bytes;
}

int64_t decode_counter(std::string_view value) {
  if (value.size() != 8) return 0;
  uint64_t bits = 0;
  for (size_t i = 0; i < 8; ++i)
    bits |= static_cast<uint64_t>(static_cast<unsigned char>(value[i])) << (8 * i);
  return static_cast<int64_t>(bits);
}

int64_t add_counter(int64_t value, int64_t delta) {
  return static_cast<int64_t>(static_cast<uint64_t>(value) + static_cast<uint64_t>(delta));
}

struct alignas(64) QueuedImages::Shard {
  std::mutex mutex;
  std::unordered_set<Entry, EntryHash, EntryEqual> entries;
};

QueuedImages::QueuedImages() : shards_(std::make_unique<Shard[]>(kShards)) {}
QueuedImages::~QueuedImages() = default;

QueuedImages::Shard& QueuedImages::shard_of(std::string_view key) const {
  // The set uses the low bits of the same hash.
  return shards_[(std::hash<std::string_view>()(key) >> 32) & (kShards - 1)];
}

void QueuedImages::add(const std::shared_ptr<Batch>& batch) {
  for (const Batch::Operation& operation : batch->operations()) {
    if (const auto* put = std::get_if<Batch::Put>(&operation)) {
      add_image(batch, put->key, &put->value);
    } else if (const auto* erase = std::get_if<Batch::Erase>(&operation)) {
      add_image(batch, erase->key, nullptr);
    } else if (const auto* add = std::get_if<Batch::Add>(&operation)) {
      add_delta(batch, *add);
    } else if (const auto* erase_range = std::get_if<Batch::EraseRange>(&operation)) {
      add_range(batch.get(), erase_range->range);
    }
    // Nobody holds a key of an append: its version is not known yet.
  }
}

void QueuedImages::add_image(const std::shared_ptr<Batch>& batch, std::string_view key,
                             const std::string* value) {
  Shard& shard = shard_of(key);
  // Let go outside the lock: it may be the last reference to a large batch.
  std::shared_ptr<const Batch> before;
  const std::lock_guard lock(shard.mutex);
  auto it = shard.entries.find(key);
  if (it == shard.entries.end()) {
    Entry entry;
    entry.key = key;
    it = shard.entries.insert(std::move(entry)).first;
    count_.fetch_add(1);
  } else {
    // Equal content, so the set's order stands; but the old bytes go with their batch.
    const_cast<std::string_view&>(it->key) = key;
  }
  before = std::exchange(it->owner, batch);
  it->value = value;
  it->counter = false;
  ++it->queued;
}

void QueuedImages::add_delta(const std::shared_ptr<Batch>& batch, const Batch::Add& add) {
  const std::string_view key = add.key;
  // Under an erased range a counter begins at 0.
  bool erased = false;
  if (range_count_.load() > 0) {
    const std::lock_guard lock(ranges_mutex_);
    erased = std::any_of(ranges_.begin(), ranges_.end(),
                         [&](const QueuedRange& queued) { return contains(queued.range, key); });
  }
  Shard& shard = shard_of(key);
  std::shared_ptr<const Batch> before;
  const std::lock_guard lock(shard.mutex);
  auto it = shard.entries.find(key);
  if (it == shard.entries.end()) {
    Entry entry;
    entry.key = key;
    entry.counter = true;
    entry.resolved = erased;
    entry.generation = next_generation_.fetch_add(1, std::memory_order_relaxed);
    it = shard.entries.insert(std::move(entry)).first;
    count_.fetch_add(1);
  } else {
    const_cast<std::string_view&>(it->key) = key;
    if (!it->counter) {
      it->sum = it->value == nullptr ? 0 : decode_counter(*it->value);
      it->value = nullptr;
      it->counter = true;
      it->resolved = true;
    }
  }
  before = std::exchange(it->owner, batch);
  it->sum = add_counter(it->sum, add.delta);
  ++it->queued;
}

void QueuedImages::add_range(const Batch* batch, const Range& range) {
  {
    const std::lock_guard lock(ranges_mutex_);
    ranges_.push_back({batch, range});
    range_count_.store(ranges_.size());
    count_.fetch_add(1);
  }
  // What was queued before for keys of the range is erased by it.
  for (size_t s = 0; s < kShards; ++s) {
    const std::lock_guard lock(shards_[s].mutex);
    for (const Entry& entry : shards_[s].entries) {
      if (!contains(range, entry.key)) continue;
      entry.value = nullptr;
      entry.counter = false;
    }
  }
}

void QueuedImages::remove(const Batch& batch) {
  // First, since a key that was put after its range was erased has an image as long as that is
  // here.
  remove_ranges(batch);
  for (const Batch::Operation& operation : batch.operations()) {
    if (const auto* put = std::get_if<Batch::Put>(&operation)) {
      remove_key(put->key);
    } else if (const auto* erase = std::get_if<Batch::Erase>(&operation)) {
      remove_key(erase->key);
    } else if (const auto* add = std::get_if<Batch::Add>(&operation)) {
      remove_key(add->key);
    }
  }
}

void QueuedImages::remove_ranges(const Batch& batch) {
  const bool has_range = std::any_of(batch.operations().begin(), batch.operations().end(),
                                     [](const Batch::Operation& operation) {
                                       return std::holds_alternative<Batch::EraseRange>(operation);
                                     });
  if (!has_range) return;
  const std::lock_guard lock(ranges_mutex_);
  const size_t before = ranges_.size();
  std::erase_if(ranges_, [&](const QueuedRange& queued) { return queued.batch == &batch; });
  range_count_.store(ranges_.size());
  count_.fetch_sub(static_cast<int64_t>(before - ranges_.size()));
}

void QueuedImages::remove_key(std::string_view key) {
  Shard& shard = shard_of(key);
  std::shared_ptr<const Batch> owner;
  const std::lock_guard lock(shard.mutex);
  const auto it = shard.entries.find(key);
  assert(it != shard.entries.end());
  if (--it->queued > 0) return;
  owner = std::move(it->owner);
  shard.entries.erase(it);
  count_.fetch_sub(1);
}

QueuedImages::Found QueuedImages::find(std::string_view key) const {
  Found found;
  if (empty()) return found;
  std::shared_ptr<const Batch> owner;
  const std::string* value = nullptr;
  {
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto it = shard.entries.find(key);
    if (it != shard.entries.end()) {
      if (it->counter && !it->resolved) {
        found.kind = Kind::kDelta;
        found.delta = it->sum;
        found.generation = it->generation;
        return found;
      }
      found.kind = Kind::kImage;
      if (it->counter) {
        found.value = encode_counter(it->sum);
        return found;
      }
      if (it->value == nullptr) return found;
      // Copied outside the lock.
      owner = it->owner;
      value = it->value;
    }
  }
  if (value != nullptr) {
    found.value = *value;
    return found;
  }
  if (range_count_.load() == 0) return found;
  const std::lock_guard lock(ranges_mutex_);
  for (const QueuedRange& queued : ranges_) {
    if (contains(queued.range, key)) found.kind = Kind::kImage;
  }
  return found;
}

void QueuedImages::resolve(std::string_view key, int64_t base) {
  if (empty()) return;
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  const auto it = shard.entries.find(key);
  if (it == shard.entries.end() || !it->counter || it->resolved) return;
  it->sum = add_counter(base, it->sum);
  it->resolved = true;
}

}  // namespace stator::engine
