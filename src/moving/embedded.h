// A data directory as an endpoint: the database itself, without a server.
#pragma once

#include <filesystem>
#include <memory>

#include "client/endpoint.h"

namespace stator::moving {

// Throws std::runtime_error with one clear sentence if the directory cannot be used, also because a
// server uses it.
std::unique_ptr<client::Endpoint> open_directory(const std::filesystem::path& directory);

}  // namespace stator::moving
