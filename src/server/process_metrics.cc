#include "server/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace stator::server {

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Seconds since 1970, from the kernel's ticks since the machine started.
double start_time() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return 0;
  // The name is the second field, the start time the twenty-second.
  size_t at = end_of_name + 2;
  for (int field = 3; field < 22; ++field) at = text.find(' ', at) + 1;
  const double ticks = std::stod(text.substr(at));
  std::ifstream machine("/proc/stat");
  for (std::string word; machine >> word;) {
    if (word != "btime") continue;
    double boot = 0;
    machine >> boot;
    return boot + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return 0;
}

}  // namespace

void write_process_metrics(metrics::Text& text) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  text.counter("stator_process_cpu_seconds_total", "Processor time used.",
               seconds(usage.ru_utime) + seconds(usage.ru_stime));
  text.gauge("stator_process_resident_memory_bytes", "Memory in use.", resident_bytes());
  std::error_code error;
  size_t files = 0;
  for ([[maybe_unused]] const auto& file :
       std::filesystem::directory_iterator("/proc/self/fd", error)) {
    ++files;
  }
  text.gauge("stator_process_open_files", "Open file descriptors.", static_cast<double>(files));
  text.gauge("stator_process_start_time_seconds", "When the process started.", start_time());
}

}  // namespace stator::server
