#include "engine/rocksdb/latch_table.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <utility>

namespace stator::engine {

namespace {
constexpr size_t kShards = 256;  // a power of two
}  // namespace

// Few latches are held at any moment, so a shard is a short list that is searched from its start.
struct alignas(64) LatchTable::Shard {
  std::mutex mutex;
  std::vector<Entry> entries;
  std::atomic<uint32_t> waiting{0};

  Entry* find(uint64_t hash) {
    for (Entry& entry : entries) {
      if (entry.hash == hash) return &entry;
    }
    return nullptr;
  }
  void remove_if_free(Entry* entry) {
    if (entry->exclusive || entry->shared > 0 || entry->first != nullptr) return;
    *entry = entries.back();
    entries.pop_back();
  }
};

LatchTable::Request::Request(const std::vector<std::string>& shared,
                             const std::vector<std::string>& exclusive,
                             std::chrono::milliseconds patience, Executor* home)
    : size_(shared.size() + exclusive.size()), patience_(patience), waiter_{nullptr, home} {
  if (size_ > kInline) many_.resize(size_);
  Latch* const begin = size_ > kInline ? many_.data() : few_.data();
  Latch* next = begin;
  const std::hash<std::string_view> hash;
  for (const std::string& key : shared) *next++ = {hash(key), false};
  for (const std::string& key : exclusive) *next++ = {hash(key), true};
  // Of two latches with the same hash the exclusive one comes first and stays.
  std::sort(begin, next, [](const Latch& a, const Latch& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.exclusive > b.exclusive;
  });
  const Latch* const end =
      std::unique(begin, next, [](const Latch& a, const Latch& b) { return a.hash == b.hash; });
  const size_t distinct = static_cast<size_t>(end - begin);
  if (size_ > kInline && distinct <= kInline) std::copy(begin, begin + distinct, few_.begin());
  size_ = distinct;
}

LatchTable::LatchTable(std::function<void()> on_wait)
    : on_wait_(std::move(on_wait)), shards_(std::make_unique<Shard[]>(kShards)) {}

LatchTable::~LatchTable() = default;

LatchTable::Shard& LatchTable::shard_of(uint64_t hash) {
  return shards_[hash & (kShards - 1)];
}

// Takes latch after latch. True if the request is settled: all are held, or it gave up. False if it
// waits now; then it may be gone by the time this returns.
bool LatchTable::advance(Request& request) {
  while (request.held_ < request.size_) {
    const Request::Latch latch = request.at(request.held_);
    Shard& shard = shard_of(latch.hash);
    std::unique_lock lock(shard.mutex);
    Entry* entry = shard.find(latch.hash);
    if (entry == nullptr) {
      Entry fresh{};
      fresh.hash = latch.hash;
      fresh.shared = latch.exclusive ? 0 : 1;
      fresh.exclusive = latch.exclusive;
      shard.entries.push_back(fresh);
      ++request.held_;
      continue;
    }
    if (entry->first == nullptr && !latch.exclusive && !entry->exclusive) {
      ++entry->shared;
      ++request.held_;
      continue;
    }
    if (!request.waited_) {
      if (request.patience_.count() <= 0) {
        lock.unlock();
        request.timed_out_ = true;
        Requests granted;
        release_held(request, granted);
        Ready ready;
        settle(granted, ready);
        run_ready(ready);
        return true;
      }
      request.deadline_ = std::chrono::steady_clock::now() + request.patience_;
      request.waited_ = true;
    }
    request.next_ = nullptr;
    (entry->first == nullptr ? entry->first : entry->last->next_) = &request;
    entry->last = &request;
    shard.waiting.fetch_add(1, std::memory_order_relaxed);
    waiting_.fetch_add(1);  // before it is asked whether the sweeper is awake
    lock.unlock();
    on_wait_();
    return false;
  }
  return true;
}

// Gives the latch to those at the head of the queue who can have it together. The shard is locked.
void LatchTable::grant(Entry& entry, Requests& granted) {
  while (entry.first != nullptr) {
    Request& request = *entry.first;
    const bool exclusive = request.at(request.held_).exclusive;
    if (entry.exclusive || (exclusive && entry.shared > 0)) return;
    entry.first = request.next_;
    if (entry.first == nullptr) entry.last = nullptr;
    if (exclusive) {
      entry.exclusive = true;
    } else {
      ++entry.shared;
    }
    ++request.held_;
    shard_of(entry.hash).waiting.fetch_sub(1, std::memory_order_relaxed);
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    granted.push_back(&request);
  }
}

void LatchTable::release_held(Request& request, Requests& granted) {
  for (size_t i = 0; i < request.held_; ++i) {
    const Request::Latch latch = request.at(i);
    Shard& shard = shard_of(latch.hash);
    const std::lock_guard lock(shard.mutex);
    Entry* entry = shard.find(latch.hash);
    assert(entry != nullptr);
    if (latch.exclusive) {
      assert(entry->exclusive);
      entry->exclusive = false;
    } else {
      assert(entry->shared > 0);
      --entry->shared;
    }
    grant(*entry, granted);
    shard.remove_if_free(entry);
  }
  request.held_ = 0;
}

// Takes the remaining latches for requests that were given one; those that have all are ready.
void LatchTable::settle(Requests& granted, Ready& ready) {
  for (Request* request : granted) {
    if (advance(*request)) ready.push_back(request->waiter_);
  }
}

void LatchTable::release(Request& request) {
  Requests granted;
  release_held(request, granted);
  if (granted.empty()) return;
  Ready ready;
  settle(granted, ready);
  run_ready(ready);
}

void LatchTable::expire(Time now) {
  if (!anyone_waits()) return;
  Requests expired;
  Requests granted;
  for (size_t s = 0; s < kShards; ++s) {
    Shard& shard = shards_[s];
    if (shard.waiting.load(std::memory_order_relaxed) == 0) continue;
    const std::lock_guard lock(shard.mutex);
    for (Entry& entry : shard.entries) {
      bool removed = false;
      Request* before = nullptr;
      for (Request* request = entry.first; request != nullptr;) {
        Request* const after = request->next_;
        if (request->deadline_ > now) {
          before = request;
        } else {
          (before == nullptr ? entry.first : before->next_) = after;
          if (after == nullptr) entry.last = before;
          shard.waiting.fetch_sub(1, std::memory_order_relaxed);
          waiting_.fetch_sub(1, std::memory_order_relaxed);
          expired.push_back(request);
          removed = true;
        }
        request = after;
      }
      // Those behind one who left may fit to the holders.
      if (removed) grant(entry, granted);
    }
  }
  Ready ready;
  for (Request* request : expired) {
    request->timed_out_ = true;
    release_held(*request, granted);
    ready.push_back(request->waiter_);
  }
  settle(granted, ready);
  run_ready(ready);
}

}  // namespace stator::engine
