// The operations of DynamoDB Streams.
#include <algorithm>

#include "common/hex.h"
#include "common/md5.h"
#include "json/writer.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "ops/operation.h"
#include "ops/stream_iterator.h"
#include "ops/value_json.h"
#include "store/stream_reader.h"

namespace stator::ops {

namespace {

using catalog::Shard;
using catalog::Stream;
using catalog::StreamPtr;

constexpr int64_t kIteratorLifeMs = 15LL * 60 * 1000;
constexpr int64_t kMaxListed = 100;
constexpr int64_t kMaxRecords = 1000;

[[noreturn]] void throw_not_found(std::string_view arn) {
  throw ApiError("ResourceNotFoundException",
                 "Requested resource not found: Stream: " + std::string(arn) + " not found");
}

[[noreturn]] void throw_trimmed() {
  throw ApiError("TrimmedDataAccessException",
                 "The operation attempted to read past the oldest stream record in a shard.");
}

// A Limit above its maximum, which the API model does not state.
size_t read_limit(const Request& request, int64_t maximum) {
  const int64_t limit = json::int_member(request.body, "Limit").value_or(maximum);
  if (limit > maximum) {
    invalid("1 validation error detected: Value '" + std::to_string(limit) +
            "' at 'limit' failed to satisfy constraint: Member must have value less than or equal "
            "to " +
            std::to_string(maximum));
  }
  return static_cast<size_t>(limit);
}

StreamPtr need_stream(const Request& request, std::string_view arn) {
  StreamPtr stream = request.context.catalog.find_stream(arn);
  if (!stream || stream->is_over(request.context.clock.now_ms())) throw_not_found(arn);
  return stream;
}

bool is_trimmed(const Shard& shard, int64_t now_ms) {
  return shard.closed_ms && *shard.closed_ms + catalog::kStreamRetentionMs <= now_ms;
}

// The state follows from that of the table, whose change opened or closed the stream.
std::string_view status_of(const Request& request, const Stream& stream) {
  const auto table = request.context.catalog.find(stream.table_name);
  bool changing = false;
  if (table && table->schema->number == stream.id.table) {
    const auto state = table->state(request.context.clock.now_ms());
    const int64_t since_ms = stream.disabled_ms.value_or(stream.created_ms);
    changing =
        state == catalog::TableState::kCreating ||
        (state == catalog::TableState::kUpdating &&
         since_ms + request.context.catalog.options().table_delay_ms >= table->updating_until_ms) ||
        (state == catalog::TableState::kDeleting && stream.disabled_ms);
  }
  if (stream.disabled_ms) return changing ? "DISABLING" : "DISABLED";
  return changing ? "ENABLING" : "ENABLED";
}

void append_shard(std::string& out, const Stream& stream, const Shard& shard) {
  json::Object object(out);
  object.string("ShardId", shard.id);
  json::Object range(object.key("SequenceNumberRange"));
  range.string("StartingSequenceNumber", sequence_number({shard.opened_version, 0}));
  if (shard.closed_ms)
    range.string("EndingSequenceNumber", sequence_number({shard.closed_version, 0}));
  range.close();
  // A parent that is gone is still named, as the service does.
  if (shard.parent != 0) {
    const Shard* parent = stream.find_shard(shard.parent);
    if (parent != nullptr) object.string("ParentShardId", parent->id);
  }
  object.close();
}

void append_key_schema(std::string& out, const model::KeySchema& key) {
  json::Array list(out);
  for (size_t i = 0; i < key.size(); ++i) {
    json::Object element(list.element());
    element.string("AttributeName", key.at(i).name);
    element.string("KeyType", i < key.partition.size() ? "HASH" : "RANGE");
    element.close();
  }
  list.close();
}

std::string event_id(const Stream& stream, std::string_view sequence) {
  const auto digest = md5({stream.arn, "/", sequence});
  return to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

void append_keys(std::string& out, const Stream& stream, const store::StreamRecord& record) {
  if (record.keys) {
    append_encoded_item(out, *record.keys);
    return;
  }
  const std::string_view image = record.new_image ? *record.new_image : *record.old_image;
  append_item(out, model::key_of(stream.key, model::decode_item(image)));
}

void append_record(std::string& out, const Request& request, const Stream& stream,
                   const store::StreamPage::Entry& entry) {
  const store::StreamRecord& record = entry.record;
  const std::string sequence = sequence_number(entry.at);
  json::Object object(out);
  object.string("eventID", event_id(stream, sequence));
  object.string("eventName", store::stream_event_name(record.event));
  object.string("eventVersion", "1.1");
  object.string("eventSource", "aws:dynamodb");
  object.string("awsRegion", request.context.region);
  json::Object change(object.key("dynamodb"));
  // Whole seconds; the hidden stream of a destination keeps the fraction.
  if (stream.hidden) {
    change.integer("ApproximateCreationDateTimeMicros", record.written_us);
  }
  change.integer("ApproximateCreationDateTime", record.written_us / 1'000'000);
  append_keys(change.key("Keys"), stream, record);
  if (record.new_image) append_encoded_item(change.key("NewImage"), *record.new_image);
  if (record.old_image) append_encoded_item(change.key("OldImage"), *record.old_image);
  change.string("SequenceNumber", sequence);
  change.integer("SizeBytes", static_cast<int64_t>(record.size_bytes));
  change.string("StreamViewType", model::stream_view_name(stream.view));
  change.close();
  if (record.origin == model::Origin::kService) {
    json::Object identity(object.key("userIdentity"));
    identity.string("PrincipalId", "dynamodb.amazonaws.com");
    identity.string("Type", "Service");
    identity.close();
  }
  object.close();
}

}  // namespace

Task<std::string> list_streams(Request& request) {
  check_shape(request);
  const size_t limit = read_limit(request, kMaxListed);
  const auto table_name = json::string_member(request.body, "TableName");
  const auto after = json::string_member(request.body, "ExclusiveStartStreamArn");
  const int64_t now_ms = request.context.clock.now_ms();
  std::string out;
  std::string last;
  bool more = false;
  size_t count = 0;
  json::Object answer(out);
  json::Array list(answer.key("Streams"));
  for (const StreamPtr& stream : request.context.catalog.streams()) {
    if (stream->hidden || stream->is_over(now_ms)) continue;
    if (table_name && stream->table_name != *table_name) continue;
    if (after && stream->arn <= *after) continue;
    more = count == limit;
    if (more) break;
    json::Object one(list.element());
    one.string("StreamArn", stream->arn);
    one.string("TableName", stream->table_name);
    one.string("StreamLabel", stream->label);
    one.close();
    last = stream->arn;
    ++count;
  }
  list.close();
  if (more) answer.string("LastEvaluatedStreamArn", last);
  answer.close();
  co_return out;
}

Task<std::string> describe_stream(Request& request) {
  check_shape(request);
  const size_t limit = read_limit(request, kMaxListed);
  const StreamPtr stream = need_stream(request, *json::string_member(request.body, "StreamArn"));
  const auto after = json::string_member(request.body, "ExclusiveStartShardId");
  const auto filter = json::member(request.body, "ShardFilter");
  const Shard* parent = nullptr;
  bool filtered = false;
  if (filter) {
    const auto type = json::string_member(*filter, "Type");
    const auto shard_id = json::string_member(*filter, "ShardId");
    if (type && !shard_id)
      invalid("ShardFilter with Type CHILD_SHARDS requires ShardId to be specified");
    filtered = type.has_value();
    if (filtered) parent = stream->find_shard(*shard_id);
  }
  const int64_t now_ms = request.context.clock.now_ms();
  model::ShardNumber after_number = 0;
  if (after) {
    const Shard* found = stream->find_shard(*after);
    if (found != nullptr) after_number = found->number;
  }

  std::string out;
  json::Object answer(out);
  json::Object object(answer.key("StreamDescription"));
  object.string("StreamArn", stream->arn);
  object.string("StreamLabel", stream->label);
  object.string("StreamStatus", status_of(request, *stream));
  object.string("StreamViewType", model::stream_view_name(stream->view));
  object.number("CreationRequestDateTime", static_cast<double>(stream->created_ms) / 1000);
  object.string("TableName", stream->table_name);
  append_key_schema(object.key("KeySchema"), stream->key);
  json::Array shards(object.key("Shards"));
  const Shard* last = nullptr;
  size_t count = 0;
  bool more = false;
  for (const Shard& shard : stream->shards) {
    if (shard.number <= after_number || is_trimmed(shard, now_ms)) continue;
    if (filtered && (parent == nullptr || shard.parent != parent->number)) continue;
    more = count == limit;
    if (more) break;
    append_shard(shards.element(), *stream, shard);
    last = &shard;
    ++count;
  }
  shards.close();
  if (more) object.string("LastEvaluatedShardId", last->id);
  object.close();
  answer.close();
  co_return out;
}

Task<std::string> get_shard_iterator(Request& request) {
  check_shape(request);
  const StreamPtr stream = need_stream(request, *json::string_member(request.body, "StreamArn"));
  const auto shard_id = *json::string_member(request.body, "ShardId");
  const auto type = *json::string_member(request.body, "ShardIteratorType");
  const auto sequence = json::string_member(request.body, "SequenceNumber");
  const int64_t now_ms = request.context.clock.now_ms();
  const Shard* shard = stream->find_shard(shard_id);
  if (shard == nullptr || is_trimmed(*shard, now_ms)) {
    throw ApiError("ResourceNotFoundException",
                   "Requested resource not found: Shard: " + std::string(shard_id) +
                       " in Stream: " + stream->arn + " not found");
  }
  store::Store& store = request.context.store;
  auto finding = store.stream_horizon();
  const uint64_t horizon = co_await finding;
  ShardIterator iterator{
      .stream = stream->id, .shard = shard->number, .at = {}, .issued_ms = now_ms};
  if (type == "TRIM_HORIZON") {
    iterator.at = {std::max(shard->opened_version, horizon), 0};
  } else if (type == "LATEST") {
    iterator.at = {store.engine().committed_version() + 1, 0};
  } else {
    if (!sequence) {
      invalid("One or more parameter values were invalid: SequenceNumber must be specified for " +
              std::string(type));
    }
    const auto at = parse_sequence_number(*sequence);
    const bool inside = at && at->version >= shard->opened_version &&
                        (!shard->closed_ms || at->version <= shard->closed_version) &&
                        at->version <= store.engine().committed_version();
    if (!inside) {
      invalid("Invalid SequenceNumber: " + std::string(*sequence) + " for Shard: " + shard->id +
              " in Stream: " + stream->arn);
    }
    iterator.at = *at;
    if (type == "AFTER_SEQUENCE_NUMBER") iterator.at.ordinal += 1;
    // The beginning of a shard may be named even when its first records are gone.
    const bool beginning = at->version == shard->opened_version;
    if (at->version < horizon && !beginning) throw_trimmed();
    if (beginning && at->version < horizon) iterator.at = {horizon, 0};
  }
  std::string out;
  json::Object answer(out);
  answer.string("ShardIterator", shard_iterator_text(stream->arn, iterator));
  answer.close();
  co_return out;
}

Task<std::string> get_records(Request& request) {
  check_shape(request);
  const size_t limit = read_limit(request, kMaxRecords);
  const auto text = *json::string_member(request.body, "ShardIterator");
  const auto iterator = parse_shard_iterator(text);
  if (!iterator) invalid("Invalid ShardIterator");
  const int64_t now_ms = request.context.clock.now_ms();
  const StreamPtr stream = request.context.catalog.find_stream(iterator->stream);
  if (!stream || stream->is_over(now_ms)) throw_not_found(text.substr(0, text.find('|')));
  if (now_ms - iterator->issued_ms > kIteratorLifeMs) {
    throw ApiError("ExpiredIteratorException",
                   "Iterator expired: it was issued more than 15 minutes ago.");
  }
  const Shard* shard = stream->find_shard(iterator->shard);
  if (shard == nullptr || is_trimmed(*shard, now_ms)) throw_trimmed();
  store::Store& store = request.context.store;
  auto finding = store.stream_horizon();
  const uint64_t horizon = co_await finding;
  if (iterator->at.version < horizon && iterator->at.version < store.engine().committed_version())
    throw_trimmed();

  auto reading = store::read_stream(store.engine(), stream->id, shard->number, iterator->at,
                                    {.records = limit});
  const store::StreamPage page = co_await reading;
  std::string out;
  json::Object answer(out);
  json::Array records(answer.key("Records"));
  for (const auto& entry : page.records) append_record(records.element(), request, *stream, entry);
  records.close();
  if (!page.ended) {
    ShardIterator next = *iterator;
    next.at = page.next;
    next.issued_ms = now_ms;
    answer.string("NextShardIterator", shard_iterator_text(stream->arn, next));
  }
  answer.close();
  co_return out;
}

}  // namespace stator::ops
