#include "capacity/usage.h"

#include <sys/mman.h>

#include <cmath>
#include <new>

namespace stator::capacity {

namespace {
// Numbers of indexes stay far below this: a table has twenty at a time.
constexpr uint64_t kIndexBits = 20;

size_t hash_of(uint64_t key) {
  key ^= key >> 33;
  key *= 0xff51afd7ed558ccdULL;
  key ^= key >> 33;
  return key;
}
}  // namespace

// A megabyte of zeros, as the system has them: a page takes memory once somebody counts in it.
Usage::Usage() {
  void* const pages = ::mmap(nullptr, sizeof(*entries_), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  entries_.reset(static_cast<std::array<Entry, kMostPlaces>*>(pages));
}

void Usage::Unmap::operator()(std::array<Entry, kMostPlaces>* entries) const {
  ::munmap(entries, sizeof(*entries));
}

// Neither kFree nor kGone: numbers of tables begin with 1 and do not come near 2^43.
uint64_t Usage::key_of(Place place) {
  return (uint64_t{place.table} << kIndexBits) | (place.index & ((1U << kIndexBits) - 1));
}

const Usage::Entry* Usage::find(uint64_t key) const {
  const size_t begin = hash_of(key);
  for (size_t i = 0; i < kProbes; ++i) {
    const Entry& entry = (*entries_)[(begin + i) % kMostPlaces];
    const uint64_t held = entry.key.load(std::memory_order_acquire);
    if (held == key) return &entry;
    if (held == kFree) return nullptr;
  }
  return nullptr;
}

Usage::Entry& Usage::claim(uint64_t key) {
  if (const Entry* entry = find(key)) return const_cast<Entry&>(*entry);
  const size_t begin = hash_of(key);
  for (size_t i = 0; i < kProbes; ++i) {
    Entry& entry = (*entries_)[(begin + i) % kMostPlaces];
    uint64_t held = entry.key.load(std::memory_order_acquire);
    if (held == key) return entry;
    if (held != kFree && held != kGone) continue;
    if (entry.key.compare_exchange_strong(held, key) || held == key) return entry;
  }
  return others_;
}

void Usage::consumed(Place place, bool write, double units) {
  const int64_t halves = std::llround(units * 2);
  if (halves == 0) return;
  Entry& entry = claim(key_of(place));
  (write ? entry.write_halves : entry.read_halves).fetch_add(halves, std::memory_order_relaxed);
}

void Usage::throttled(Place place, bool write) {
  Entry& entry = claim(key_of(place));
  (write ? entry.throttled_writes : entry.throttled_reads).fetch_add(1, std::memory_order_relaxed);
}

Usage::Totals Usage::totals(Place place) const {
  const Entry* entry = find(key_of(place));
  if (entry == nullptr) return {};
  return {.read_units = static_cast<double>(entry->read_halves.load()) / 2,
          .write_units = static_cast<double>(entry->write_halves.load()) / 2,
          .throttled_reads = entry->throttled_reads.load(),
          .throttled_writes = entry->throttled_writes.load()};
}

void Usage::keep_only(const std::set<model::TableNumber>& tables) {
  for (Entry& entry : *entries_) {
    const uint64_t key = entry.key.load();
    if (key == kFree || key == kGone) continue;
    if (tables.contains(static_cast<model::TableNumber>(key >> kIndexBits))) continue;
    entry.read_halves = 0;
    entry.write_halves = 0;
    entry.throttled_reads = 0;
    entry.throttled_writes = 0;
    entry.key.store(kGone);
  }
}

}  // namespace stator::capacity
