// DynamoDB as somebody who asks it: operations by name with JSON bodies, at any endpoint that
// speaks its protocol. For commands that a person starts, not for the server.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "client/credentials.h"
#include "json/reader.h"

namespace stator::client {

struct Reply {
  int status = 200;
  std::string body;  // JSON

  bool ok() const { return status == 200; }
};

// An error that the service answered: its name without a namespace, and its message.
class ServiceError : public std::runtime_error {
 public:
  ServiceError(std::string type, const std::string& message)
      : std::runtime_error(message), type_(std::move(type)) {}
  const std::string& type() const { return type_; }

 private:
  std::string type_;
};
// What an answer that is not ok says.
ServiceError error_of(const Reply& reply);

// A list that an answer must have. Throws std::runtime_error if it has none.
json::ArrayElement list_of(const json::Element& answer, std::string_view name);

// Thread-safe.
class Endpoint {
 public:
  virtual ~Endpoint() = default;
  // Any answer. Throws std::runtime_error if there is none.
  virtual Reply send(std::string_view operation, std::string body) = 0;
  // The body of a success; throws ServiceError otherwise. Throttling and errors of the server are
  // tried again for a while.
  std::string call(std::string_view operation, const std::string& body);
  // Where it is, for messages.
  virtual std::string name() const = 0;
};

struct EndpointOptions {
  std::string url = "http://127.0.0.1:8000";
  std::string region;   // empty: as the identity says, else from the host's name, else us-east-1
  std::string profile;  // empty: the environment's
};
// Throws std::runtime_error with one clear sentence: no URL, no such profile, or no credentials for
// a host of AWS. Elsewhere credentials are made up if there are none: the signature must be there,
// but nobody knows its secret.
std::unique_ptr<Endpoint> open_endpoint(const EndpointOptions& options,
                                        const Environment& environment);

}  // namespace stator::client
