// What the server can be told, by flags, environment variables and a configuration file. One table
// in options.cc describes every option; the three sources and the help come from it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "database/database.h"
#include "net/server.h"
#include "triggers/invoker.h"

namespace stator::server {

struct Options {
  DatabaseOptions database;
  net::ServerOptions net;
  // [functions] and [destinations] of the configuration file.
  triggers::Addresses addresses;
  int64_t trigger_retry_ms = 1000;
  std::string log_level = "info";
  bool in_memory = false;
};

// One clear line about what is wrong with the options.
class OptionsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Looks up an environment variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct ParsedOptions {
  Options options;
  // Set if the options ask for a text (--help, --version) instead of a server.
  std::optional<std::string> print;
};

// A flag is stronger than STATOR_<NAME>, which is stronger than the configuration file (--config or
// STATOR_CONFIG, TOML), which is stronger than the default. Throws OptionsError.
ParsedOptions parse_options(const std::vector<std::string>& arguments,
                            const Environment& environment);

}  // namespace stator::server
