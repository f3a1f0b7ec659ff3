#include "triggers/api.h"

#include <charconv>
#include <map>

#include <spdlog/spdlog.h>

#include "json/reader.h"
#include "json/writer.h"
#include "net/url.h"
#include "triggers/lambda_error.h"
#include "triggers/mapping_request.h"

namespace stator::triggers {

namespace {

using net::Method;

constexpr std::string_view kPath = "/2015-03-31/event-source-mappings";
constexpr int64_t kMaxListed = 10'000;
constexpr int64_t kListedUnlessAsked = 100;

std::map<std::string, std::string> parse_query(std::string_view query) {
  std::map<std::string, std::string> parameters;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos) continue;
    parameters[net::percent_decode(pair.substr(0, equals))] =
        net::percent_decode(pair.substr(equals + 1));
  }
  return parameters;
}

// The model spells the member of the message in two ways.
bool has_small_message(std::string_view type) {
  return type != "ResourceNotFoundException" && type != "ResourceInUseException" &&
         type != "ServiceException";
}

ApiAnswer error_answer(const LambdaError& error) {
  ApiAnswer answer{error.status(), error.type(), {}};
  json::Object object(answer.body);
  const bool is_plain =
      error.type() == "ValidationException" || error.type() == "SerializationException";
  if (!is_plain) object.string("Type", error.status() == 500 ? "Service" : "User");
  object.string(has_small_message(error.type()) ? "message" : "Message", error.what());
  object.close();
  return answer;
}

int64_t read_max_items(const std::map<std::string, std::string>& parameters) {
  const auto at = parameters.find("MaxItems");
  if (at == parameters.end()) return kListedUnlessAsked;
  int64_t value = 0;
  const char* end = at->second.data() + at->second.size();
  const auto [stop, error] = std::from_chars(at->second.data(), end, value);
  if (error != std::errc() || stop != end) {
    throw LambdaError(400, "SerializationException",
                      "Unexpected value type for MaxItems: " + at->second);
  }
  if (value < 1 || value > kMaxListed) {
    throw LambdaError(400, "ValidationException",
                      "1 validation error detected: Value '" + at->second +
                          "' at 'maxItems' failed to satisfy constraint: Member must have value " +
                          (value < 1 ? "greater than or equal to 1"
                                     : "less than or equal to " + std::to_string(kMaxListed)));
  }
  return value;
}

// One request. A struct, so that what its coroutines refer to lives as long as they do.
struct Call {
  Mappings& mappings;
  Method method;
  std::string path;
  std::string query;
  json::Document document;
  ApiAnswer answer;

  const MappingsOptions& options() const { return mappings.options(); }
  RequestContext context() const {
    return {options().region, options().account, mappings.invoker()};
  }
  std::string uuid() const {
    std::string_view rest = std::string_view(path).substr(kPath.size());
    while (rest.starts_with('/')) rest.remove_prefix(1);
    while (rest.ends_with('/')) rest.remove_suffix(1);
    return net::percent_decode(rest);
  }
  void show(std::string& out, const MappingView& view) const {
    append_configuration(out, view.mapping, view.state, view.last_result, options().region,
                         options().account);
  }
  void parse(std::string body) {
    if (body.empty()) body = "{}";
    if (!document.parse(std::move(body)) || !document.root().is_object()) {
      throw LambdaError(400, "InvalidRequestContentException",
                        "Could not parse request body into json");
    }
  }
  void list();
};

void Call::list() {
  const auto parameters = parse_query(query);
  const auto parameter = [&](const char* name) {
    const auto at = parameters.find(name);
    return at != parameters.end() ? at->second : std::string();
  };
  const int64_t limit = read_max_items(parameters);
  const std::string arn = parameter("EventSourceArn");
  const std::string function_text = parameter("FunctionName");
  const std::string marker = parameter("Marker");
  const auto function = parse_function_name(function_text, options().region, options().account);
  json::Object object(answer.body);
  json::Array array(object.key("EventSourceMappings"));
  std::string last;
  bool more = false;
  int64_t count = 0;
  for (const MappingView& view : mappings.list()) {
    const Mapping& mapping = view.mapping;
    if (!arn.empty() && mapping.event_source_arn != arn) continue;
    if (!function_text.empty()) {
      if (!function || mapping.function.name != function->name) continue;
      if (!function->qualifier.empty() && mapping.function.qualifier != function->qualifier)
        continue;
    }
    if (!marker.empty() && mapping.uuid <= marker) continue;
    more = count == limit;
    if (more) break;
    show(array.element(), view);
    last = mapping.uuid;
    ++count;
  }
  array.close();
  if (more) object.string("NextMarker", last);
  object.close();
}

Task<void> run(Call& call) {
  const std::string uuid = call.uuid();
  if (uuid.empty() && call.method == Method::kGet) {
    call.list();
    co_return;
  }
  std::optional<MappingView> view;
  if (uuid.empty() && call.method == Method::kPost) {
    Mapping mapping = read_create(call.document.root(), call.context());
    auto pending = call.mappings.create(std::move(mapping));
    view = co_await pending;
    call.answer.status = 202;
  } else if (!uuid.empty() && call.method == Method::kGet) {
    view = call.mappings.find(uuid);
    if (!view) throw LambdaError::not_found();
  } else if (!uuid.empty() && call.method == Method::kPut) {
    const std::function<void(Mapping&)> change = [&call](Mapping& mapping) {
      read_update(call.document.root(), call.context(), mapping);
    };
    auto pending = call.mappings.update(uuid, change);
    view = co_await pending;
    call.answer.status = 202;
  } else if (!uuid.empty() && call.method == Method::kDelete) {
    auto pending = call.mappings.remove(uuid);
    view = co_await pending;
    call.answer.status = 202;
  } else {
    throw LambdaError(404, "UnknownOperationException", "no such operation");
  }
  call.show(call.answer.body, *view);
}

}  // namespace

bool is_mappings_path(std::string_view path) {
  return path.starts_with(kPath) && (path.size() == kPath.size() || path[kPath.size()] == '/');
}

Task<ApiAnswer> answer_api(Mappings& mappings, Method method, std::string path, std::string query,
                           std::string body) {
  Call call{mappings, method, std::move(path), std::move(query), {}, {}};
  try {
    call.parse(std::move(body));
    auto pending = run(call);
    co_await pending;
  } catch (const LambdaError& error) {
    call.answer = error_answer(error);
  } catch (const std::exception& error) {
    spdlog::error("event source mapping: {}", error.what());
    call.answer =
        error_answer(LambdaError(500, "ServiceException", "Service encountered an error"));
  }
  co_return std::move(call.answer);
}

}  // namespace stator::triggers
