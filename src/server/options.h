// What the server can be told, by flags, environment variables and a configuration file. One table
// in options.cc describes every option; the three sources and the help come from it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/log.h"
#include "database/database.h"
#include "net/server.h"
#include "triggers/invoker.h"
#include "triggers/kinesis.h"

namespace stator::server {

struct Options {
  DatabaseOptions database;
  net::ServerOptions net;
  // [functions] and [destinations] of the configuration file.
  triggers::Addresses addresses;
  triggers::KinesisOptions kinesis;  // [kinesis]
  int64_t trigger_retry_ms = 1000;
  size_t max_requests = 4096;  // under way at a time
  std::string log_level = "info";
  LogFormat log_format = LogFormat::kText;
  uint64_t slow_ms = 1000;  // requests that take longer are logged; 0: none
  bool in_memory = false;
};

// One clear line about what is wrong with the options.
class OptionsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Looks up an environment variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// One option as it is in force.
struct Setting {
  std::string name;    // "data-dir"
  std::string value;   // as a TOML value: "\"/var/lib/stator\"", "8000", "true"
  std::string source;  // "default", "file /etc/stator/stator.toml", "STATOR_PORT", "--port"
};

struct ParsedOptions {
  Options options;
  std::vector<Setting> settings;  // every option, in the order of the help
  std::string file;               // the configuration file; empty if there is none
  // Set if the options ask for a text (--help, --version) instead of a server.
  std::optional<std::string> print;
};

// A flag is stronger than STATOR_<NAME>, which is stronger than the configuration file (--config or
// STATOR_CONFIG, TOML), which is stronger than the default. Throws OptionsError.
ParsedOptions parse_options(const std::vector<std::string>& arguments,
                            const Environment& environment);

// What is in force and from where, as a configuration file that would have the same effect.
std::string describe_settings(const ParsedOptions& parsed);

// The name among `names` that is most like `word`, if one is like it at all.
std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& names);

}  // namespace stator::server
