#include "http/service.h"

#include <simdjson.h>
#include <zlib.h>

#include <charconv>
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

}  // namespace

Service::Service(ServiceOptions options, Database& database, const net::SignatureCheck& signatures,
                 triggers::Mappings* mappings)
    : options_(std::move(options)),
      database_(database),
      signatures_(signatures),
      mappings_(mappings),
      health_("healthy: dynamodb." + options_.region + ".amazonaws.com ") {}

Task<void> Service::handle(net::Request& request, net::Response& response) {
  std::string request_id = ids_.request_id();
  try {
    const bool is_lambda = mappings_ != nullptr && triggers::is_mappings_path(request.path);
    std::optional<Call> call;
    if (is_lambda) {
      Task<void> task = answer_lambda(request, response);
      co_await task;
    } else {
      call = route(request, response);
    }
    if (call) {
      call->caller.request_id = request_id;
      Task<Answer> task = database_.execute(call->service, call->operation, std::move(request.body),
                                            std::move(call->caller));
      Answer answer = co_await task;
      response.status = answer.status;
      response.body = std::move(answer.body);
    }
  } catch (const std::exception& e) {
    spdlog::error("request {} failed: {}", request_id, e.what());
    response.status = 500;
    response.body = kInternalServerError;
  } catch (...) {
    spdlog::error("request {} failed", request_id);
    response.status = 500;
    response.body = kInternalServerError;
  }
  finish(request, response, request_id);
}

std::optional<Service::Call> Service::route(net::Request& request, net::Response& response) const {
  if (is_operator_path(request.path)) {
    answer_operator(request, response, options_.version, database_, mappings_);
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
        response.body = coral_error("ServiceUnavailableException", "Too much memory is in use.");
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

void Service::finish(const net::Request& request, net::Response& response,
                     std::string_view request_id) const {
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
  const auto checksum = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(response.body.data()), response.body.size()));
  char digits[10];
  const auto end = std::to_chars(digits, digits + sizeof digits, checksum).ptr;
  if (spdlog::should_log(spdlog::level::debug)) {
    spdlog::debug("{} {}: {}, {} bytes", request_id, request.header("x-amz-target"),
                  response.status, response.body.size());
  }
  response.add_header("x-amzn-RequestId", request_id);
  response.add_header("x-amz-crc32", {digits, static_cast<size_t>(end - digits)});
}

}  // namespace stator::http
