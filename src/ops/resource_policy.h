// Resource-based policies: kept, shown and checked for form. Nobody is refused by one.
#pragma once

#include <string>
#include <string_view>

namespace stator::ops {

// The policy as it is kept: without white space. Throws what the service says about a text that is
// too long or no policy document.
std::string read_resource_policy(std::string_view text);

}  // namespace stator::ops
