#include "shell/input.h"

#include <algorithm>

namespace stator::shell {

namespace {

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

// The end of the first statement in `text`: where its ';' is. npos if it is not complete.
size_t end_of_statement(std::string_view text) {
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '-') {
      i = text.find('\n', i);
      if (i == std::string_view::npos) return i;
    } else if (c == ';') {
      return i;
    }
  }
  return std::string_view::npos;
}

std::string without_comments(std::string_view text) {
  std::string out;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && c == '-' && i + 1 < text.size() && text[i + 1] == '-') {
      i = text.find('\n', i);
      if (i == std::string_view::npos) break;
      out.push_back('\n');
      continue;
    }
    if (quote != 0 ? c == quote : (c == '\'' || c == '"')) quote = quote != 0 ? 0 : c;
    out.push_back(c);
  }
  return std::string(trim(out));
}

}  // namespace

const std::vector<std::string>& command_names() {
  static const std::vector<std::string> names = {
      "help",  "tables", "describe", "create", "drop", "format", "more",
      "begin", "commit", "rollback", "count",  "quit", "exit",   "history",
  };
  return names;
}

bool is_command(std::string_view statement) {
  const std::vector<std::string> words = words_of(statement);
  if (words.empty()) return false;
  const std::string first = lower(words[0]);
  const auto& names = command_names();
  return std::find(names.begin(), names.end(), first) != names.end();
}

std::vector<std::string> Input::take(std::string_view line) {
  std::vector<std::string> statements;
  text_.append(line).push_back('\n');
  for (size_t end = end_of_statement(text_); end != std::string::npos;
       end = end_of_statement(text_)) {
    std::string statement = without_comments(std::string_view(text_).substr(0, end));
    if (!statement.empty()) statements.push_back(std::move(statement));
    text_.erase(0, end + 1);
  }
  const std::string left = without_comments(text_);
  if (left.empty()) {
    text_.clear();
  } else if (is_command(left)) {
    statements.push_back(left);
    text_.clear();
  }
  return statements;
}

std::optional<std::string> Input::rest() {
  std::string left = without_comments(text_);
  text_.clear();
  if (left.empty()) return std::nullopt;
  return left;
}

bool Input::pending() const {
  return !without_comments(text_).empty();
}

std::vector<std::string> words_of(std::string_view statement) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  const auto finish = [&] {
    if (inside) words.push_back(std::move(word));
    word.clear();
    inside = false;
  };
  for (const char c : statement) {
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word.push_back(c);
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
      inside = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      finish();
    } else if (c == '(' || c == ')' || c == ',') {
      finish();
      words.emplace_back(1, c);
    } else {
      word.push_back(c);
      inside = true;
    }
  }
  finish();
  return words;
}

}  // namespace stator::shell
