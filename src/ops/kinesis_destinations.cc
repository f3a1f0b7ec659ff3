// Kinesis data streams that take the changes of a table: which, and since when. What carries them
// there is in the room triggers.
#include "ops/kinesis_destinations.h"

#include <algorithm>
#include <cstdlib>

#include "catalog/stream.h"
#include "json/writer.h"
#include "ops/operation.h"
#include "ops/table_request.h"

namespace stator::ops {

namespace {

using catalog::KinesisDestination;
using catalog::Table;

constexpr std::string_view kMilliseconds = "MILLISECOND";
// Those that were disabled are kept and shown; beyond this many the oldest is forgotten.
constexpr size_t kMaxDestinations = 50;

// A state other than ACTIVE and DISABLED lasts as long as those of tables do.
std::string_view status_of(const KinesisDestination& destination, const Context& context) {
  const bool changing =
      context.clock.now_ms() < destination.changed_ms + context.catalog.options().table_delay_ms;
  if (!destination.enabled) return changing ? "DISABLING" : "DISABLED";
  if (!changing) return "ACTIVE";
  return destination.updating ? "UPDATING" : "ENABLING";
}

[[noreturn]] void throw_state(const std::string& text) {
  invalid("Table is not in a valid state to enable Kinesis Streaming Destination: " + text);
}

KinesisDestination* find(Table& table, std::string_view stream_arn) {
  for (KinesisDestination& destination : table.kinesis) {
    if (destination.stream_arn == stream_arn) return &destination;
  }
  return nullptr;
}

std::string read_precision(const Request& request, std::string_view configuration) {
  const auto given = json::member(request.body, configuration);
  if (!given) return {};
  return std::string(
      json::string_member(*given, "ApproximateCreationDateTimePrecision").value_or(""));
}

std::string answer_of(const std::string& table, const std::string& stream_arn,
                      std::string_view status, std::string_view configuration,
                      const std::string& precision) {
  std::string out;
  json::Object answer(out);
  answer.string("TableName", table);
  answer.string("StreamArn", stream_arn);
  answer.string("DestinationStatus", status);
  json::Object echo(answer.key(configuration));
  if (!precision.empty()) echo.string("ApproximateCreationDateTimePrecision", precision);
  echo.close();
  answer.close();
  return out;
}

void check_stream_arn(const std::string& arn, const Context& context) {
  const std::string prefix = "arn:aws:kinesis:" + context.region + ":";
  const bool fits =
      arn.starts_with(prefix) && arn.find(":stream/") != std::string::npos && !arn.ends_with('/');
  if (!fits) {
    invalid(
        "One or more parameter values were invalid: StreamArn is not that of a Kinesis data "
        "stream of this region: " +
        arn);
  }
}

}  // namespace

Task<std::string> enable_kinesis_streaming_destination(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const std::string arn(*json::string_member(request.body, "StreamArn"));
  const std::string precision = read_precision(request, "EnableKinesisStreamingConfiguration");
  check_stream_arn(arn, context);
  const auto known = existing_table(request);
  const std::function<void(Table&)> change = [&](Table& table) {
    refuse_unless_active(table, context.clock.now_ms());
    const bool is_live = std::any_of(
        table.kinesis.begin(), table.kinesis.end(),
        [&](const auto& destination) { return status_of(destination, context) != "DISABLED"; });
    if (is_live) {
      throw_state(
          "EnableKinesisStreamingDestination must be DISABLED or ENABLE_FAILED to perform ENABLE "
          "operation.");
    }
    KinesisDestination* destination = find(table, arn);
    if (destination == nullptr) {
      if (table.kinesis.size() >= kMaxDestinations) table.kinesis.pop_back();
      table.kinesis.insert(table.kinesis.begin(), KinesisDestination{.stream_arn = arn});
      destination = &table.kinesis.front();
    }
    destination->enabled = true;
    destination->updating = false;
    destination->precision = precision;
    destination->changed_ms = context.clock.now_ms();
    destination->enabled_ms = destination->changed_ms;
    table.hidden_stream = true;
  };
  auto pending = context.catalog.update(known->name(), change);
  const auto updated = co_await pending;
  if (!updated) throw_table_not_found(known->name());
  co_return answer_of(known->name(), arn, "ENABLING", "EnableKinesisStreamingConfiguration",
                      precision);
}

Task<std::string> disable_kinesis_streaming_destination(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const std::string arn(*json::string_member(request.body, "StreamArn"));
  const auto known = existing_table(request);
  const std::function<void(Table&)> change = [&](Table& table) {
    refuse_unless_active(table, context.clock.now_ms());
    KinesisDestination* destination = find(table, arn);
    if (destination == nullptr || status_of(*destination, context) != "ACTIVE")
      throw_state("KinesisStreamingDestination must be ACTIVE to perform DISABLE operation.");
    destination->enabled = false;
    destination->updating = false;
    destination->precision.clear();
    destination->changed_ms = context.clock.now_ms();
    table.hidden_stream = false;
  };
  auto pending = context.catalog.update(known->name(), change);
  const auto updated = co_await pending;
  if (!updated) throw_table_not_found(known->name());
  co_return answer_of(known->name(), arn, "DISABLING", "EnableKinesisStreamingConfiguration", {});
}

Task<std::string> update_kinesis_streaming_destination(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const std::string arn(*json::string_member(request.body, "StreamArn"));
  const std::string precision = read_precision(request, "UpdateKinesisStreamingConfiguration");
  if (precision.empty()) {
    invalid(
        "Streaming destination cannot be updated with given parameters: "
        "UpdateKinesisStreamingConfiguration cannot be null or contain only null values");
  }
  const auto known = existing_table(request);
  const std::function<void(Table&)> change = [&](Table& table) {
    refuse_unless_active(table, context.clock.now_ms());
    KinesisDestination* destination = find(table, arn);
    if (destination == nullptr) {
      throw_state("No streaming destination with streamArn: " + arn +
                  " found for table with tableName: " + table.name());
    }
    if (status_of(*destination, context) != "ACTIVE") {
      throw_state(
          "Kinesis streaming is not in ACTIVE state. Updates are only allowed in ACTIVE state. "
          "TableName: " +
          table.name());
    }
    const std::string_view current =
        destination->precision.empty() ? kMilliseconds : std::string_view(destination->precision);
    if (current == precision) {
      invalid("Invalid Request: Precision is already set to the desired value of " + precision +
              " for tableId: " + table.id + ", kdsArn: " + arn);
    }
    destination->precision = precision;
    destination->updating = true;
    destination->changed_ms = context.clock.now_ms();
  };
  auto pending = context.catalog.update(known->name(), change);
  const auto updated = co_await pending;
  if (!updated) throw_table_not_found(known->name());
  co_return answer_of(known->name(), arn, "UPDATING", "UpdateKinesisStreamingConfiguration",
                      precision);
}

Task<std::string> describe_kinesis_streaming_destination(Request& request) {
  check_shape(request);
  const auto table = existing_table(request);
  std::string out;
  json::Object answer(out);
  answer.string("TableName", table->name());
  json::Array list(answer.key("KinesisDataStreamDestinations"));
  for (const KinesisDestination& destination : table->kinesis) {
    json::Object one(list.element());
    one.string("StreamArn", destination.stream_arn);
    one.string("DestinationStatus", status_of(destination, request.context));
    if (!destination.precision.empty())
      one.string("ApproximateCreationDateTimePrecision", destination.precision);
    one.close();
  }
  list.close();
  answer.close();
  co_return out;
}

std::vector<KinesisFeed> kinesis_feeds(const Context& context) {
  std::vector<KinesisFeed> feeds;
  for (const catalog::StreamPtr& stream : context.catalog.streams()) {
    if (!stream->hidden || stream->is_over(context.clock.now_ms())) continue;
    const auto table = context.catalog.find(stream->table_name);
    if (!table || table->schema->number != stream->id.table) continue;
    // Enabling a destination opened the stream: it is the one that was enabled at that time.
    const auto distance = [&](const KinesisDestination& destination) {
      return std::abs(destination.enabled_ms - stream->created_ms);
    };
    const auto nearest =
        std::min_element(table->kinesis.begin(), table->kinesis.end(),
                         [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
    if (nearest == table->kinesis.end()) continue;
    feeds.push_back({stream->arn, nearest->stream_arn,
                     nearest->precision.empty() ? std::string(kMilliseconds) : nearest->precision});
  }
  return feeds;
}

}  // namespace stator::ops
