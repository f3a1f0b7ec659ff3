// Several transfers at a time on one thread: each in its turn, and not more of them in one step
// than keeps the process quick to end.
#pragma once

#include <spdlog/spdlog.h>

#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace stator::work {

// `Running` is one of them as far as it is in memory: advance() works for a while and says whether
// there is more to do at once, is_over() whether it has ended.
template <typename Running>
class Turns {
 public:
  explicit Turns(std::string kind) : kind_(std::move(kind)) {}

  // Lets some of `under_way` go on, those that waited longest first. True if there is more to do at
  // once.
  template <typename Transfer, typename Make>
  bool take(const std::vector<Transfer>& under_way, const Make& make) {
    if (under_way.empty()) {
      running_.clear();
      return false;
    }
    const auto end = std::chrono::steady_clock::now() + kStep;
    bool more = false;
    size_t taken = 0;
    for (; taken < under_way.size() && std::chrono::steady_clock::now() < end; ++taken) {
      const Transfer& transfer = under_way[(next_ + taken) % under_way.size()];
      more = advance(transfer, make) || more;
    }
    next_ = (next_ + taken) % under_way.size();
    return more || taken < under_way.size();
  }

 private:
  static constexpr std::chrono::milliseconds kStep{500};

  template <typename Transfer, typename Make>
  bool advance(const Transfer& transfer, const Make& make) {
    auto& running = running_[transfer->id];
    bool more = false;
    try {
      if (running == nullptr) running = make(transfer);
      more = running->advance();
      if (running->is_over()) running_.erase(transfer->id);
    } catch (const std::exception& error) {
      // From its last commit on, another time; the others go on.
      spdlog::warn("{} {} failed and will be tried again: {}", kind_, transfer->id, error.what());
      running_.erase(transfer->id);
    }
    return more;
  }

  const std::string kind_;
  std::map<std::string, std::unique_ptr<Running>> running_;
  size_t next_ = 0;
};

}  // namespace stator::work
