// An error of Lambda's API.
#pragma once

#include <stdexcept>
#include <string>

namespace stator::triggers {

class LambdaError : public std::runtime_error {
 public:
  LambdaError(int status, std::string type, const std::string& message)
      : std::runtime_error(message), status_(status), type_(std::move(type)) {}
  int status() const { return status_; }
  const std::string& type() const { return type_; }

  static LambdaError invalid(const std::string& message) {
    return {400, "InvalidParameterValueException", message};
  }
  static LambdaError not_found() {
    return {404, "ResourceNotFoundException", "The resource you requested does not exist."};
  }

 private:
  int status_;
  std::string type_;
};

}  // namespace stator::triggers
