// DynamoDB over HTTP: finds out which operation a request asks for and who asks, has the database
// execute it, and frames the answer with the headers that the SDKs look at.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/metrics.h"
#include "database/database.h"
#include "http/request_metrics.h"
#include "net/http_message.h"
#include "net/signature.h"
#include "triggers/mappings.h"

namespace stator::http {

struct ServiceOptions {
  std::string region = "us-east-1";
  std::string version;  // of Stator, for the operator's pages
  size_t body_limit_bytes = 16 * 1024 * 1024;
  // Requests under way at a time; a further one is answered 503, which clients send again. The
  // operator's pages do not count.
  size_t max_requests = 4096;
  // A request that takes longer is logged, with where the time went. 0: none is.
  uint64_t slow_ms = 0;
  // True once the server is about to end; may be empty.
  std::function<bool()> ending;
  // Writes the metrics of the process and its connections; may be empty.
  std::function<void(metrics::Text&)> process_metrics;
};

// Thread-safe.
class Service final : public net::Handler {
 public:
  // All outlive the service. Without `mappings` there is nothing of Lambda's API.
  Service(ServiceOptions options, Database& database, const net::SignatureCheck& signatures,
          triggers::Mappings* mappings = nullptr);

  Task<void> handle(net::Request& request, net::Response& response) override;
  void written(const net::Request& request, const net::Response& response) override;

 private:
  // What is left to do for a request that passed the checks of the wire.
  struct Call {
    std::string_view service;
    std::string_view operation;
    Caller caller;
  };

  // Answers everything that needs no operation, errors of the wire included; a Call for the rest.
  std::optional<Call> route(net::Request& request, net::Response& response) const;
  // The answer to a request for which there is no room.
  void answer_busy(const net::Request& request, net::Response& response);
  // Lambda's API, which says by the path what is asked for.
  Task<void> answer_lambda(net::Request& request, net::Response& response) const;
  Task<void> answer_metrics(net::Response& response);
  // False if the body was answered with an error.
  bool decode_body(net::Request& request, net::Response& response) const;
  void finish(net::Request& request, net::Response& response, std::string_view error);

  ServiceOptions options_;
  Database& database_;
  const net::SignatureCheck& signatures_;
  triggers::Mappings* const mappings_;
  RandomIds ids_;
  RequestMetrics metrics_;
  std::atomic<size_t> under_way_{0};
  metrics::Counter turned_away_;
  std::string health_;
};

}  // namespace stator::http
