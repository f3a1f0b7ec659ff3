#include "server/run.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>

#include "common/log.h"
#include "database/database.h"
#include "http/service.h"
#include "net/server.h"
#include "net/signature.h"
#include "server/options.h"
#include "server/version.h"
#include "triggers/mappings.h"

namespace stator::server {

namespace {

// A failed call is made again after at most this many times the first wait.
constexpr int64_t kLongestRetry = 30;

std::optional<std::string> from_environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

// Every connection is a file descriptor, and the usual soft limit of 1024 is for programs that use
// select().
void raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string ready_line(const Options& options, uint16_t port) {
  const bool is_ipv6 = options.net.host.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + options.net.host + "]" : options.net.host;
  const std::string data =
      options.in_memory
          ? "data in memory, nothing is kept"
          : fmt::format("data in {}, durability {}", options.database.directory.string(),
                        options.database.durability == engine::Durability::kOs ? "os" : "sync");
  return fmt::format("Stator {} is ready: http://{}:{} ({})\n", kVersion, host, port, data);
}

// SIGTERM and SIGINT, blocked in every thread and waited for in one.
class EndSignals {
 public:
  EndSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }
  int wait() const {
    int number = 0;
    sigwait(&set_, &number);
    return number;
  }

 private:
  sigset_t set_;
};

int serve(const Options& options) {
  const EndSignals signals;
  raise_file_limit();

  // The port first: a server that cannot have it leaves no directory behind. It answers only after
  // start().
  net::Server server(options.net);
  server.bind();
  std::unique_ptr<Database> database = Database::open(options.database);
  const SystemClock clock;
  triggers::HttpInvoker invoker(options.addresses);
  triggers::MappingsOptions mappings_options;
  mappings_options.region = options.database.region;
  mappings_options.account = options.database.account;
  mappings_options.backoff.first_ms = options.trigger_retry_ms;
  mappings_options.backoff.most_ms = kLongestRetry * options.trigger_retry_ms;
  triggers::Mappings mappings(*database, invoker, clock, mappings_options);
  http::ServiceOptions service_options;
  service_options.region = options.database.region;
  service_options.version = kVersion;
  service_options.body_limit_bytes = options.net.body_limit_bytes;
  const net::AcceptEverySignature signatures;
  http::Service service(service_options, *database, signatures, &mappings);
  server.start(service);
  mappings.start();
  const std::string ready = ready_line(options, server.port());
  std::fwrite(ready.data(), 1, ready.size(), stdout);
  std::fflush(stdout);

  const int number = signals.wait();
  spdlog::info("signal {}: ending after the requests under way", number);
  // A second signal means: wait no longer. A third one: not even for handlers and files.
  std::atomic<bool> ended{false};
  std::thread watcher([&] {
    signals.wait();
    if (ended) return;
    server.hurry();
    signals.wait();
    if (!ended) std::_Exit(1);
  });
  const bool in_time = server.drain();
  mappings.stop();
  database.reset();
  ended = true;
  pthread_kill(watcher.native_handle(), SIGTERM);
  watcher.join();
  spdlog::info("ended");
  return in_time ? 0 : 1;
}

}  // namespace

int run(int argc, char** argv) {
  try {
    const ParsedOptions parsed =
        parse_options(std::vector<std::string>(argv + 1, argv + argc), from_environment);
    if (parsed.print) {
      std::fputs(parsed.print->c_str(), stdout);
      return 0;
    }
    start_logging(*parse_log_level(parsed.options.log_level));
    return serve(parsed.options);
  } catch (const OptionsError& e) {
    std::fprintf(stderr, "stator: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "stator: %s\n", e.what());
    return 1;
  }
}

}  // namespace stator::server
