// The exception that ends a request: an error of the API with its type and message. Outcomes that
// are part of normal work (a failed condition, a conflict) are values until an operation decides to
// answer with one of these.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace stator {

class ApiError : public std::exception {
 public:
  // `type` is the bare name ("ValidationException"). `extra` is JSON members to add to the body,
  // each with a leading comma: `,"Item":{...}`.
  ApiError(std::string type, std::string message, std::string extra = {})
      : type_(std::move(type)), message_(std::move(message)), extra_(std::move(extra)) {}
  const std::string& type() const { return type_; }
  const std::string& message() const { return message_; }
  const std::string& extra() const { return extra_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string type_;
  std::string message_;
  std::string extra_;
};

// Throws a ValidationException.
[[noreturn]] void invalid(std::string message);

}  // namespace stator
