#include "common/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace stator::metrics {

namespace {

constexpr std::array<uint64_t, 17> kLatencyBounds = {
    50,     100,     250,     500,     1'000,     2'500,     5'000,     10'000,    25'000,
    50'000, 100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000};
constexpr std::array<uint64_t, 15> kSizeBounds = {1,   2,   4,    8,    16,   32,   64,    128,
                                                  256, 512, 1024, 2048, 4096, 8192, 16'384};

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out.append("\\n");
    } else {
      out.push_back(c);
    }
  }
}

}  // namespace

size_t part_of_this_thread() {
  static std::atomic<size_t> next{0};
  thread_local const size_t part = next.fetch_add(1, std::memory_order_relaxed) % kParts;
  return part;
}

uint64_t Counter::value() const {
  uint64_t sum = 0;
  for (const Part& part : parts_) sum += part.value.load(std::memory_order_relaxed);
  return sum;
}

void Histogram::observe(uint64_t value) {
  Part& part = parts_[part_of_this_thread()];
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  part.counts[static_cast<size_t>(at)].fetch_add(1, std::memory_order_relaxed);
  part.sum.fetch_add(value, std::memory_order_relaxed);
}

Histogram::Snapshot Histogram::read() const {
  Snapshot snapshot;
  for (const Part& part : parts_) {
    for (size_t i = 0; i <= bounds_.size(); ++i) {
      const uint64_t count = part.counts[i].load(std::memory_order_relaxed);
      snapshot.counts[i] += count;
      snapshot.count += count;
    }
    snapshot.sum += part.sum.load(std::memory_order_relaxed);
  }
  return snapshot;
}

std::span<const uint64_t> latency_bounds() {
  return kLatencyBounds;
}

std::span<const uint64_t> size_bounds() {
  return kSizeBounds;
}

void Text::family(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void Text::begin_sample(std::string_view suffix, Labels labels, std::string_view bound) {
  out_.append(name_).append(suffix);
  char separator = '{';
  const auto add = [&](std::string_view label, std::string_view value) {
    out_.push_back(separator);
    separator = ',';
    out_.append(label).append("=\"");
    append_escaped(out_, value);
    out_.push_back('"');
  };
  for (const auto& [label, value] : labels) add(label, value);
  if (!bound.empty()) add("le", bound);
  if (separator == ',') out_.push_back('}');
  out_.push_back(' ');
}

void Text::number(double value) {
  if (std::abs(value) < 1e15 && value == std::floor(value)) {
    fmt::format_to(std::back_inserter(out_), "{}\n", static_cast<int64_t>(value));
  } else {
    fmt::format_to(std::back_inserter(out_), "{}\n", value);
  }
}

void Text::sample(Labels labels, uint64_t value) {
  begin_sample({}, labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", value);
}

void Text::sample(Labels labels, int64_t value) {
  begin_sample({}, labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", value);
}

void Text::sample(Labels labels, double value) {
  begin_sample({}, labels);
  number(value);
}

void Text::sample(Labels labels, const Histogram& histogram, double scale) {
  const Histogram::Snapshot snapshot = histogram.read();
  uint64_t cumulative = 0;
  for (size_t i = 0; i < histogram.bounds().size(); ++i) {
    cumulative += snapshot.counts[i];
    begin_sample("_bucket", labels,
                 fmt::format("{:g}", static_cast<double>(histogram.bounds()[i]) * scale));
    fmt::format_to(std::back_inserter(out_), "{}\n", cumulative);
  }
  begin_sample("_bucket", labels, "+Inf");
  fmt::format_to(std::back_inserter(out_), "{}\n", snapshot.count);
  begin_sample("_sum", labels);
  number(static_cast<double>(snapshot.sum) * scale);
  begin_sample("_count", labels);
  fmt::format_to(std::back_inserter(out_), "{}\n", snapshot.count);
}

void Text::counter(std::string_view name, std::string_view help, uint64_t value) {
  family(name, "counter", help);
  sample({}, value);
}

void Text::counter(std::string_view name, std::string_view help, double value) {
  family(name, "counter", help);
  sample({}, value);
}

void Text::gauge(std::string_view name, std::string_view help, double value) {
  family(name, "gauge", help);
  sample({}, value);
}

void Text::histogram(std::string_view name, std::string_view help, const Histogram& histogram,
                     double scale) {
  family(name, "histogram", help);
  sample({}, histogram, scale);
}

}  // namespace stator::metrics
