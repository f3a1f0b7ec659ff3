#include "server/options.h"

#include <fmt/format.h>
#include <toml++/toml.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <limits>
#include <map>

#include "common/log.h"
#include "net/url.h"
#include "server/version.h"

namespace stator::server {

namespace {

constexpr const char* kDefaultDirectory = "stator-data";
constexpr const char* kAbout =
    "Stator: the DynamoDB API as a database.\n\n"
    "  stator [OPTIONS]          serves until SIGTERM or SIGINT (also: stator serve)\n"
    "  stator config [OPTIONS]   prints what is in force and from where\n"
    "  stator health [OPTIONS]   asks the server at --host and --port whether it is ready\n"
    "  stator shell              PartiQL and table commands at a prompt; see stator shell --help\n"
    "  stator import, export     moves tables in and out; see stator import --help\n"
    "  stator check DIRECTORY    verifies a data directory that no server uses\n\n"
    "Every option is also an environment variable "
    "(--data-dir: STATOR_DATA_DIR) and a key of the configuration file (data-dir); a flag is "
    "stronger "
    "than the environment, the environment than the file.";

// The value is taken, or the error says what would have been right: "must be …".
using Take = std::function<std::optional<std::string>(Options&, const std::string& value)>;

struct Option {
  std::string name;        // "data-dir"
  std::string value_name;  // in the help; empty for a switch
  std::string help;        // ends with the default in parentheses, unless it is a switch
  Take take;
  bool is_secret = false;  // no flag: those of a process can be seen by others

  std::string default_value() const {
    if (value_name.empty()) return "false";
    return help.substr(help.rfind('(') + 1, help.rfind(')') - help.rfind('(') - 1);
  }
  // As a TOML value. Account numbers are texts: they may begin with 0.
  std::string toml(const std::string& value) const {
    const bool is_text = !value_name.empty() && value_name != "N" && value_name != "PORT" &&
                         value_name != "MB" && value_name != "MS" && value_name != "SECONDS";
    if (!is_text)
      return value_name.empty() ? (value == "1" || value == "true" ? "true" : "false") : value;
    std::string quoted = "\"";
    for (const char c : value) {
      if (c == '"' || c == '\\') quoted.push_back('\\');
      quoted.push_back(c);
    }
    return quoted + "\"";
  }
};

std::optional<uint64_t> parse_number(const std::string& text, uint64_t least, uint64_t most) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < least || number > most) return std::nullopt;
  return number;
}

// An option that is a number between two bounds.
Take number(uint64_t least, uint64_t most, std::function<void(Options&, uint64_t)> set) {
  return [=](Options& options, const std::string& value) -> std::optional<std::string> {
    const std::optional<uint64_t> number = parse_number(value, least, most);
    if (!number) return fmt::format("must be a number from {} to {}", least, most);
    set(options, *number);
    return std::nullopt;
  };
}

Take milliseconds(uint64_t least, std::chrono::milliseconds net::ServerOptions::*field) {
  return number(least, 86'400'000, [field](Options& options, uint64_t value) {
    options.net.*field = std::chrono::milliseconds(value);
  });
}

std::optional<std::string> take_durability(Options& options, const std::string& value) {
  if (value == "sync") {
    options.database.durability = engine::Durability::kSync;
  } else if (value == "os") {
    options.database.durability = engine::Durability::kOs;
  } else {
    return "must be sync or os";
  }
  return std::nullopt;
}

std::optional<std::string> take_throttle(Options& options, const std::string& value) {
  if (value == "provisioned") {
    options.database.throttle = capacity::ThrottleMode::kProvisioned;
  } else if (value == "full") {
    options.database.throttle = capacity::ThrottleMode::kFull;
  } else if (value == "off") {
    options.database.throttle = capacity::ThrottleMode::kOff;
  } else {
    return "must be provisioned, full or off";
  }
  return std::nullopt;
}

std::optional<std::string> take_in_memory(Options& options, const std::string& value) {
  if (value == "true" || value == "1") {
    options.in_memory = true;
  } else if (value == "false" || value == "0") {
    options.in_memory = false;
  } else {
    return "must be true or false";
  }
  return std::nullopt;
}

std::optional<std::string> take_account(Options& options, const std::string& value) {
  const bool digits =
      std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (value.size() != 12 || !digits) return "must have twelve digits";
  options.database.account = value;
  return std::nullopt;
}

std::optional<std::string> take_region(Options& options, const std::string& value) {
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (value.empty() || value.size() > 64 || !plain)
    return "must be the name of a region, such as us-east-1";
  options.database.region = value;
  return std::nullopt;
}

objects::S3Options& s3_of(Options& options) {
  if (!options.database.objects.s3) options.database.objects.s3.emplace();
  return *options.database.objects.s3;
}

Take s3_text(std::string objects::S3Options::*field) {
  return [field](Options& options, const std::string& value) -> std::optional<std::string> {
    if (!value.empty()) s3_of(options).*field = value;  // empty is as good as not there
    return std::nullopt;
  };
}

std::optional<std::string> take_s3_endpoint(Options& options, const std::string& value) {
  if (value.empty()) return std::nullopt;
  if (!net::parse_url(value)) return "must be a URL, such as http://127.0.0.1:9000";
  s3_of(options).endpoint = value;
  return std::nullopt;
}

std::optional<std::string> take_s3_path_style(Options& options, const std::string& value) {
  if (value != "true" && value != "false") return "must be true or false";
  if (value == "false" || options.database.objects.s3) s3_of(options).path_style = value == "true";
  return std::nullopt;
}

const std::vector<Option>& table() {
  static const std::vector<Option> kTable = {
      {"host", "ADDRESS", "address to listen on (127.0.0.1)",
       [](Options& options, const std::string& value) -> std::optional<std::string> {
         if (value.empty()) return "must not be empty";
         options.net.host = value;
         return std::nullopt;
       }},
      {"port", "PORT", "port to listen on; 0 takes a free one (8000)",
       number(0, 65'535, [](Options& o, uint64_t v) { o.net.port = static_cast<uint16_t>(v); })},
      {"data-dir", "DIRECTORY", "where the data is kept (./stator-data)",
       [](Options& options, const std::string& value) -> std::optional<std::string> {
         if (value.empty()) return "must not be empty";
         options.database.directory = value;
         return std::nullopt;
       }},
      {"in-memory", "", "keep nothing: no files, all data is gone at the end", take_in_memory},
      {"durability", "sync|os",
       "sync: a write is answered after its flush to disk; os: it survives the process, not the "
       "machine (sync)",
       take_durability},
      {"region", "REGION", "region in ARNs and health texts (us-east-1)", take_region},
      {"account", "DIGITS", "account in ARNs (123456789012)", take_account},
      {"threads", "N", "network threads at the most; 0: as many as the hardware has (0)",
       number(0, 1024, [](Options& o, uint64_t v) { o.net.threads = static_cast<unsigned>(v); })},
      {"cache-mb", "MB", "block cache (256)",
       number(1, 1'048'576,
              [](Options& o, uint64_t v) { o.database.block_cache_bytes = v << 20; })},
      {"stream-shards", "N", "shards of a stream; more of them take effect at the next start (4)",
       number(1, 256,
              [](Options& o, uint64_t v) { o.database.stream_shards = static_cast<int64_t>(v); })},
      {"table-delay-ms", "MS", "how long CREATING, UPDATING and DELETING last (0)",
       number(0, 86'400'000,
              [](Options& o, uint64_t v) { o.database.table_delay_ms = static_cast<int64_t>(v); })},
      {"ttl-delay", "SECONDS", "how long after its time an expired item is deleted (0)",
       number(0, 31'536'000,
              [](Options& o, uint64_t v) { o.database.ttl_delay_s = static_cast<int64_t>(v); })},
      {"ttl-change-interval", "SECONDS",
       "least time between two changes of a table's time to live; the service's is 3600 (0)",
       number(0, 31'536'000,
              [](Options& o, uint64_t v) {
                o.database.ttl_change_interval_s = static_cast<int64_t>(v);
              })},
      {"throttle", "provisioned|full|off",
       "provisioned: capacity that a table asked for is kept; full: also the service's limit on a "
       "single partition key; off: nothing is throttled (provisioned)",
       take_throttle},
      {"trigger-retry-ms", "MS",
       "before a failed call of a function is made again; doubles up to 30 times that (1000)",
       number(1, 3'600'000,
              [](Options& o, uint64_t v) { o.trigger_retry_ms = static_cast<int64_t>(v); })},
      {"s3-root", "DIRECTORY",
       "where exports go and imports come from, each bucket a folder in it; without one: s3 in the "
       "data directory, or with --in-memory a temporary one ()",
       [](Options& options, const std::string& value) -> std::optional<std::string> {
         options.database.objects.root = value;
         return std::nullopt;
       }},
      {"s3-endpoint", "URL", "a service that speaks S3, for the buckets instead of the folder ()",
       take_s3_endpoint},
      {"s3-region", "REGION", "its region ()", s3_text(&objects::S3Options::region)},
      {"s3-access-key", "KEY", "its access key ()", s3_text(&objects::S3Options::access_key)},
      {"s3-secret-key", "KEY", "its secret key ()", s3_text(&objects::S3Options::secret_key), true},
      {"s3-session-token", "TOKEN", "of temporary credentials ()",
       s3_text(&objects::S3Options::session_token), true},
      {"s3-path-style", "true|false",
       "true: the bucket is in the path; false: before the name of the host (true)",
       take_s3_path_style},
      {"s3-ca-file", "FILE", "certificates (PEM) to trust besides the system's ()",
       s3_text(&objects::S3Options::ca_file)},
      {"max-connections", "N", "connections open at a time (10000)",
       number(1, 1'000'000, [](Options& o, uint64_t v) { o.net.max_connections = v; })},
      {"max-requests", "N", "requests under way at a time; further ones are answered 503 (4096)",
       number(1, 1'000'000, [](Options& o, uint64_t v) { o.max_requests = v; })},
      {"request-memory-mb", "MB", "large requests and answers not yet taken, all together (1024)",
       number(16, 1'048'576, [](Options& o, uint64_t v) { o.net.memory_limit_bytes = v << 20; })},
      {"header-timeout-ms", "MS", "for a request's header to arrive (10000)",
       milliseconds(10, &net::ServerOptions::header_timeout)},
      {"idle-timeout-ms", "MS", "between two requests of a connection (300000)",
       milliseconds(10, &net::ServerOptions::idle_timeout)},
      {"transfer-timeout-ms", "MS", "for a body to arrive or an answer to be taken (30000)",
       milliseconds(10, &net::ServerOptions::transfer_timeout)},
      {"drain-timeout-ms", "MS", "for requests under way when the server is told to end (10000)",
       milliseconds(0, &net::ServerOptions::drain_timeout)},
      {"log-level", "LEVEL", "trace, debug, info, warn, error or off (info)",
       [](Options& options, const std::string& value) -> std::optional<std::string> {
         if (!parse_log_level(value)) return "must be trace, debug, info, warn, error or off";
         options.log_level = value;
         return std::nullopt;
       }},
      {"log-format", "text|json", "text: a line to read; json: an object a line (text)",
       [](Options& options, const std::string& value) -> std::optional<std::string> {
         if (value != "text" && value != "json") return "must be text or json";
         options.log_format = value == "json" ? LogFormat::kJson : LogFormat::kText;
         return std::nullopt;
       }},
      {"slow-ms", "MS",
       "requests that take longer are logged, with where the time went; 0: none is (1000)",
       number(0, 86'400'000, [](Options& o, uint64_t v) { o.slow_ms = v; })},
  };
  return kTable;
}

// `source` is how the user wrote the option: "--port", "STATOR_PORT", "port in stator.toml".
void take(const Option& option, const std::string& source, const std::string& value,
          ParsedOptions& parsed) {
  const std::optional<std::string> error = option.take(parsed.options, value);
  if (error) throw OptionsError(fmt::format("{} {}, not '{}'", source, *error, value));
  for (Setting& setting : parsed.settings) {
    if (setting.name != option.name) continue;
    setting.value = option.toml(option.is_secret && !value.empty() ? "***" : value);
    setting.source = source;
  }
}

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const Option& option : table()) names.push_back(option.name);
  return names;
}

// " (did you mean port?)", or nothing.
std::string suggestion(std::string_view word, std::string_view prefix = {}) {
  const std::optional<std::string> name = nearest_name(word, option_names());
  return name ? fmt::format(" (did you mean {}{}?)", prefix, *name) : std::string();
}

std::string environment_name(const std::string& option) {
  std::string name = "STATOR_" + option;
  for (char& c : name) {
    if (c == '-') c = '_';
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - ('a' - 'A'));
  }
  return name;
}

// A value of the file as it would be written in a flag; nothing for a table or a list.
std::optional<std::string> plain_text(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto integer = node.value_exact<int64_t>()) return std::to_string(*integer);
  if (const auto boolean = node.value_exact<bool>()) return *boolean ? "true" : "false";
  return std::nullopt;
}

// A table of names and addresses.
std::map<std::string, net::Url> read_addresses(const std::string& source, const toml::node& node) {
  if (!node.is_table()) throw OptionsError(source + " must be a table of names and addresses");
  std::map<std::string, net::Url> addresses;
  for (const auto& [key, value] : *node.as_table()) {
    const std::string name(key.str());
    const auto text = value.value_exact<std::string>();
    const auto url = text ? net::parse_url(*text) : std::nullopt;
    if (!url) {
      throw OptionsError(
          fmt::format("{}: {} must be an address such as http://127.0.0.1:9001", source, name));
    }
    addresses.emplace(name, *url);
  }
  return addresses;
}

void read_kinesis(const std::string& source, const toml::node& node,
                  triggers::KinesisOptions& kinesis) {
  if (!node.is_table()) throw OptionsError(source + " must be a table");
  for (const auto& [key, value] : *node.as_table()) {
    const std::string name(key.str());
    const auto text = value.value_exact<std::string>();
    if (!text) throw OptionsError(fmt::format("{}: {} must be a text", source, name));
    if (name == "endpoint") {
      kinesis.endpoint = net::parse_url(*text);
      if (!kinesis.endpoint) {
        throw OptionsError(
            fmt::format("{}: endpoint must be an address such as http://127.0.0.1:4567", source));
      }
    } else if (name == "access-key") {
      kinesis.credentials.access_key = *text;
    } else if (name == "secret-key") {
      kinesis.credentials.secret_key = *text;
    } else {
      throw OptionsError(fmt::format("unknown key in {}: {}", source, name));
    }
  }
}

void read_file(const std::string& path, ParsedOptions& parsed) {
  toml::table file;
  try {
    file = toml::parse_file(path);
  } catch (const toml::parse_error& e) {
    const auto line = e.source().begin.line;
    throw OptionsError(line == 0 ? fmt::format("cannot read {}: {}", path, e.description())
                                 : fmt::format("{}:{}: {}", path, line, e.description()));
  }
  std::string unknown;
  const auto take_one = [&](const std::string& name, const std::string& shown,
                            const toml::node& node) {
    const auto option = std::find_if(table().begin(), table().end(), [&](const Option& candidate) {
      return candidate.name == name;
    });
    if (option == table().end()) {
      unknown += (unknown.empty() ? "" : ", ") + shown + suggestion(name);
      return;
    }
    const std::string source = fmt::format("{} in {}", shown, path);
    const std::optional<std::string> value = plain_text(node);
    if (!value) throw OptionsError(source + " must be a text, a whole number or true or false");
    take(*option, source, *value, parsed);
  };
  for (const auto& [key, node] : file) {
    const std::string name(key.str());
    if (name == "functions" || name == "destinations") {
      auto& addresses = name == "functions" ? parsed.options.addresses.functions
                                            : parsed.options.addresses.destinations;
      addresses = read_addresses(fmt::format("{} in {}", name, path), node);
      continue;
    }
    if (name == "kinesis") {
      read_kinesis(fmt::format("kinesis in {}", path), node, parsed.options.kinesis);
      continue;
    }
    if (name != "s3" || !node.is_table()) {
      take_one(name, name, node);
      continue;
    }
    // [s3] endpoint is s3-endpoint.
    for (const auto& [inner, value] : *node.as_table()) {
      std::string option = "s3-" + std::string(inner.str());
      std::replace(option.begin(), option.end(), '_', '-');
      take_one(option, "s3." + std::string(inner.str()), value);
    }
  }
  if (!unknown.empty()) throw OptionsError(fmt::format("unknown key in {}: {}", path, unknown));
}

// How many letters have to be put in, taken out, replaced or swapped with their neighbour.
size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::vector<size_t>> cost(left.size() + 1, std::vector<size_t>(right.size() + 1));
  for (size_t i = 0; i <= left.size(); ++i) {
    for (size_t j = 0; j <= right.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const size_t replaced = cost[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1])
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[left.size()][right.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& names) {
  std::string plain(word);
  for (char& c : plain) {
    if (c == '_') c = '-';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  // A word of which a third is wrong is another word.
  size_t least = std::max<size_t>(1, plain.size() / 3) + 1;
  std::optional<std::string> nearest;
  for (const std::string& name : names) {
    const size_t distance = edit_distance(plain, name);
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

namespace {

std::string url_text(const net::Url& url) {
  std::string text = url.is_https ? "https://" : "http://";
  text.append(url.authority()).append(url.path);
  if (!url.query.empty()) text.append("?").append(url.query);
  return text;
}

}  // namespace

std::string describe_settings(const ParsedOptions& parsed) {
  std::string text =
      fmt::format("# Stator {}, {}\n", kVersion,
                  parsed.file.empty() ? "without a configuration file"
                                      : "with the configuration file " + parsed.file);
  size_t widest = 0;
  for (const Setting& setting : parsed.settings)
    widest = std::max(widest, setting.name.size() + setting.value.size());
  for (const Setting& setting : parsed.settings) {
    const size_t width = widest - setting.name.size();
    text += fmt::format("{} = {:<{}}  # {}\n", setting.name, setting.value, width, setting.source);
  }
  const auto add_addresses = [&](std::string_view name,
                                 const std::map<std::string, net::Url>& addresses) {
    if (addresses.empty()) return;
    text += fmt::format("\n[{}]\n", name);
    for (const auto& [key, url] : addresses)
      text += fmt::format("\"{}\" = \"{}\"\n", key, url_text(url));
  };
  add_addresses("functions", parsed.options.addresses.functions);
  add_addresses("destinations", parsed.options.addresses.destinations);
  if (const auto& endpoint = parsed.options.kinesis.endpoint)
    text += fmt::format("\n[kinesis]\nendpoint = \"{}\"\n", url_text(*endpoint));
  return text;
}

ParsedOptions parse_options(const std::vector<std::string>& arguments,
                            const Environment& environment) {
  CLI::App app(kAbout, "stator");
  app.set_version_flag("--version", fmt::format("Stator {}", kVersion));
  std::string config;
  app.add_option("--config", config, "configuration file (TOML)")->type_name("FILE");
  std::map<std::string, std::string> flags;
  for (const Option& option : table()) {
    if (option.is_secret) continue;
    if (option.value_name.empty()) {
      app.add_flag("--" + option.name, flags[option.name], option.help);
    } else {
      app.add_option("--" + option.name, flags[option.name], option.help)
          ->type_name(option.value_name);
    }
  }
  ParsedOptions result;
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    result.print = app.help();
    return result;
  } catch (const CLI::CallForVersion&) {
    result.print = fmt::format("Stator {}\n", kVersion);
    return result;
  } catch (const CLI::ExtrasError& e) {
    std::string text = e.what();
    for (const std::string& word : app.remaining()) {
      if (word.substr(0, 2) == "--")
        text += suggestion(std::string_view(word).substr(2, word.find('=') - 2), "--");
    }
    throw OptionsError(text);
  } catch (const CLI::ParseError& e) {
    std::string text = e.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    throw OptionsError(text);
  }

  Options& options = result.options;
  options.database.directory = kDefaultDirectory;
  for (const Option& option : table())
    result.settings.push_back({option.name, option.toml(option.default_value()), "default"});
  if (app.count("--config") == 0) config = environment("STATOR_CONFIG").value_or("");
  result.file = config;
  if (!config.empty()) read_file(config, result);
  for (const Option& option : table()) {
    const std::string name = environment_name(option.name);
    if (const std::optional<std::string> value = environment(name)) {
      take(option, name, *value, result);
    }
  }
  for (const Option& option : table()) {
    if (option.is_secret || app.count("--" + option.name) == 0) continue;
    take(option, "--" + option.name, flags[option.name], result);
  }
  if (options.database.objects.s3 && options.database.objects.s3->endpoint.empty()) {
    throw OptionsError("settings of S3 need an endpoint: s3-endpoint");
  }
  if (options.in_memory) options.database.durability = engine::Durability::kMemory;
  return result;
}

}  // namespace stator::server
