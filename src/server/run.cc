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
#include "moving/command.h"
#include "net/server.h"
#include "net/signature.h"
#include "server/check_command.h"
#include "server/health_check.h"
#include "server/local_arguments.h"
#include "server/options.h"
#include "server/process_memory.h"
#include "server/process_metrics.h"
#include "server/service_manager.h"
#include "server/version.h"
#include "shell/shell.h"
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
    // A limit on the size of files is an error of the write, not the end of the process.
    std::signal(SIGXFSZ, SIG_IGN);
  }
  int wait() const {
    int number = 0;
    sigwait(&set_, &number);
    return number;
  }

 private:
  sigset_t set_;
};

OptionsError unknown_command(const std::string& command) {
  const std::vector<std::string> commands = {"serve",  "config", "health", "shell",
                                             "import", "export", "check"};
  const std::optional<std::string> nearest = nearest_name(command, commands);
  return OptionsError(fmt::format(
      "there is no command '{}'{}", command,
      nearest ? fmt::format(" (did you mean {}?)", *nearest) : "; stator --help names them"));
}

int serve(const Options& options) {
  keep_freed_memory();
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
  triggers::KinesisOptions kinesis_options = options.kinesis;
  kinesis_options.region = options.database.region;
  triggers::KinesisInvoker kinesis(kinesis_options, clock);
  triggers::Mappings mappings(*database, invoker, clock, mappings_options,
                              kinesis_options.endpoint ? &kinesis : nullptr);
  http::ServiceOptions service_options;
  service_options.region = options.database.region;
  service_options.version = kVersion;
  service_options.body_limit_bytes = options.net.body_limit_bytes;
  service_options.max_requests = options.max_requests;
  service_options.slow_ms = options.slow_ms;
  service_options.ending = [&server] { return server.is_draining(); };
  service_options.process_metrics = [&server, &mappings](metrics::Text& text) {
    write_process_metrics(text);
    server.write_metrics(text);
    mappings.write_metrics(text);
  };
  const net::AcceptEverySignature signatures;
  http::Service service(service_options, *database, signatures, &mappings);
  server.start(service);
  mappings.start();
  const std::string ready = ready_line(options, server.port());
  std::fwrite(ready.data(), 1, ready.size(), stdout);
  std::fflush(stdout);
  tell_service_manager("READY=1");
  release_startup_pages();

  const int number = signals.wait();
  tell_service_manager("STOPPING=1");
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
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::string command =
      !arguments.empty() && arguments[0].substr(0, 1) != "-" ? arguments[0] : "serve";
  try {
    std::vector<std::string> notes;
    if (is_local_command(arguments)) {
      LocalCommand local = translate_local_command(arguments);
      arguments = std::move(local.arguments);
      notes = std::move(local.notes);
    } else {
      if (!arguments.empty() && arguments[0] == command) arguments.erase(arguments.begin());
      if (command == "health") return check_health(arguments, from_environment);
      if (command == "shell") return shell::run(arguments, client::process_environment());
      if (command == "import") return moving::run_import(arguments, client::process_environment());
      if (command == "check") return run_check(arguments);
      if (command == "export") return moving::run_export(arguments, client::process_environment());
      if (command != "serve" && command != "config") throw unknown_command(command);
    }
    const ParsedOptions parsed = parse_options(arguments, from_environment);
    if (parsed.print) {
      std::fputs(parsed.print->c_str(), stdout);
      return 0;
    }
    if (command == "config") {
      std::fputs(describe_settings(parsed).c_str(), stdout);
      return 0;
    }
    start_logging(*parse_log_level(parsed.options.log_level), parsed.options.log_format);
    for (const std::string& note : notes) spdlog::info("{}", note);
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
