#include "triggers/stream_source.h"

#include <spdlog/spdlog.h>

#include "json/writer.h"

namespace stator::triggers {

namespace {

constexpr std::string_view kService = "DynamoDBStreams_20120810";
constexpr int kMaxIteratorTries = 3;

std::string error_type(const json::Element& body) {
  std::string type(json::string_member(body, "__type").value_or("InternalServerError"));
  const size_t hash = type.find('#');
  return hash == std::string::npos ? type : type.substr(hash + 1);
}

json::Document checked(Answer answer) {
  json::Document document;
  const int status = answer.status;
  if (!document.parse(std::move(answer.body)))
    throw StreamError("InternalServerError", "an answer that is no JSON");
  if (status != 200) {
    const auto message = json::string_member(document.root(), "message");
    throw StreamError(error_type(document.root()), std::string(message.value_or("")));
  }
  return document;
}

std::string text(const json::Element& element, std::string_view name) {
  return std::string(json::string_member(element, name).value_or(""));
}

void add_shards(StreamInfo& info, const json::Element& description) {
  const auto shards = json::array_member(description, "Shards");
  if (!shards) return;
  for (const json::Element shard : *shards) {
    ShardInfo one;
    one.id = text(shard, "ShardId");
    one.parent = text(shard, "ParentShardId");
    if (const auto range = json::member(shard, "SequenceNumberRange")) {
      one.first_sequence_number = text(*range, "StartingSequenceNumber");
      if (const auto last = json::string_member(*range, "EndingSequenceNumber"))
        one.last_sequence_number = *last;
    }
    info.shards.push_back(std::move(one));
  }
}

}  // namespace

Task<StreamInfo> describe_stream(Database& database, std::string arn) {
  StreamInfo info;
  for (std::string after; true;) {
    std::string body;
    json::Object request(body);
    request.string("StreamArn", arn);
    if (!after.empty()) request.string("ExclusiveStartShardId", after);
    request.close();
    auto pending = database.execute(kService, "DescribeStream", std::move(body), Caller{});
    Answer answer = co_await pending;
    const json::Document document = checked(std::move(answer));
    const auto description = json::member(document.root(), "StreamDescription");
    if (!description) throw StreamError("InternalServerError", "no StreamDescription");
    add_shards(info, *description);
    after = text(*description, "LastEvaluatedShardId");
    if (!after.empty()) continue;
    const std::string status = text(*description, "StreamStatus");
    info.enabled = status == "ENABLED" || status == "ENABLING";
    if (const auto keys = json::array_member(*description, "KeySchema")) {
      for (const json::Element key : *keys) {
        if (json::string_member(key, "KeyType") == "HASH")
          info.partition_key.push_back(text(key, "AttributeName"));
      }
    }
    co_return info;
  }
}

ShardReader::ShardReader(Database& database, std::string stream_arn, std::string shard_id,
                         std::optional<std::string> after)
    : database_(database),
      stream_arn_(std::move(stream_arn)),
      shard_id_(std::move(shard_id)),
      after_(std::move(after)) {}

json::Document ShardReader::call(std::string_view operation, std::string body) {
  return checked(run_blocking(database_.execute(kService, operation, std::move(body), Caller{})));
}

std::string ShardReader::find_iterator() {
  const auto ask = [&](bool from_start) {
    std::string body;
    json::Object request(body);
    request.string("StreamArn", stream_arn_);
    request.string("ShardId", shard_id_);
    request.string("ShardIteratorType", from_start ? "TRIM_HORIZON" : "AFTER_SEQUENCE_NUMBER");
    if (!from_start) request.string("SequenceNumber", *after_);
    request.close();
    return text(call("GetShardIterator", std::move(body)).root(), "ShardIterator");
  };
  if (!after_) return ask(true);
  try {
    return ask(false);
  } catch (const StreamError& error) {
    if (error.type() != "TrimmedDataAccessException") throw;
    // Nothing was read here for a day. What has gone meanwhile, if anything, is lost.
    spdlog::warn("records of {} {} after {} are no longer there", stream_arn_, shard_id_, *after_);
    after_.reset();
    return ask(true);
  }
}

json::Document ShardReader::read(size_t limit) {
  for (int tries = 1; true; ++tries) {
    if (!iterator_) iterator_ = find_iterator();
    std::string body;
    json::Object request(body);
    request.string("ShardIterator", *iterator_);
    request.integer("Limit", static_cast<int64_t>(limit));
    request.close();
    try {
      json::Document page = call("GetRecords", std::move(body));
      const auto next = json::string_member(page.root(), "NextShardIterator");
      for (const json::Element record : records_of(page)) {
        if (const auto change = json::member(record, "dynamodb"))
          after_ = text(*change, "SequenceNumber");
      }
      iterator_ = next;
      ended_ = !next;
      return page;
    } catch (const StreamError& error) {
      const bool is_old = error.type() == "ExpiredIteratorException" ||
                          error.type() == "TrimmedDataAccessException";
      if (!is_old || tries == kMaxIteratorTries) throw;
      iterator_.reset();
    }
  }
}

json::ArrayElement records_of(const json::Document& page) {
  const auto records = json::array_member(page.root(), "Records");
  if (!records) throw StreamError("InternalServerError", "no Records");
  return *records;
}

}  // namespace stator::triggers
