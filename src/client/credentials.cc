#include "client/credentials.h"

#include <cstdlib>
#include <fstream>
#include <map>
#include <stdexcept>

namespace stator::client {

namespace {

using Section = std::map<std::string, std::string>;

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

// One section of an ini file, as the AWS tools write them. Nothing if the file has none.
std::optional<Section> read_section(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::optional<Section> section;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    const std::string_view text = trim(line);
    if (text.empty() || text.front() == '#' || text.front() == ';') continue;
    if (text.front() == '[') {
      inside = trim(text.substr(1, text.find(']') - 1)) == name;
      if (inside && !section) section.emplace();
      continue;
    }
    // A line that is indented belongs to a setting with parts of its own.
    if (!inside || line.front() == ' ' || line.front() == '\t') continue;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    (*section)[std::string(trim(text.substr(0, equals)))] = trim(text.substr(equals + 1));
  }
  return section;
}

void take(const Section& section, Identity& identity) {
  const auto get = [&](const char* name) {
    const auto at = section.find(name);
    return at != section.end() ? at->second : std::string();
  };
  if (!identity.credentials && !get("aws_access_key_id").empty()) {
    identity.credentials = net::Credentials{get("aws_access_key_id"), get("aws_secret_access_key"),
                                            get("aws_session_token")};
  }
  if (!identity.region && !get("region").empty()) identity.region = get("region");
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

Identity find_identity(const Environment& environment, const std::string& profile) {
  Identity identity;
  const auto key = environment("AWS_ACCESS_KEY_ID");
  const auto secret = environment("AWS_SECRET_ACCESS_KEY");
  if (profile.empty() && key && secret) {
    identity.credentials =
        net::Credentials{*key, *secret, environment("AWS_SESSION_TOKEN").value_or("")};
  }
  identity.region = environment("AWS_REGION");
  if (!identity.region) identity.region = environment("AWS_DEFAULT_REGION");

  const std::string home = environment("HOME").value_or("") + "/.aws/";
  const std::string credentials_file =
      environment("AWS_SHARED_CREDENTIALS_FILE").value_or(home + "credentials");
  const std::string config_file = environment("AWS_CONFIG_FILE").value_or(home + "config");
  const std::optional<std::string> from_environment = environment("AWS_PROFILE");
  const bool named = !profile.empty() || from_environment;
  const std::string name =
      !profile.empty() ? profile : from_environment.value_or(std::string("default"));
  const auto credentials = read_section(credentials_file, name);
  const auto config = read_section(config_file, name == "default" ? name : "profile " + name);
  if (named && !credentials && !config) {
    throw std::runtime_error("there is no profile '" + name + "' in " + credentials_file + " or " +
                             config_file);
  }
  if (credentials) take(*credentials, identity);
  if (config) take(*config, identity);
  return identity;
}

}  // namespace stator::client
