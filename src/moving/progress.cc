#include "moving/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace stator::moving {

namespace {

constexpr std::chrono::milliseconds kBarInterval{200};
constexpr std::chrono::seconds kLineInterval{10};

size_t terminal_columns() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string left_text(double seconds_left) {
  if (seconds_left < 0 || seconds_left > 360'000) return "";
  const auto seconds = static_cast<uint64_t>(seconds_left + 0.5);
  if (seconds >= 3600)
    return fmt::format("  {}:{:02}:{:02} left", seconds / 3600, seconds / 60 % 60, seconds % 60);
  return fmt::format("  {}:{:02} left", seconds / 60, seconds % 60);
}

double share(const ProgressState& state) {
  if (state.total == 0) return 0;
  return std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
}

}  // namespace

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string progress_line(const ProgressState& state, double items_per_s, double seconds_left) {
  const std::string percent =
      state.total > 0 ? fmt::format("{:3.0f} %  ", share(state) * 100) : std::string();
  return fmt::format("{}{} items  {} a second{}", percent, grouped(state.items),
                     grouped(static_cast<uint64_t>(items_per_s)), left_text(seconds_left));
}

std::string progress_bar(const ProgressState& state, double items_per_s, double seconds_left,
                         size_t columns) {
  const std::string text = progress_line(state, items_per_s, seconds_left);
  if (state.total == 0 || columns < text.size() + 14) return text;
  const size_t width = std::min<size_t>(40, columns - text.size() - 5);
  const auto full = static_cast<size_t>(share(state) * static_cast<double>(width));
  std::string bar(full, '=');
  if (full < width) bar += ">" + std::string(width - full - 1, ' ');
  return "[" + bar + "]  " + text;
}

double seconds_left(const ProgressState& state, double items_per_s) {
  if (items_per_s <= 0 || state.done == 0 || state.total <= state.done) return -1;
  const double items_left = static_cast<double>(state.items) *
                            static_cast<double>(state.total - state.done) /
                            static_cast<double>(state.done);
  return items_left / items_per_s;
}

Progress::Progress(std::function<ProgressState()> look, bool quiet)
    : look_(std::move(look)),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()),
      first_(look_()) {
  if (!quiet) thread_ = std::thread([this] { run(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ended_changed_.notify_all();
  thread_.join();
}

void Progress::run() {
  std::unique_lock lock(mutex_);
  const auto interval = terminal_
                            ? kBarInterval
                            : std::chrono::duration_cast<std::chrono::milliseconds>(kLineInterval);
  while (!ended_changed_.wait_for(lock, interval, [this] { return ended_; })) show(false);
  if (terminal_) show(true);
}

void Progress::show(bool last) {
  const ProgressState state = look_();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  // Of this run alone: what an earlier one did took another time.
  const double items_per_s = static_cast<double>(state.items - first_.items) / seconds;
  const double left = seconds_left(state, items_per_s);
  if (terminal_) {
    std::fprintf(stderr, "\r%s\x1b[K%s",
                 progress_bar(state, items_per_s, left, terminal_columns()).c_str(),
                 last ? "\n" : "");
  } else {
    std::fprintf(stderr, "%s\n", progress_line(state, items_per_s, left).c_str());
  }
  std::fflush(stderr);
}

}  // namespace stator::moving
