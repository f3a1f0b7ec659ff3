#include "engine/rocksdb/key_index.h"

#include <cassert>
#include <cstring>

#include "common/system_random.h"
#include "engine/rocksdb/memtable_entry.h"

namespace stator::engine {

namespace {

constexpr size_t kFirstSlots = 512;
// A slot has an entry's address and, where addresses have no bits, some of its key's hash.
constexpr int kAddressBits = 48;
static_assert(sizeof(void*) == sizeof(uint64_t));

uint64_t tag_of(uint64_t word) {
  return word >> kAddressBits;
}

const char* entry_of(uint64_t slot) {
  return reinterpret_cast<const char*>(slot & ((uint64_t{1} << kAddressBits) - 1));
}

uint64_t mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t hash_of(std::string_view key) {
  constexpr uint64_t kFirst = 0x9e3779b97f4a7c15;
  constexpr uint64_t kSecond = 0xc2b2ae3d27d4eb4f;
  // Another in each process, so that nobody can choose keys that meet.
  static const uint64_t seed = system_random();
  uint64_t hash = seed ^ key.size() * kFirst;
  const char* at = key.data();
  size_t left = key.size();
  for (; left >= 8; left -= 8, at += 8) hash = mix(hash ^ load_8_bytes(at), kSecond);
  uint64_t rest = 0;
  std::memcpy(&rest, at, left);
  return mix(hash ^ rest ^ kFirst, kSecond);
}

}  // namespace

KeyIndex::KeyIndex() {
  grow_to(kFirstSlots);
}

KeyIndex::Place KeyIndex::place_of(std::string_view key) {
  if ((used_ + 1) * 2 > all_.back()->size()) grow_to(all_.back()->size() * 2);
  return place_in(*all_.back(), key);
}

void KeyIndex::set(const Place& place, const char* entry) {
  const auto address = reinterpret_cast<uintptr_t>(entry);
  assert(address >> kAddressBits == 0);
  place.slot_->store(place.tag_ << kAddressBits | address, std::memory_order_release);
  if (place.newest_ == nullptr) ++used_;
}

const char* KeyIndex::find(std::string_view key) const {
  const Slots& slots = *current_.load(std::memory_order_acquire);
  const uint64_t hash = hash_of(key);
  const size_t mask = slots.size() - 1;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    const uint64_t slot = slots[at].load(std::memory_order_acquire);
    if (slot == 0) return nullptr;
    if (tag_of(slot) != tag_of(hash)) continue;
    const char* const entry = entry_of(slot);
    if (key_of(internal_key_of(entry)) == key) return entry;
  }
}

void KeyIndex::grow_to(size_t size) {
  auto next = std::make_unique<Slots>(size);
  if (!all_.empty()) {
    for (const std::atomic<uint64_t>& slot : *all_.back()) {
      const uint64_t word = slot.load(std::memory_order_relaxed);
      if (word == 0) continue;
      const std::string_view key = key_of(internal_key_of(entry_of(word)));
      place_in(*next, key).slot_->store(word, std::memory_order_relaxed);
    }
  }
  all_.push_back(std::move(next));
  current_.store(all_.back().get(), std::memory_order_release);
  size_bytes_.fetch_add(size * sizeof(uint64_t), std::memory_order_relaxed);
}

KeyIndex::Place KeyIndex::place_in(Slots& slots, std::string_view key) {
  const uint64_t hash = hash_of(key);
  const size_t mask = slots.size() - 1;
  Place place;
  place.tag_ = tag_of(hash);
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    place.slot_ = &slots[at];
    const uint64_t slot = slots[at].load(std::memory_order_relaxed);
    if (slot == 0) return place;
    if (tag_of(slot) != place.tag_) continue;
    const char* const entry = entry_of(slot);
    if (key_of(internal_key_of(entry)) != key) continue;
    place.newest_ = entry;
    return place;
  }
}

}  // namespace stator::engine
