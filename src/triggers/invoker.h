// How a function is called and how a destination is told. The addresses are the operator's: names
// of functions and ARNs of destinations are mapped to them in the configuration.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "net/http_client.h"
#include "net/url.h"
#include "triggers/mapping.h"

namespace stator::triggers {

// What came of a call.
struct Invocation {
  enum class Kind {
    kDone,       // the function ran and answered
    kFailed,     // it ran and failed, or was lost on the way
    kNotReached  // it did not run: nobody listens, or it is too busy
  };
  Kind kind = Kind::kDone;
  std::optional<int> status;
  std::string function_error;    // "Unhandled", "Handled"
  std::string executed_version;  // "$LATEST"
  std::string body;              // of kDone
  std::string detail;            // for the log
};

// Thread-safe. Its calls block.
class Invoker {
 public:
  virtual ~Invoker() = default;
  virtual bool knows_function(const std::string& name) const = 0;
  virtual bool knows_destination(const std::string& arn) const = 0;
  virtual Invocation invoke(const FunctionName& function, const std::string& event) = 0;
  // False if the destination did not take it.
  virtual bool tell(const std::string& destination, const std::string& record) = 0;
  // Ends the calls under way; further ones fail.
  virtual void stop() = 0;
};

struct Addresses {
  std::map<std::string, net::Url> functions;     // by name
  std::map<std::string, net::Url> destinations;  // by ARN
};

// Calls by HTTP, as Lambda's Invoke does: the runtime interface emulator, `sam local start-lambda`
// or any web server takes it. An address without a path gets that of the Invoke operation.
class HttpInvoker final : public Invoker {
 public:
  // The longest that a function of Lambda may run.
  static constexpr std::chrono::minutes kInvokeTimeout{15};

  explicit HttpInvoker(Addresses addresses);
  bool knows_function(const std::string& name) const override;
  bool knows_destination(const std::string& arn) const override;
  Invocation invoke(const FunctionName& function, const std::string& event) override;
  bool tell(const std::string& destination, const std::string& record) override;
  void stop() override { client_.stop(); }

 private:
  const Addresses addresses_;
  net::HttpClient client_;
};

}  // namespace stator::triggers
