// Helpers of the expression tests: values and items in a short notation, so that a case is one
// line.
//
//   1 -2.5        number            "x"      string        b"x"     binary (as bytes)
//   true null     boolean, null     [1, 2]   list          {a: 1}   map
//   <1, 2>        set of numbers, strings or binaries
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "expr/expr.h"
#include "model/error.h"
#include "model/value.h"

namespace stator::expr::testing {

class Notation {
 public:
  explicit Notation(std::string_view text) : text_(text) {}

  model::Value value() {
    skip();
    const char c = text_.at(at_);
    if (c == '"') return model::Value::string(quoted());
    if (c == 'b' && text_.substr(at_, 2) == "b\"") {
      ++at_;
      return model::Value::binary(quoted());
    }
    if (c == '[') return list();
    if (c == '{') return model::Value::map(map());
    if (c == '<') return set();
    const std::string word = bare();
    if (word == "true" || word == "false") return model::Value::boolean(word == "true");
    if (word == "null") return model::Value::null();
    const auto number = model::Number::parse(word);
    EXPECT_TRUE(number.has_value()) << word;
    return model::Value::number(number.value_or(model::Number()));
  }

  model::Map map() {
    model::Map map;
    expect('{');
    while (!take('}')) {
      skip();
      const std::string name = text_.at(at_) == '"' ? quoted() : bare();
      expect(':');
      map.set(name, value());
      take(',');
    }
    return map;
  }

  // `{...}` without the braces, in the order written.
  std::vector<std::pair<std::string, model::Value>> entries() {
    std::vector<std::pair<std::string, model::Value>> out;
    for (skip(); at_ < text_.size(); skip()) {
      std::string name = bare();
      expect('=');
      out.emplace_back(std::move(name), value());
      take(',');
    }
    return out;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) { ASSERT_TRUE(take(c)) << c << " expected at " << at_ << " of " << text_; }
  std::string quoted() {
    std::string out;
    for (++at_; text_.at(at_) != '"'; ++at_) out += text_[at_];
    ++at_;
    return out;
  }
  std::string bare() {
    const size_t begin = at_;
    while (
        at_ < text_.size() &&
        std::string_view(" ,:=[]{}<>").find(text_[at_] == ':' && at_ == begin ? 'x' : text_[at_]) ==
            std::string_view::npos) {
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }
  model::Value list() {
    model::List list;
    expect('[');
    while (!take(']')) {
      list.push_back(value());
      take(',');
    }
    return model::Value::list(std::move(list));
  }
  model::Value set() {
    std::vector<std::string> texts;
    std::vector<model::Number> numbers;
    bool binary = false;
    expect('<');
    while (!take('>')) {
      const model::Value member = value();
      if (member.is(model::Type::kNumber)) numbers.push_back(member.as_number());
      if (member.is(model::Type::kString)) texts.push_back(member.as_string());
      if (member.is(model::Type::kBinary)) {
        binary = true;
        texts.push_back(member.as_binary());
      }
      take(',');
    }
    if (!numbers.empty()) return model::Value::number_set(std::move(numbers));
    return binary ? model::Value::binary_set(std::move(texts))
                  : model::Value::string_set(std::move(texts));
  }

  std::string_view text_;
  size_t at_ = 0;
};

inline model::Value value(std::string_view text) {
  return Notation(text).value();
}
inline model::Item item(std::string_view text) {
  return Notation(text).map();
}

// The same notation back, names sorted.
inline std::string show(const model::Value& value);
inline std::string show(const model::Map& map) {
  std::string out;
  for (const model::Attribute& attribute : map) {
    if (!out.empty()) out += ", ";
    out += attribute.name + ": " + show(attribute.value);
  }
  return "{" + out + "}";
}
inline std::string show(const model::Value& value) {
  const auto join = [](const auto& members, const auto& one) {
    std::string out;
    for (const auto& member : members) {
      if (!out.empty()) out += ", ";
      out += one(member);
    }
    return out;
  };
  switch (value.type()) {
    case model::Type::kString:
      return '"' + value.as_string() + '"';
    case model::Type::kNumber:
      return value.as_number().to_string();
    case model::Type::kBinary:
      return "b\"" + value.as_binary() + '"';
    case model::Type::kBool:
      return value.as_bool() ? "true" : "false";
    case model::Type::kNull:
      return "null";
    case model::Type::kMap:
      return show(value.as_map());
    case model::Type::kList:
      return "[" + join(value.as_list(), [](const model::Value& v) { return show(v); }) + "]";
    case model::Type::kStringSet:
      return "<" + join(value.as_string_set(), [](const std::string& s) { return '"' + s + '"'; }) +
             ">";
    case model::Type::kNumberSet:
      return "<" +
             join(value.as_number_set(), [](const model::Number& n) { return n.to_string(); }) +
             ">";
    case model::Type::kBinarySet:
      return "<" +
             join(value.as_binary_set(), [](const std::string& s) { return "b\"" + s + '"'; }) +
             ">";
  }
  return {};
}

// Placeholders as `#a=name, #b="other name"` and `:v=1, :w="x"`; empty text: the parameter is
// absent.
inline Bindings bindings(std::string_view names, std::string_view values,
                         Wording wording = Wording::kCurrent) {
  std::optional<Bindings::Names> name_map;
  if (!names.empty()) {
    name_map.emplace();
    size_t at = 0;
    while (at < names.size()) {
      const size_t equals = names.find('=', at);
      size_t end = names.find(", ", equals);
      if (end == std::string_view::npos) end = names.size();
      name_map->emplace_back(names.substr(at, equals - at),
                             names.substr(equals + 1, end - equals - 1));
      at = std::min(names.size(), end + 2);
    }
  }
  std::optional<Bindings::Values> value_map;
  if (!values.empty()) value_map = Notation(values).entries();
  return Bindings(std::move(name_map), std::move(value_map), wording);
}

// The message of the ValidationException that `run` throws; "" if it throws none.
inline std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.type(), "ValidationException");
    return error.message();
  }
  return {};
}

}  // namespace stator::expr::testing
