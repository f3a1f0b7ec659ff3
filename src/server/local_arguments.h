// DynamoDB Local's own command line, so that Stator can take its place by its name alone.
#pragma once

#include <string>
#include <vector>

namespace stator::server {

// True if the arguments are those of DynamoDB Local: -jar, or an option with one hyphen and a name.
bool is_local_command(const std::vector<std::string>& arguments);

struct LocalCommand {
  std::vector<std::string> arguments;  // the same in Stator's words
  std::vector<std::string> notes;      // what has no effect here, a sentence each
};
// Throws OptionsError for an option that DynamoDB Local does not have, or that lacks its value.
LocalCommand translate_local_command(const std::vector<std::string>& arguments);

}  // namespace stator::server
