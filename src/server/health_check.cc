#include "server/health_check.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "server/local_arguments.h"

namespace stator::server {

namespace {

constexpr int kTimeoutS = 3;
constexpr size_t kMostBytes = 64 * 1024;

class Socket {
 public:
  explicit Socket(int number) : number_(number) {}
  ~Socket() { ::close(number_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

// What listens on every address is asked on the loopback one.
std::string reachable(const std::string& host) {
  if (host == "0.0.0.0") return "127.0.0.1";
  if (host == "::") return "::1";
  return host;
}

HealthAnswer ask(const addrinfo& address, int timeout_s) {
  const Socket socket(::socket(address.ai_family, address.ai_socktype, address.ai_protocol));
  const timeval timeout{timeout_s, 0};
  setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  setsockopt(socket.number(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
  if (::connect(socket.number(), address.ai_addr, address.ai_addrlen) != 0)
    return {0, std::strerror(errno)};
  constexpr std::string_view kRequest =
      "GET /_stator/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  if (::send(socket.number(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL) < 0)
    return {0, std::strerror(errno)};
  std::string answer;
  char buffer[4096];
  while (answer.size() < kMostBytes) {
    const ssize_t bytes = ::recv(socket.number(), buffer, sizeof buffer, 0);
    if (bytes < 0) return {0, std::strerror(errno)};
    if (bytes == 0) break;
    answer.append(buffer, static_cast<size_t>(bytes));
  }
  HealthAnswer result;
  constexpr size_t kStatusAt = sizeof("HTTP/1.1 ") - 1;
  if (answer.size() > kStatusAt + 3)
    std::from_chars(answer.data() + kStatusAt, answer.data() + kStatusAt + 3, result.status);
  const size_t body = answer.find("\r\n\r\n");
  result.text = body != std::string::npos ? answer.substr(body + 4) : "no answer";
  return result;
}

// The arguments of a container's first process, if that is this program.
std::vector<std::string> arguments_of_first_process() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto first = std::filesystem::read_symlink("/proc/1/exe", error);
  if (error || self != first) return {};
  std::ifstream file("/proc/1/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (!words.empty()) words.erase(words.begin());
  if (!words.empty() && words[0] == "serve") words.erase(words.begin());
  return words;
}

}  // namespace

HealthAnswer ask_health(const std::string& host, uint16_t port, int timeout_s) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return {0, gai_strerror(error)};
  HealthAnswer answer = ask(*found, timeout_s);
  freeaddrinfo(found);
  return answer;
}

int check_health(std::vector<std::string> arguments, const Environment& environment) {
  if (arguments.empty()) arguments = arguments_of_first_process();
  if (is_local_command(arguments)) arguments = translate_local_command(arguments).arguments;
  const ParsedOptions parsed = parse_options(arguments, environment);
  if (parsed.print) {
    std::fputs(parsed.print->c_str(), stdout);
    return 0;
  }
  const std::string host = reachable(parsed.options.net.host);
  const HealthAnswer answer = ask_health(host, parsed.options.net.port, kTimeoutS);
  if (answer.status == 200) {
    std::fputs("ready\n", stdout);
    return 0;
  }
  std::fprintf(stderr, "stator: %s:%u is not ready: %s\n", host.c_str(),
               static_cast<unsigned>(parsed.options.net.port), answer.text.c_str());
  return 1;
}

}  // namespace stator::server
