// What a person types, cut into statements.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stator::shell {

// Collects lines into statements. A statement of PartiQL ends with ';' outside of quotes and
// comments; a command of the shell (the first word says so) ends with its line as well.
class Input {
 public:
  // Takes a line and gives what is complete with it, without ';'.
  std::vector<std::string> take(std::string_view line);
  // What is left at the end of the input.
  std::optional<std::string> rest();
  // True within a statement.
  bool pending() const;
  void clear() { text_.clear(); }

 private:
  std::string text_;
};

// "describe Orders" as its words; quotes keep a name with spaces together.
std::vector<std::string> words_of(std::string_view statement);
// True if the statement is one of the shell's own.
bool is_command(std::string_view statement);
// The names of the shell's own commands.
const std::vector<std::string>& command_names();

}  // namespace stator::shell
