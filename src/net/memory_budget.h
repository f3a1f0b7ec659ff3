// A bound on what all connections of a server together hold of large requests and of answers not
// yet taken.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace stator::net {

// Thread-safe.
class MemoryBudget {
 public:
  explicit MemoryBudget(size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  bool take(size_t bytes) {
    if (taken_bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_bytes_) {
      return true;
    }
    give_back(bytes);
    return false;
  }
  void give_back(size_t bytes) { taken_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  size_t taken_bytes() const { return taken_bytes_.load(std::memory_order_relaxed); }

 private:
  const size_t limit_bytes_;
  std::atomic<size_t> taken_bytes_{0};
};

// One holder's part of a budget, given back at its end. Small holders are free: they are bounded by
// their number.
class MemoryShare {
 public:
  static constexpr size_t kFreeBytes = 64 * 1024;

  MemoryShare() = default;  // of no budget: never refused
  explicit MemoryShare(MemoryBudget& budget) : budget_(&budget) {}
  MemoryShare(MemoryShare&& other) noexcept
      : budget_(other.budget_), held_bytes_(std::exchange(other.held_bytes_, 0)) {}
  MemoryShare& operator=(MemoryShare&& other) noexcept {
    clear();
    budget_ = other.budget_;
    held_bytes_ = std::exchange(other.held_bytes_, 0);
    return *this;
  }
  ~MemoryShare() { clear(); }

  // Holds at least this much; false if the budget does not allow it.
  bool grow_to(size_t bytes) {
    if (budget_ == nullptr || bytes <= kFreeBytes || bytes <= held_bytes_) return true;
    if (!budget_->take(bytes - held_bytes_)) return false;
    held_bytes_ = bytes;
    return true;
  }
  void clear() {
    if (held_bytes_ > 0) budget_->give_back(std::exchange(held_bytes_, 0));
  }

 private:
  MemoryBudget* budget_ = nullptr;
  size_t held_bytes_ = 0;
};

}  // namespace stator::net
