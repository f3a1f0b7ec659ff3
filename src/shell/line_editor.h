// Reads lines from a terminal, with history and completion (libedit).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stator::shell {

// All names that `word`, with the text before it on the line, may be the beginning of.
using Complete =
    std::function<std::vector<std::string>(std::string_view before, std::string_view word)>;

class LineEditor {
 public:
  // History is read from and appended to that file; empty: none is kept.
  LineEditor(std::string history_file, Complete complete);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  // A line without its end; nothing at the end of the input. Empty if it was given up.
  std::optional<std::string> read(const std::string& prompt);
  // True if the last line was given up with Ctrl-C.
  bool cancelled() const;
  // Keeps a statement in the history.
  void remember(const std::string& statement);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The longest beginning that all of them have.
std::string common_prefix(const std::vector<std::string>& names);

}  // namespace stator::shell
