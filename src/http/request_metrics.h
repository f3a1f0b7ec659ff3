// How many requests of each operation ended how, and how long they took.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/metrics.h"

namespace stator::http {

// Thread-safe.
class RequestMetrics {
 public:
  // `targets` are all operations there are, as X-Amz-Target names them.
  explicit RequestMetrics(const std::vector<std::string>& targets);

  void begin() { begun_.add(); }
  // A request was answered. `target` may be any text a client sent. `error` is the error's name,
  // empty for a success or for an error of the wire, which the status tells.
  void end(std::string_view target, int status, std::string_view error, uint64_t took_us);

  void write(metrics::Text& text) const;

 private:
  static constexpr size_t kMostErrors = 48;

  struct Operation {
    std::string service;
    std::string name;
    metrics::Counter successes;
    std::array<std::atomic<uint64_t>, kMostErrors> errors{};  // by place in the list of errors
    metrics::Histogram took_us{metrics::latency_bounds()};
  };

  std::vector<std::unique_ptr<Operation>> operations_;
  // Looked up with the header's text as it is, without a copy.
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, Operation*, Hash, std::equal_to<>> by_target_;
  metrics::Counter begun_;
  metrics::Counter ended_;
  std::array<std::atomic<uint64_t>, 600> statuses_{};
};

}  // namespace stator::http
