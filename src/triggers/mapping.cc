#include "triggers/mapping.h"

#include <algorithm>

#include "common/bytes.h"
#include "json/reader.h"
#include "json/writer.h"

namespace stator::triggers {

namespace {

constexpr std::string_view kLatest = "$LATEST";
constexpr size_t kMaxNameBytes = 140;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::optional<FunctionName> parse_function_name(std::string_view text, std::string_view region,
                                                std::string_view account) {
  const std::string owner = std::string(account) + ":";
  if (text.starts_with("arn:")) {
    const std::string arn = "arn:aws:lambda:" + std::string(region) + ":" + owner;
    if (!take_prefix(text, arn) || !text.starts_with("function:")) return std::nullopt;
  } else {
    take_prefix(text, std::string(region) + ":");
    take_prefix(text, owner);
  }
  take_prefix(text, "function:");
  const size_t colon = text.find(':');
  FunctionName function{std::string(text.substr(0, colon)), {}};
  if (!is_name(function.name)) return std::nullopt;
  if (colon != std::string_view::npos) {
    function.qualifier = text.substr(colon + 1);
    if (function.qualifier != kLatest && !is_name(function.qualifier)) return std::nullopt;
  }
  return function;
}

std::string function_arn(const FunctionName& function, std::string_view region,
                         std::string_view account) {
  std::string arn = "arn:aws:lambda:";
  arn.append(region).append(":").append(account).append(":function:").append(function.name);
  if (!function.qualifier.empty()) arn.append(":").append(function.qualifier);
  return arn;
}

std::vector<FilterPattern> Mapping::patterns() const {
  std::vector<FilterPattern> patterns;
  for (const std::string& text : filters) {
    if (auto pattern = FilterPattern::parse(text)) patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

std::string encode_mapping(const Mapping& mapping) {
  std::string out;
  json::Object object(out);
  object.string("uuid", mapping.uuid);
  object.string("function", mapping.function.name);
  object.string("qualifier", mapping.function.qualifier);
  object.string("event_source_arn", mapping.event_source_arn);
  object.string("starting_position", mapping.starting_position);
  object.boolean("enabled", mapping.enabled);
  object.integer("batch_size", mapping.batch_size);
  object.integer("batching_window_s", mapping.batching_window_s);
  object.integer("parallelization_factor", mapping.parallelization_factor);
  object.integer("max_retry_attempts", mapping.max_retry_attempts);
  object.integer("max_record_age_s", mapping.max_record_age_s);
  object.boolean("bisect_on_error", mapping.bisect_on_error);
  object.boolean("reports_item_failures", mapping.reports_item_failures);
  object.string("on_failure", mapping.on_failure);
  json::Array filters(object.key("filters"));
  for (const std::string& filter : mapping.filters) json::append_quoted(filters.element(), filter);
  filters.close();
  object.integer("modified_ms", mapping.modified_ms);
  object.string("transition_reason", mapping.transition_reason);
  object.close();
  return out;
}

Mapping decode_mapping(std::string_view text) {
  json::Document document;
  if (!document.parse(std::string(text))) throw CorruptRecord("event source mapping: not JSON");
  const json::Element root = document.root();
  const auto string = [&](std::string_view name) {
    const auto value = json::string_member(root, name);
    if (!value) throw CorruptRecord("event source mapping: no text " + std::string(name));
    return std::string(*value);
  };
  const auto integer = [&](std::string_view name) {
    const auto value = json::int_member(root, name);
    if (!value) throw CorruptRecord("event source mapping: no number " + std::string(name));
    return *value;
  };
  Mapping mapping;
  mapping.uuid = string("uuid");
  mapping.function = {string("function"), string("qualifier")};
  mapping.event_source_arn = string("event_source_arn");
  mapping.starting_position = string("starting_position");
  mapping.enabled = json::bool_member(root, "enabled").value_or(false);
  mapping.batch_size = integer("batch_size");
  mapping.batching_window_s = integer("batching_window_s");
  mapping.parallelization_factor = integer("parallelization_factor");
  mapping.max_retry_attempts = integer("max_retry_attempts");
  mapping.max_record_age_s = integer("max_record_age_s");
  mapping.bisect_on_error = json::bool_member(root, "bisect_on_error").value_or(false);
  mapping.reports_item_failures = json::bool_member(root, "reports_item_failures").value_or(false);
  mapping.on_failure = string("on_failure");
  if (const auto filters = json::array_member(root, "filters")) {
    for (const json::Element filter : *filters) {
      std::string_view pattern;
      if (filter.get(pattern) == simdjson::SUCCESS) mapping.filters.emplace_back(pattern);
    }
  }
  mapping.modified_ms = integer("modified_ms");
  mapping.transition_reason = string("transition_reason");
  return mapping;
}

void append_configuration(std::string& out, const Mapping& mapping, std::string_view state,
                          std::string_view last_result, std::string_view region,
                          std::string_view account) {
  json::Object object(out);
  object.string("UUID", mapping.uuid);
  object.string("StartingPosition", mapping.starting_position);
  object.integer("BatchSize", mapping.batch_size);
  object.integer("MaximumBatchingWindowInSeconds", mapping.batching_window_s);
  object.integer("ParallelizationFactor", mapping.parallelization_factor);
  object.string("EventSourceArn", mapping.event_source_arn);
  if (!mapping.filters.empty()) {
    json::Object criteria(object.key("FilterCriteria"));
    json::Array filters(criteria.key("Filters"));
    for (const std::string& text : mapping.filters) {
      json::Object filter(filters.element());
      filter.string("Pattern", text);
      filter.close();
    }
    filters.close();
    criteria.close();
  }
  object.string("FunctionArn", function_arn(mapping.function, region, account));
  object.number("LastModified", static_cast<double>(mapping.modified_ms) / 1000);
  object.string("LastProcessingResult", last_result);
  object.string("State", state);
  object.string("StateTransitionReason", mapping.transition_reason);
  json::Object destinations(object.key("DestinationConfig"));
  json::Object on_failure(destinations.key("OnFailure"));
  if (!mapping.on_failure.empty()) on_failure.string("Destination", mapping.on_failure);
  on_failure.close();
  destinations.close();
  object.integer("MaximumRecordAgeInSeconds", mapping.max_record_age_s);
  object.boolean("BisectBatchOnFunctionError", mapping.bisect_on_error);
  object.integer("MaximumRetryAttempts", mapping.max_retry_attempts);
  object.integer("TumblingWindowInSeconds", 0);
  json::Array responses(object.key("FunctionResponseTypes"));
  if (mapping.reports_item_failures)
    json::append_quoted(responses.element(), "ReportBatchItemFailures");
  responses.close();
  object.string("EventSourceMappingArn", "arn:aws:lambda:" + std::string(region) + ":" +
                                             std::string(account) +
                                             ":event-source-mapping:" + mapping.uuid);
  object.close();
}

}  // namespace stator::triggers
