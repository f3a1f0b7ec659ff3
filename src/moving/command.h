// `stator import` and `stator export`: moving tables between endpoints, data directories and files.
#pragma once

#include <string>
#include <vector>

#include "client/credentials.h"

namespace stator::moving {

// The exit code: 0; 1 if it failed or items were refused; 2 for wrong arguments.
int run_import(const std::vector<std::string>& arguments, const client::Environment& environment);
int run_export(const std::vector<std::string>& arguments, const client::Environment& environment);

}  // namespace stator::moving
