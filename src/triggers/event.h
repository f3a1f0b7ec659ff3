// The texts that leave the house: records as Lambda shows them to a function, the event with a
// batch of them, and the failure record that an on-failure destination gets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/reader.h"

namespace stator::triggers {

// A change on its way to a function.
struct Record {
  std::string sequence_number;
  int64_t created_s = 0;
  std::string partition;  // tells partition keys apart
  std::string text;       // JSON, as the function gets it
  bool done = false;      // delivered, filtered out or given up; the shard's mutex guards it
};
using RecordPtr = std::shared_ptr<Record>;

// From a record of GetRecords. `partition_key` names the table's partition key attributes.
Record make_record(const json::Element& record, std::string_view stream_arn,
                   std::span<const std::string> partition_key);

// {"Records":[…]}
std::string make_event(std::span<const RecordPtr> records);
// What is added to the sizes of the texts, at most, for each record of an event.
inline constexpr size_t kEventOverheadBytes = 16;

// "2022-07-13T13:48:01Z", or with milliseconds "2022-07-13T13:48:01.000Z".
std::string iso_seconds(int64_t time_s);
std::string iso_milliseconds(int64_t time_ms);

// Why records were given up.
enum class Condition { kRetryAttemptsExhausted, kRecordAgeExceeded };

struct FailureContext {
  std::string request_id;
  std::string function_arn;
  Condition condition;
  int64_t invoke_count = 0;
  // The last answer; none if the function was never reached.
  std::optional<int> status;
  std::string executed_version;
  std::string function_error;  // empty: the function answered, but reported failed records
  int64_t now_ms = 0;
  std::string shard_id;
  std::string stream_arn;
  bool with_payload = false;  // for destinations that take objects of any size
};

std::string make_failure_record(const FailureContext& context, std::span<const RecordPtr> records);

}  // namespace stator::triggers
