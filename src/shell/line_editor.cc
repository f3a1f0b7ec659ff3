#include "shell/line_editor.h"

#include <histedit.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace stator::shell {

namespace {
constexpr int kHistoryLines = 1000;
constexpr std::string_view kBetweenWords = " \t\n(),;=<>+-*/[]'\"";
}  // namespace

struct LineEditor::State {
  std::string history_file;
  Complete complete;
  std::string prompt;
  bool cancelled = false;
  EditLine* editor = nullptr;
  History* history = nullptr;

  static State& of(EditLine* editor) {
    void* data = nullptr;
    el_get(editor, EL_CLIENTDATA, &data);
    return *static_cast<State*>(data);
  }
  static char* prompt_of(EditLine* editor) { return of(editor).prompt.data(); }
  static unsigned char complete_word(EditLine* editor, int /*key*/);
  static unsigned char cancel_line(EditLine* editor, int /*key*/);
};

// Bound to Ctrl-C.
unsigned char LineEditor::State::cancel_line(EditLine* editor, int /*key*/) {
  of(editor).cancelled = true;
  std::fputs("^C", stdout);
  return CC_NEWLINE;
}

// Bound to the tab key: inserts what all completions have in common, else shows them.
unsigned char LineEditor::State::complete_word(EditLine* editor, int /*key*/) {
  State& state = of(editor);
  const LineInfo* line = el_line(editor);
  const std::string_view before(line->buffer, static_cast<size_t>(line->cursor - line->buffer));
  const size_t begin = before.find_last_of(kBetweenWords);
  const std::string_view word = begin == std::string_view::npos ? before : before.substr(begin + 1);
  std::vector<std::string> names =
      state.complete(before.substr(0, before.size() - word.size()), word);
  if (names.empty()) return CC_REFRESH_BEEP;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const std::string common = names.size() == 1 ? names[0] + " " : common_prefix(names);
  if (common.size() > word.size() || names.size() == 1) {
    el_deletestr(editor, static_cast<int>(word.size()));
    el_insertstr(editor, common.c_str());
    return CC_REFRESH;
  }
  std::fputc('\n', stdout);
  for (const std::string& name : names) std::printf("%s  ", name.c_str());
  std::fputc('\n', stdout);
  return CC_REDISPLAY;
}

LineEditor::LineEditor(std::string history_file, Complete complete)
    : state_(std::make_unique<State>()) {
  state_->history_file = std::move(history_file);
  state_->complete = std::move(complete);
  state_->editor = el_init("stator", stdin, stdout, stderr);
  state_->history = history_init();
  HistEvent event{};
  history(state_->history, &event, H_SETSIZE, kHistoryLines);
  history(state_->history, &event, H_SETUNIQUE, 1);
  if (!state_->history_file.empty())
    history(state_->history, &event, H_LOAD, state_->history_file.c_str());
  el_set(state_->editor, EL_CLIENTDATA, state_.get());
  el_set(state_->editor, EL_PROMPT, &State::prompt_of);
  el_set(state_->editor, EL_EDITOR, "emacs");
  el_set(state_->editor, EL_SIGNAL, 1);
  el_set(state_->editor, EL_HIST, history, state_->history);
  el_set(state_->editor, EL_ADDFN, "complete-word", "completes a name", &State::complete_word);
  el_set(state_->editor, EL_BIND, "^I", "complete-word", nullptr);
  // As a key and not as a signal, so that it ends the line and not the shell.
  el_set(state_->editor, EL_SETTY, "-d", "-isig", nullptr);
  el_set(state_->editor, EL_ADDFN, "cancel-line", "gives the line up", &State::cancel_line);
  el_set(state_->editor, EL_BIND, "^C", "cancel-line", nullptr);
  el_set(state_->editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(state_->editor, nullptr);
}

LineEditor::~LineEditor() {
  el_end(state_->editor);
  history_end(state_->history);
}

std::optional<std::string> LineEditor::read(const std::string& prompt) {
  state_->prompt = prompt;
  state_->cancelled = false;
  int count = 0;
  const char* line = el_gets(state_->editor, &count);
  if (state_->cancelled) return std::string();
  if (line == nullptr || count <= 0) return std::nullopt;
  std::string text(line, static_cast<size_t>(count));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

void LineEditor::remember(const std::string& statement) {
  HistEvent event{};
  history(state_->history, &event, H_ENTER, statement.c_str());
  if (!state_->history_file.empty())
    history(state_->history, &event, H_SAVE, state_->history_file.c_str());
}

bool LineEditor::cancelled() const {
  return state_->cancelled;
}

std::string common_prefix(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  size_t length = names[0].size();
  for (const std::string& name : names) {
    const auto end = std::mismatch(names[0].begin(), names[0].begin() + static_cast<long>(length),
                                   name.begin(), name.end());
    length = static_cast<size_t>(end.first - names[0].begin());
  }
  return names[0].substr(0, length);
}

}  // namespace stator::shell
