// `stator health`: asks a running server whether it is ready. For images that have no other HTTP
// client, and for scripts.
#pragma once

#include <string>
#include <vector>

#include "server/options.h"

namespace stator::server {

// The answer's status and body of GET /_stator/ready, or status 0 and why there is none.
struct HealthAnswer {
  int status = 0;
  std::string text;
};
HealthAnswer ask_health(const std::string& host, uint16_t port, int timeout_s);

// Prints one line; 0 if the server is ready, 1 if it is not. Host and port are those of the
// options, as the server takes them; without arguments in a container, those of its first process.
int check_health(std::vector<std::string> arguments, const Environment& environment);

}  // namespace stator::server
