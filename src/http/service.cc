#include "http/service.h"

#include <fmt/format.h>
#include <libdeflate.h>
#include <simdjson.h>

#include <charconv>
#include <limits>
#include <utility>
#include <variant>

#include "common/log.h"
#include "http/operator_pages.h"
#include "http/wire_errors.h"
#include "net/gzip.h"
#include "triggers/api.h"

namespace stator::http {

namespace {

using net::Method;

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kAmzJson10 = "application/x-amz-json-1.0";
constexpr std::string_view kAmzJson11 = "application/x-amz-json-1.1";
// From this size on the service compresses an answer for a client that takes it.
constexpr size_t kCompressFrom = 4096;
constexpr std::string_view kBusy = "ServiceUnavailableException";

// The media type without its parameters.
std::string_view media_type(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  const size_t begin = content_type.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return content_type.substr(begin, content_type.find_last_not_of(" \t") - begin + 1);
}

bool is_json(const std::string& text) {
  simdjson::dom::parser parser;
  return parser.parse(text).error() == simdjson::SUCCESS;
}

void answer_json_error(net::Response& response, std::string body) {
  response.status = 400;
  response.body = std::move(body);
}

void answer_not_found(net::Response& response) {
  response.status = 404;
  response.content_type = {};
  response.body = kUnknownOperationPage;
}

void answer_preflight(const net::Request& request, net::Response& response) {
  const std::string_view headers = request.header("access-control-request-headers");
  if (!headers.empty()) response.add_header("Access-Control-Allow-Headers", headers);
  const std::string_view method = request.header("access-control-request-method");
  if (!method.empty()) response.add_header("Access-Control-Allow-Methods", method);
  response.add_header("Access-Control-Max-Age", "172800");
}

// A request's place among those under way.
class Place {
 public:
  Place(std::atomic<size_t>& taken, size_t places)
      : taken_(taken), found_(taken.fetch_add(1, std::memory_order_relaxed) < places) {}
  ~Place() { taken_.fetch_sub(1, std::memory_order_relaxed); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  bool found() const { return found_; }

 private:
  std::atomic<size_t>& taken_;
  const bool found_;
};

}  // namespace

Service::Service(ServiceOptions options, Database& database, const net::SignatureCheck& signatures,
                 triggers::Mappings* mappings)
    : options_(std::move(options)),
      database_(database),
      signatures_(signatures),
      mappings_(mappings),
      metrics_(database.targets()),
      health_("healthy: dynamodb." + options_.region + ".amazonaws.com ") {}

Task<void> Service::handle(net::Request& request, net::Response& response) {
  metrics_.begin();
  request.id = ids_.request_id();
  std::string error;
  const bool is_operators = is_operator_path(request.path);
  const Place place(under_way_,
                    is_operators ? std::numeric_limits<size_t>::max() : options_.max_requests);
  if (!place.found()) {
    answer_busy(request, response);
    request.times.routed_us = request.times.executed_us = metrics::steady_us();
    finish(request, response, kBusy);
    co_return;
  }
  try {
    const bool is_lambda = mappings_ != nullptr && triggers::is_mappings_path(request.path);
    std::optional<Call> call;
    if (is_lambda) {
      Task<void> task = answer_lambda(request, response);
      co_await task;
    } else {
      call = route(request, response);
    }
    request.times.routed_us = metrics::steady_us();
    if (call) {
      call->caller.request_id = request.id;
      Task<Answer> task = database_.execute(call->service, call->operation, std::move(request.body),
                                            std::move(call->caller));
      Answer answer = co_await task;
      response.status = answer.status;
      response.body = std::move(answer.body);
      error = std::move(answer.error);
      request.times.parsed_us = answer.parsed_us;
      request.times.waited_for_keys_us = answer.keys_us;
      request.times.waited_for_disk_us = answer.disk_us;
      request.times.waited_for_commit_us = answer.commit_us;
      if (!answer.detail.empty()) {
        log_event(spdlog::level::err, "a request failed",
                  {{"request_id", request.id},
                   {"target", request.header("x-amz-target")},
                   {"error", answer.detail}});
      }
    } else if (response.content_type == kMetricsType) {
      Task<void> page = answer_metrics(response);
      co_await page;
    }
  } catch (const std::exception& e) {
    log_event(spdlog::level::err, "a request failed",
              {{"request_id", request.id}, {"error", e.what()}});
    response.status = 500;
    response.body = kInternalServerError;
    error = "InternalServerError";
  } catch (...) {
    log_event(spdlog::level::err, "a request failed", {{"request_id", request.id}});
    response.status = 500;
    response.body = kInternalServerError;
    error = "InternalServerError";
  }
  request.times.executed_us = metrics::steady_us();
  finish(request, response, error);
}

void Service::answer_busy(const net::Request& request, net::Response& response) {
  turned_away_.add();
  response.status = 503;
  response.content_type =
      media_type(request.header("content-type")) == kAmzJson10 ? kAmzJson10 : kJson;
  response.body = coral_error(kBusy, "The server has too many requests under way. Try again.");
}

Task<void> Service::answer_metrics(net::Response& response) {
  metrics::Text text;
  text.family("stator_build_info", "gauge", "1, with the version as a label.");
  text.sample({{"version", options_.version}}, uint64_t{1});
  metrics_.write(text);
  text.gauge("stator_requests_max", "Requests that may be under way at a time.",
             static_cast<double>(options_.max_requests));
  text.counter("stator_requests_turned_away_total",
               "Requests answered 503 because too many were under way.", turned_away_.value());
  if (options_.process_metrics) options_.process_metrics(text);
  Task<void> database = database_.write_metrics(text);
  co_await database;
  response.body = text.take();
}

void Service::written(const net::Request& request, const net::Response& response) {
  if (options_.slow_ms == 0) return;
  const net::RequestTimes& times = request.times;
  const uint64_t now_us = metrics::steady_us();
  if (now_us - times.began_us < options_.slow_ms * 1000) return;
  const auto as_ms = [](uint64_t us) { return fmt::format("{}.{:03}", us / 1000, us % 1000); };
  const auto ms = [&](uint64_t from_us, uint64_t to_us) {
    return as_ms(from_us == 0 || to_us < from_us ? 0 : to_us - from_us);
  };
  const uint64_t parsed_us = times.parsed_us != 0 ? times.parsed_us : times.routed_us;
  log_event(spdlog::level::warn, "slow request",
            {{"request_id", request.id},
             {"target", request.header("x-amz-target")},
             {"status", std::to_string(response.status)},
             {"total_ms", ms(times.began_us, now_us)},
             {"receive_ms", ms(times.began_us, times.arrived_us)},
             {"route_ms", ms(times.arrived_us, times.routed_us)},
             {"parse_ms", ms(times.routed_us, parsed_us)},
             {"execute_ms", ms(parsed_us, times.executed_us)},
             {"keys_ms", as_ms(times.waited_for_keys_us)},
             {"disk_ms", as_ms(times.waited_for_disk_us)},
             {"commit_ms", as_ms(times.waited_for_commit_us)},
             {"frame_ms", ms(times.executed_us, times.framed_us)},
             {"send_ms", ms(times.framed_us, now_us)},
             {"answer_bytes", std::to_string(response.body.size())}});
}

std::optional<Service::Call> Service::route(net::Request& request, net::Response& response) const {
  if (is_operator_path(request.path)) {
    const bool ending = options_.ending && options_.ending();
    if (answer_operator(request, response, options_.version, database_, ending, mappings_))
      response.content_type = kMetricsType;
    return std::nullopt;
  }
  if (request.has_header("origin")) {
    response.add_header("Access-Control-Allow-Origin", "*");
    response.add_header("Access-Control-Expose-Headers",
                        "x-amzn-RequestId,x-amzn-ErrorType,x-amzn-ErrorMessage,Date");
    if (request.method == Method::kOptions) {
      answer_preflight(request, response);
      return std::nullopt;
    }
  }
  if (request.path != "/") {
    answer_not_found(response);
    return std::nullopt;
  }
  if (request.method == Method::kGet || request.method == Method::kHead) {
    response.body = health_;
    return std::nullopt;
  }
  if (request.method != Method::kPost) {
    answer_not_found(response);
    return std::nullopt;
  }

  const std::string_view type = media_type(request.header("content-type"));
  const std::string_view target = request.header("x-amz-target");
  const size_t dot = target.find('.');
  Call call;
  bool is_known = false;
  if (dot != std::string_view::npos) {
    call.service = target.substr(0, dot);
    call.operation = target.substr(dot + 1);
    is_known = database_.knows(call.service, call.operation);
  }
  // The service speaks version 1.0 of the protocol only. A request in 1.1 that is right in
  // everything else is answered here all the same, since nothing in it can be misread.
  const bool speaks_json = type == kJson || type == kAmzJson10 || (type == kAmzJson11 && is_known);
  if (!request.body.empty() && !speaks_json) {
    answer_not_found(response);
    return std::nullopt;
  }
  response.content_type = type == kAmzJson10 ? kAmzJson10 : type == kAmzJson11 ? kAmzJson11 : kJson;
  if (!decode_body(request, response)) return std::nullopt;

  std::string error;
  if (!is_known) {
    error = coral_error("UnknownOperationException");
  } else {
    std::variant<net::Signature, net::SignatureError> parsed = net::parse_signature(request);
    if (const auto* malformed = std::get_if<net::SignatureError>(&parsed)) {
      error = signature_error(*malformed);
    } else {
      const net::Signature& signature = std::get<net::Signature>(parsed);
      const std::optional<net::SignatureError> wrong = signatures_.check(request, signature);
      if (wrong) error = signature_error(*wrong);
      call.caller.access_key = signature.access_key;
    }
  }
  if (!error.empty()) {
    // The service reads the body before it looks at the target and the signature.
    if (!request.body.empty() && !is_json(request.body))
      error = coral_error("SerializationException");
    answer_json_error(response, std::move(error));
    return std::nullopt;
  }
  if (request.body.empty()) {
    answer_json_error(response, coral_error("SerializationException"));
    return std::nullopt;
  }
  return call;
}

Task<void> Service::answer_lambda(net::Request& request, net::Response& response) const {
  response.content_type = kJson;
  if (!decode_body(request, response)) co_return;
  std::variant<net::Signature, net::SignatureError> parsed = net::parse_signature(request);
  std::optional<net::SignatureError> wrong;
  if (const auto* malformed = std::get_if<net::SignatureError>(&parsed)) {
    wrong = *malformed;
  } else {
    wrong = signatures_.check(request, std::get<net::Signature>(parsed));
  }
  if (wrong) {
    response.status = 403;
    response.add_header("x-amzn-ErrorType", signature_error_name(*wrong));
    response.body = lambda_error(wrong->message);
    co_return;
  }
  auto pending = triggers::answer_api(*mappings_, request.method, std::string(request.path),
                                      std::string(request.query), std::move(request.body));
  triggers::ApiAnswer answer = co_await pending;
  response.status = answer.status;
  if (!answer.error_type.empty()) response.add_header("x-amzn-ErrorType", answer.error_type);
  response.body = std::move(answer.body);
}

bool Service::decode_body(net::Request& request, net::Response& response) const {
  const std::string_view coding = request.header("content-encoding");
  if (coding.empty() || net::equals_ignoring_case(coding, "identity")) return true;
  if (net::equals_ignoring_case(coding, "gzip")) {
    std::string plain;
    const net::Inflated result = net::inflate_gzip(request.body, options_.body_limit_bytes, plain);
    if (result == net::Inflated::kOk) {
      if (!request.memory.grow_to(plain.size())) {
        response.status = 503;
        response.body = coral_error(kBusy, "Too much memory is in use.");
        return false;
      }
      request.body = std::move(plain);
      return true;
    }
    if (result == net::Inflated::kTooLarge) {
      response.status = 413;
      response.content_type = {};
      return false;
    }
  }
  // What the service was seen to answer to a coding it does not know and to damaged gzip.
  response.status = 500;
  response.body = kInternalServerError;
  return false;
}

void Service::finish(net::Request& request, net::Response& response, std::string_view error) {
  if (response.body.size() >= kCompressFrom) {
    const net::Coding coding = net::choose_coding(request.header("accept-encoding"));
    if (coding != net::Coding::kIdentity) {
      std::string compressed;
      net::deflate_into(response.body, coding, compressed);
      response.body = std::move(compressed);
      response.add_header("Content-Encoding", coding == net::Coding::kGzip ? "gzip" : "deflate");
    }
  }
  // Of the bytes as they are sent: SDKs that ask for compression check before they inflate.
  const uint32_t checksum = libdeflate_crc32(0, response.body.data(), response.body.size());
  char digits[10];
  const auto end = std::to_chars(digits, digits + sizeof digits, checksum).ptr;
  response.add_header("x-amzn-RequestId", request.id);
  response.add_header("x-amz-crc32", {digits, static_cast<size_t>(end - digits)});

  request.times.framed_us = metrics::steady_us();
  const uint64_t arrived_us =
      request.times.arrived_us != 0 ? request.times.arrived_us : request.times.routed_us;
  const uint64_t took_us = request.times.framed_us - arrived_us;
  metrics_.end(request.header("x-amz-target"), response.status, error, took_us);
  if (spdlog::should_log(spdlog::level::debug)) {
    log_event(spdlog::level::debug, "request",
              {{"request_id", request.id},
               {"target", request.header("x-amz-target")},
               {"path", request.path},
               {"status", std::to_string(response.status)},
               {"error", error},
               {"took_us", std::to_string(took_us)},
               {"answer_bytes", std::to_string(response.body.size())}});
  }
}

}  // namespace stator::http
