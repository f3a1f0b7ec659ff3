// An event source mapping: which stream feeds which function, and how. The words are Lambda's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "triggers/filter.h"

namespace stator::triggers {

// A function as a request names it: "name", "name:qualifier", "123456789012:function:name" or a
// whole ARN.
struct FunctionName {
  std::string name;
  std::string qualifier;  // a version or an alias; may be empty
  bool operator==(const FunctionName&) const = default;
};

// Nothing if `text` names none, or one of another region or account.
std::optional<FunctionName> parse_function_name(std::string_view text, std::string_view region,
                                                std::string_view account);
std::string function_arn(const FunctionName& function, std::string_view region,
                         std::string_view account);

struct Mapping {
  static constexpr int64_t kForever = -1;

  std::string uuid;
  FunctionName function;
  std::string event_source_arn;
  std::string starting_position;
  bool enabled = true;
  int64_t batch_size = 100;
  int64_t batching_window_s = 0;
  int64_t parallelization_factor = 1;
  int64_t max_retry_attempts = kForever;
  int64_t max_record_age_s = kForever;
  bool bisect_on_error = false;
  bool reports_item_failures = false;
  std::string on_failure;            // ARN of the destination; empty: none
  std::vector<std::string> filters;  // the texts of the patterns
  int64_t modified_ms = 0;
  std::string transition_reason = "User action";

  std::vector<FilterPattern> patterns() const;
};

// What is kept of a mapping.
std::string encode_mapping(const Mapping& mapping);
Mapping decode_mapping(std::string_view text);  // throws CorruptRecord

// EventSourceMappingConfiguration, as the API shows it.
void append_configuration(std::string& out, const Mapping& mapping, std::string_view state,
                          std::string_view last_result, std::string_view region,
                          std::string_view account);

}  // namespace stator::triggers
