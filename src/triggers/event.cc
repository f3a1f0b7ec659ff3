#include "triggers/event.h"

#include <cassert>
#include <cmath>
#include <ctime>

#include <fmt/format.h>

#include "json/writer.h"

namespace stator::triggers {

namespace {

std::tm utc(int64_t time_s) {
  const auto time = static_cast<std::time_t>(time_s);
  std::tm parts{};
  gmtime_r(&time, &parts);
  return parts;
}

// Lambda spells its members in small letters.
void append_identity(std::string& out, const json::Element& identity) {
  json::Object object(out);
  for (const auto& [from, to] : {std::pair("PrincipalId", "principalId"), {"Type", "type"}}) {
    if (const auto value = json::string_member(identity, from)) object.string(to, *value);
  }
  object.close();
}

// The time is a whole number of seconds, however the stream writes it.
void append_change(std::string& out, const json::Element& change) {
  json::Object object(out);
  for (const auto member : json::ObjectElement(change)) {
    if (member.key == "ApproximateCreationDateTime" && member.value.is_number()) {
      object.integer(member.key, static_cast<int64_t>(double(member.value)));
    } else {
      object.key(member.key).append(simdjson::minify(member.value));
    }
  }
  object.close();
}

std::string_view condition_name(Condition condition) {
  return condition == Condition::kRetryAttemptsExhausted ? "RetryAttemptsExhausted"
                                                         : "RecordAgeExceeded";
}

}  // namespace

Record make_record(const json::Element& record, std::string_view stream_arn,
                   std::span<const std::string> partition_key) {
  Record made;
  json::Object object(made.text);
  for (const auto member : json::ObjectElement(record)) {
    if (member.key == "userIdentity") {
      append_identity(object.key(member.key), member.value);
    } else if (member.key == "dynamodb") {
      append_change(object.key(member.key), member.value);
    } else {
      object.key(member.key).append(simdjson::minify(member.value));
    }
  }
  object.string("eventSourceARN", stream_arn);
  object.close();

  const auto change = json::member(record, "dynamodb");
  if (!change) return made;
  made.sequence_number = json::string_member(*change, "SequenceNumber").value_or("");
  made.created_s = json::int_member(*change, "ApproximateCreationDateTime").value_or(0);
  const auto keys = json::member(*change, "Keys");
  for (const std::string& name : partition_key) {
    if (const auto value = keys ? json::member(*keys, name) : std::nullopt)
      made.partition.append(simdjson::minify(*value));
  }
  return made;
}

std::string make_event(std::span<const RecordPtr> records) {
  std::string event;
  json::Object object(event);
  json::Array list(object.key("Records"));
  for (const RecordPtr& record : records) list.element().append(record->text);
  list.close();
  object.close();
  return event;
}

std::string iso_seconds(int64_t time_s) {
  const std::tm at = utc(time_s);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", at.tm_year + 1900, at.tm_mon + 1,
                     at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec);
}

std::string iso_milliseconds(int64_t time_ms) {
  std::string text = iso_seconds(time_ms / 1000);
  text.pop_back();
  return text + fmt::format(".{:03}Z", time_ms % 1000);
}

std::string make_failure_record(const FailureContext& context, std::span<const RecordPtr> records) {
  assert(!records.empty());
  std::string out;
  json::Object object(out);
  json::Object request(object.key("requestContext"));
  request.string("requestId", context.request_id);
  request.string("functionArn", context.function_arn);
  request.string("condition", condition_name(context.condition));
  request.integer("approximateInvokeCount", context.invoke_count);
  request.close();
  if (context.status) {
    json::Object response(object.key("responseContext"));
    response.integer("statusCode", *context.status);
    response.string("executedVersion", context.executed_version);
    if (context.function_error.empty()) {
      response.key("functionError").append("null");
    } else {
      response.string("functionError", context.function_error);
    }
    response.close();
  }
  object.string("version", "1.0");
  object.string("timestamp", iso_milliseconds(context.now_ms));
  if (context.with_payload) object.string("payload", make_event(records));
  json::Object batch(object.key("DDBStreamBatchInfo"));
  batch.string("shardId", context.shard_id);
  batch.string("startSequenceNumber", records.front()->sequence_number);
  batch.string("endSequenceNumber", records.back()->sequence_number);
  batch.string("approximateArrivalOfFirstRecord", iso_seconds(records.front()->created_s));
  batch.string("approximateArrivalOfLastRecord", iso_seconds(records.back()->created_s));
  batch.integer("batchSize", static_cast<int64_t>(records.size()));
  batch.string("streamArn", context.stream_arn);
  batch.close();
  object.close();
  return out;
}

}  // namespace stator::triggers
