#include "triggers/mapping_request.h"

#include <array>

#include "triggers/lambda_error.h"

namespace stator::triggers {

namespace {

using json::Element;

constexpr size_t kMaxFilters = 10;
constexpr size_t kMaxPatternBytes = 4096;
constexpr int64_t kMinRecordAge_s = 60;

// Members that belong to event sources of other kinds.
constexpr std::array<std::string_view, 12> kOfOtherSources = {"Topics",
                                                              "Queues",
                                                              "SourceAccessConfigurations",
                                                              "SelfManagedEventSource",
                                                              "AmazonManagedKafkaEventSourceConfig",
                                                              "SelfManagedKafkaEventSourceConfig",
                                                              "ScalingConfig",
                                                              "DocumentDBEventSourceConfig",
                                                              "ProvisionedPollerConfig",
                                                              "StartingPositionTimestamp",
                                                              "KMSKeyArn",
                                                              "LoggingConfig"};

struct IntegerMember {
  std::string_view name;
  std::string_view wire_name;  // as messages spell it
  int64_t least;
  int64_t most;
  int64_t Mapping::*field;
};

constexpr std::array<IntegerMember, 5> kIntegers = {{
    {"BatchSize", "batchSize", 1, 10'000, &Mapping::batch_size},
    {"MaximumBatchingWindowInSeconds", "maximumBatchingWindowInSeconds", 0, 300,
     &Mapping::batching_window_s},
    {"ParallelizationFactor", "parallelizationFactor", 1, 10, &Mapping::parallelization_factor},
    {"MaximumRetryAttempts", "maximumRetryAttempts", -1, 10'000, &Mapping::max_retry_attempts},
    {"MaximumRecordAgeInSeconds", "maximumRecordAgeInSeconds", -1, 604'800,
     &Mapping::max_record_age_s},
}};

constexpr std::string_view kFunctionPattern =
    R"((arn:(aws[a-zA-Z-]*)?:lambda:)?([a-z]{2}((-gov)|(-iso([a-z]?)))?-[a-z]+-\d{1}:)?(\d{12}:)?)"
    R"((function:)?([a-zA-Z0-9-_\.]+)(:(\$LATEST|[a-zA-Z0-9-_]+))?)";

[[noreturn]] void throw_wrong_type(std::string_view name) {
  throw LambdaError(400, "SerializationException",
                    "Unexpected value type for " + std::string(name));
}

[[noreturn]] void throw_constraint(std::string_view value, std::string_view member,
                                   std::string_view constraint) {
  throw LambdaError(400, "ValidationException",
                    "1 validation error detected: Value '" + std::string(value) + "' at '" +
                        std::string(member) +
                        "' failed to satisfy constraint: " + std::string(constraint));
}

std::optional<std::string_view> read_string(const Element& request, std::string_view name) {
  const auto member = json::member(request, name);
  if (!member) return std::nullopt;
  const auto text = json::string_member(request, name);
  if (!text) throw_wrong_type(name);
  return text;
}

std::optional<bool> read_bool(const Element& request, std::string_view name) {
  const auto member = json::member(request, name);
  if (!member) return std::nullopt;
  bool truth = false;
  if (member->get(truth) != simdjson::SUCCESS) throw_wrong_type(name);
  return truth;
}

std::optional<int64_t> read_integer(const Element& request, const IntegerMember& integer) {
  const auto member = json::member(request, integer.name);
  if (!member) return std::nullopt;
  const auto value = json::to_int(*member);
  if (!value) throw_wrong_type(integer.name);
  if (*value < integer.least) {
    throw_constraint(
        std::to_string(*value), integer.wire_name,
        "Member must have value greater than or equal to " + std::to_string(integer.least));
  }
  if (*value > integer.most) {
    throw_constraint(
        std::to_string(*value), integer.wire_name,
        "Member must have value less than or equal to " + std::to_string(integer.most));
  }
  return value;
}

FunctionName read_function(std::string_view text, const RequestContext& context) {
  auto function = parse_function_name(text, context.region, context.account);
  if (!function) {
    const bool is_arn = text.starts_with("arn:aws:lambda:");
    if (is_arn) throw LambdaError::invalid("Function does not exist");
    throw_constraint(
        text, "functionName",
        "Member must satisfy regular expression pattern: " + std::string(kFunctionPattern));
  }
  if (!context.invoker.knows_function(function->name))
    throw LambdaError::invalid("Function does not exist");
  return *function;
}

void read_filters(const Element& criteria, Mapping& mapping) {
  if (!criteria.is_object()) throw_wrong_type("FilterCriteria");
  std::vector<std::string> filters;
  if (const auto list = json::member(criteria, "Filters")) {
    json::ArrayElement array;
    if (list->get(array) != simdjson::SUCCESS) throw_wrong_type("Filters");
    for (const Element filter : array) {
      const auto pattern = read_string(filter, "Pattern");
      if (!pattern || pattern->size() > kMaxPatternBytes || !FilterPattern::parse(*pattern))
        throw LambdaError::invalid("Invalid filter pattern definition.");
      filters.emplace_back(*pattern);
    }
  }
  if (filters.size() > kMaxFilters) {
    throw LambdaError::invalid("Too many filters: at most " + std::to_string(kMaxFilters) +
                               " are allowed.");
  }
  mapping.filters = std::move(filters);
}

void read_destinations(const Element& config, const RequestContext& context, Mapping& mapping) {
  if (!config.is_object()) throw_wrong_type("DestinationConfig");
  if (const auto success = json::member(config, "OnSuccess")) {
    if (!read_string(*success, "Destination").value_or("").empty()) {
      throw LambdaError::invalid(
          "Unsupported DestinationConfig parameter for given event source mapping type.");
    }
  }
  const auto on_failure = json::member(config, "OnFailure");
  const std::string arn(on_failure ? read_string(*on_failure, "Destination").value_or("")
                                   : std::string_view());
  if (!arn.empty() && !context.invoker.knows_destination(arn)) {
    throw LambdaError::invalid("The destination " + arn +
                               " has no address: name it in [destinations] of the configuration.");
  }
  mapping.on_failure = arn;
}

void read_responses(const Element& list, Mapping& mapping) {
  json::ArrayElement array;
  if (list.get(array) != simdjson::SUCCESS) throw_wrong_type("FunctionResponseTypes");
  mapping.reports_item_failures = false;
  for (const Element type : array) {
    std::string_view name;
    if (type.get(name) != simdjson::SUCCESS) throw_wrong_type("FunctionResponseTypes");
    if (name != "ReportBatchItemFailures") {
      throw_constraint("[" + std::string(name) + "]", "functionResponseTypes",
                       "Member must satisfy constraint: [Member must satisfy enum value set: "
                       "[ReportBatchItemFailures]]");
    }
    mapping.reports_item_failures = true;
  }
}

// What both requests have.
void read_settings(const Element& request, const RequestContext& context, Mapping& mapping) {
  for (const IntegerMember& integer : kIntegers) {
    if (const auto value = read_integer(request, integer)) mapping.*integer.field = *value;
  }
  constexpr IntegerMember kTumbling = {"TumblingWindowInSeconds", "tumblingWindowInSeconds", 0, 900,
                                       nullptr};
  if (read_integer(request, kTumbling).value_or(0) != 0)
    throw LambdaError::invalid("TumblingWindowInSeconds is not supported by this server.");
  for (const std::string_view name : kOfOtherSources) {
    if (!json::member(request, name)) continue;
    if (name == "StartingPositionTimestamp") {
      throw LambdaError::invalid("Timestamp only valid with StartingPosition AT_TIMESTAMP");
    }
    throw LambdaError::invalid(std::string(name) + " is not valid for DynamoDB event sources.");
  }
  if (mapping.max_record_age_s != Mapping::kForever && mapping.max_record_age_s < kMinRecordAge_s) {
    throw LambdaError::invalid("MaximumRecordAgeInSeconds must be -1 or at least " +
                               std::to_string(kMinRecordAge_s) + ".");
  }
  if (const auto enabled = read_bool(request, "Enabled")) mapping.enabled = *enabled;
  if (const auto bisect = read_bool(request, "BisectBatchOnFunctionError"))
    mapping.bisect_on_error = *bisect;
  if (const auto list = json::member(request, "FunctionResponseTypes"))
    read_responses(*list, mapping);
  if (const auto config = json::member(request, "DestinationConfig"))
    read_destinations(*config, context, mapping);
  if (const auto criteria = json::member(request, "FilterCriteria"))
    read_filters(*criteria, mapping);
}

bool is_stream_arn(std::string_view arn, const RequestContext& context) {
  const std::string prefix =
      "arn:aws:dynamodb:" + context.region + ":" + context.account + ":table/";
  if (!arn.starts_with(prefix)) return false;
  arn.remove_prefix(prefix.size());
  const size_t slash = arn.find('/');
  return slash != std::string_view::npos && slash > 0 && arn.substr(slash).starts_with("/stream/");
}

}  // namespace

Mapping read_create(const Element& request, const RequestContext& context) {
  Mapping mapping;
  const auto function = read_string(request, "FunctionName");
  if (!function) {
    throw LambdaError(400, "ValidationException",
                      "1 validation error detected: Value null at 'functionName' failed to "
                      "satisfy constraint: Member must not be null");
  }
  const auto position = read_string(request, "StartingPosition");
  if (position && *position != "LATEST" && *position != "TRIM_HORIZON" &&
      *position != "AT_TIMESTAMP") {
    throw_constraint(*position, "startingPosition",
                     "Member must satisfy enum value set: [LATEST, AT_TIMESTAMP, TRIM_HORIZON]");
  }
  const auto arn = read_string(request, "EventSourceArn");
  if (!arn) throw LambdaError::invalid("Unrecognized event source.");
  mapping.event_source_arn = *arn;
  if (!arn->starts_with("arn:aws:dynamodb:"))
    throw LambdaError::invalid("Unrecognized event source, must be a DynamoDB stream.");
  if (!position) {
    throw LambdaError::invalid(
        "1 validation error detected: Value null at 'startingPosition' failed to satisfy "
        "constraint: Member must not be null.");
  }
  if (*position == "AT_TIMESTAMP")
    throw LambdaError::invalid("Unsupported starting position for arn type: " + std::string(*arn));
  mapping.starting_position = *position;
  read_settings(request, context, mapping);
  mapping.function = read_function(*function, context);
  if (!is_stream_arn(*arn, context))
    throw LambdaError::invalid("Stream not found: " + std::string(*arn));
  return mapping;
}

void read_update(const Element& request, const RequestContext& context, Mapping& mapping) {
  Mapping changed = mapping;
  read_settings(request, context, changed);
  if (const auto function = read_string(request, "FunctionName"))
    changed.function = read_function(*function, context);
  mapping = std::move(changed);
}

}  // namespace stator::triggers
