// Counters and histograms that cost a few nanoseconds where they count, and the Prometheus text in
// which they are shown. Nothing here locks or allocates while counting.
//
// There is no registry: who counts owns its counters and writes them when it is asked, in the order
// and with the labels it likes, so sets of labels are as bounded as what they are read from.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace stator::metrics {

// Threads count in parts of their own, as far as there are parts, and a reader adds them up.
inline constexpr size_t kParts = 8;
size_t part_of_this_thread();

// Microseconds of a clock that only goes forward.
inline uint64_t steady_us() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// Thread-safe. Only rises.
class Counter {
 public:
  void add(uint64_t by = 1) {
    parts_[part_of_this_thread()].value.fetch_add(by, std::memory_order_relaxed);
  }
  uint64_t value() const;

 private:
  struct alignas(64) Part {
    std::atomic<uint64_t> value{0};
  };
  std::array<Part, kParts> parts_;
};

// Thread-safe. Counts values of up to 24 ranges and one beyond.
class Histogram {
 public:
  static constexpr size_t kMostBounds = 24;

  // `bounds` rise, and outlive the histogram: an array of static storage.
  explicit Histogram(std::span<const uint64_t> bounds) : bounds_(bounds) {}

  void observe(uint64_t value);

  struct Snapshot {
    std::array<uint64_t, kMostBounds + 1> counts{};  // not cumulative
    uint64_t count = 0;
    uint64_t sum = 0;
  };
  Snapshot read() const;
  std::span<const uint64_t> bounds() const { return bounds_; }

 private:
  struct alignas(64) Part {
    std::array<std::atomic<uint64_t>, kMostBounds + 1> counts{};
    std::atomic<uint64_t> sum{0};
  };
  std::span<const uint64_t> bounds_;
  std::array<Part, kParts> parts_;
};

// Bounds in microseconds, from 50 µs to 10 s.
std::span<const uint64_t> latency_bounds();
// Powers of two from 1 to 16,384.
std::span<const uint64_t> size_bounds();

// The text format of Prometheus, version 0.0.4.
class Text {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // Begins a metric; its samples follow. `type` is "counter", "gauge" or "histogram".
  void family(std::string_view name, std::string_view type, std::string_view help);
  void sample(Labels labels, uint64_t value);
  void sample(Labels labels, int64_t value);
  void sample(Labels labels, double value);
  // A histogram's samples; what was observed times `scale` is the metric's unit (1e-6: seconds).
  void sample(Labels labels, const Histogram& histogram, double scale);

  // A metric with one sample.
  void counter(std::string_view name, std::string_view help, uint64_t value);
  void counter(std::string_view name, std::string_view help, double value);
  void gauge(std::string_view name, std::string_view help, double value);
  void histogram(std::string_view name, std::string_view help, const Histogram& histogram,
                 double scale);

  std::string take() { return std::move(out_); }

 private:
  void begin_sample(std::string_view suffix, Labels labels, std::string_view bound = {});
  void number(double value);

  std::string out_;
  std::string name_;
};

}  // namespace stator::metrics
