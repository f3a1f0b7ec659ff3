// Writing JSON straight into a string. The caller keeps the grammar; these only spell the parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace stator::json {

// `text` with quotes, escaped.
void append_quoted(std::string& out, std::string_view text);
void append_int(std::string& out, int64_t value);
// As short as reads back the same: 1, 0.5, 12.25.
void append_double(std::string& out, double value);

// Writes the members of one object with commas between them. Begins with '{'; close() writes '}'.
class Object {
 public:
  explicit Object(std::string& out) : out_(out) { out_.push_back('{'); }
  // Starts a member; the caller writes its value.
  std::string& key(std::string_view name) {
    if (!first_) out_.push_back(',');
    first_ = false;
    append_quoted(out_, name);
    out_.push_back(':');
    return out_;
  }
  void string(std::string_view name, std::string_view text) { append_quoted(key(name), text); }
  void integer(std::string_view name, int64_t value) { append_int(key(name), value); }
  void number(std::string_view name, double value) { append_double(key(name), value); }
  void boolean(std::string_view name, bool value) { key(name).append(value ? "true" : "false"); }
  void close() { out_.push_back('}'); }

 private:
  std::string& out_;
  bool first_ = true;
};

// As Object, for arrays.
class Array {
 public:
  explicit Array(std::string& out) : out_(out) { out_.push_back('['); }
  std::string& element() {
    if (!first_) out_.push_back(',');
    first_ = false;
    return out_;
  }
  void close() { out_.push_back(']'); }

 private:
  std::string& out_;
  bool first_ = true;
};

}  // namespace stator::json
