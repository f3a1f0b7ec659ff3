// stator check DIRECTORY
#pragma once

#include <string>
#include <vector>

namespace stator::server {

// Looks through a data directory and prints what it found. Returns the process's exit code: 0 if
// all is well, 1 if not, 2 if there was nothing to look at. Throws OptionsError.
int run_check(const std::vector<std::string>& arguments);

}  // namespace stator::server
