// `stator shell`: PartiQL and table commands at a prompt or in a pipe.
#pragma once

#include <string>
#include <vector>

#include "client/credentials.h"

namespace stator::shell {

// The exit code: 0, 1 if a statement failed or the endpoint cannot be used, 2 for wrong arguments.
int run(const std::vector<std::string>& arguments, const client::Environment& environment);

}  // namespace stator::shell
