// Where requests to an endpoint get their credentials and region from: the environment, or the
// profiles that the AWS tools keep in files.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "net/signer.h"

namespace stator::client {

// Looks up an environment variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

struct Identity {
  std::optional<net::Credentials> credentials;
  std::optional<std::string> region;
};

// AWS_ACCESS_KEY_ID and its kin, else the profile of that name (empty: AWS_PROFILE, else "default")
// in the files that AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name (~/.aws/credentials and
// ~/.aws/config). With a profile given by name the environment's keys do not count. Throws
// std::runtime_error if a profile that was named is in neither file.
Identity find_identity(const Environment& environment, const std::string& profile);

}  // namespace stator::client
