#include "triggers/kinesis.h"

#include <array>

#include <spdlog/spdlog.h>

#include "common/base64.h"
#include "common/md5.h"
#include "json/reader.h"
#include "json/writer.h"

namespace stator::triggers {

namespace {

constexpr std::string_view kTarget = "Kinesis_20131202.PutRecords";
constexpr size_t kMaxRecords = 500;
constexpr size_t kMaxCallBytes = 5 * 1024 * 1024;
// Records that a call left out are sent again at once, in case that a moment helps; then the lane
// waits.
constexpr int kTries = 3;

std::string hex(const std::array<unsigned char, 16>& bytes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text;
  for (const unsigned char byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

// Thirty-two digits as a UUID.
std::string uuid_form(std::string_view digits) {
  if (digits.size() != 32) return std::string(digits);
  std::string text;
  for (const auto& [from, count] : {std::pair(0, 8), {8, 4}, {12, 4}, {16, 4}, {20, 12}}) {
    if (!text.empty()) text.push_back('-');
    text.append(digits.substr(static_cast<size_t>(from), static_cast<size_t>(count)));
  }
  return text;
}

// "…:table/Orders/stream/…" → "Orders"
std::string_view table_of(std::string_view stream_arn) {
  const size_t begin = stream_arn.find(":table/");
  if (begin == std::string_view::npos) return {};
  stream_arn.remove_prefix(begin + 7);
  return stream_arn.substr(0, stream_arn.find('/'));
}

// What is wrong with the records themselves, not with the stream or the moment.
bool is_about_records(std::string_view body) {
  for (const std::string_view type :
       {"ValidationException", "InvalidArgumentException", "SerializationException"}) {
    if (body.find(type) != std::string_view::npos) return true;
  }
  return false;
}

std::string put_records_body(const std::string& stream_arn,
                             const std::vector<const KinesisRecord*>& records) {
  std::string body;
  json::Object object(body);
  json::Array list(object.key("Records"));
  for (const KinesisRecord* record : records) {
    json::Object one(list.element());
    std::string& out = one.key("Data");
    out.push_back('"');
    append_base64(out, record->data);
    out.push_back('"');
    one.string("PartitionKey", record->partition_key);
    one.close();
  }
  list.close();
  const size_t slash = stream_arn.rfind('/');
  object.string("StreamName", stream_arn.substr(slash == std::string::npos ? 0 : slash + 1));
  object.string("StreamARN", stream_arn);
  object.close();
  return body;
}

// Those that the answer says did not get in, in their order.
std::vector<const KinesisRecord*> left_out(const std::string& answer,
                                           const std::vector<const KinesisRecord*>& sent) {
  json::Document document;
  std::vector<const KinesisRecord*> failed;
  if (!document.parse(answer)) return failed;
  const auto results = json::array_member(document.root(), "Records");
  if (!results) return failed;
  size_t i = 0;
  for (const json::Element result : *results) {
    if (i < sent.size() && json::member(result, "ErrorCode")) failed.push_back(sent[i]);
    ++i;
  }
  return failed;
}

}  // namespace

KinesisRecord make_kinesis_record(const json::Element& record, std::string_view precision) {
  KinesisRecord made;
  const auto text = [](const json::Element& element, std::string_view name) {
    return json::string_member(element, name).value_or("");
  };
  json::Object object(made.data);
  object.string("awsRegion", text(record, "awsRegion"));
  object.string("eventID", uuid_form(text(record, "eventID")));
  object.string("eventName", text(record, "eventName"));
  const auto identity = json::member(record, "userIdentity");
  object.key("userIdentity").append(identity ? simdjson::minify(*identity) : "null");
  object.string("recordFormat", "application/json");
  object.string("tableName", table_of(text(record, "eventSourceARN")));
  const auto change = json::member(record, "dynamodb");
  json::Object shown(object.key("dynamodb"));
  if (change) {
    const int64_t seconds = json::int_member(*change, "ApproximateCreationDateTime").value_or(0);
    const int64_t micros = json::int_member(*change, "ApproximateCreationDateTimeMicros")
                               .value_or(seconds * 1'000'000);
    shown.integer("ApproximateCreationDateTime",
                  precision == "MICROSECOND" ? micros : micros / 1000);
    for (const std::string_view name : {"Keys", "NewImage", "OldImage", "SizeBytes"}) {
      if (const auto value = json::member(*change, name))
        shown.key(name).append(simdjson::minify(*value));
    }
    shown.string("ApproximateCreationDateTimePrecision", precision);
    made.sequence_number = text(*change, "SequenceNumber");
    // One item, one key, one shard of the stream: its changes stay in order.
    if (const auto keys = json::member(*change, "Keys"))
      made.partition_key = hex(md5({json::canonical(*keys)}));
  }
  shown.close();
  object.string("eventSource", "aws:dynamodb");
  object.close();
  return made;
}

KinesisInvoker::KinesisInvoker(KinesisOptions options, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      signer_(options_.credentials, options_.region, "kinesis") {}

Invocation KinesisInvoker::invoke(const FunctionName& stream, const std::string& event) {
  Invocation result;
  result.kind = Invocation::Kind::kNotReached;
  if (!options_.endpoint) {
    result.detail = "there is no [kinesis] endpoint in the configuration";
    return result;
  }
  json::Document document;
  if (!document.parse(event)) return result;
  std::vector<KinesisRecord> records;
  const auto list = json::array_member(document.root(), "Records");
  if (!list) return result;
  for (const json::Element record : *list)
    records.push_back(make_kinesis_record(record, stream.qualifier));

  size_t done = 0;  // all before it are in
  while (done < records.size()) {
    std::vector<const KinesisRecord*> sent;
    size_t bytes = 0;
    size_t end = done;
    while (end < records.size() && sent.size() < kMaxRecords) {
      bytes += records[end].data.size() + records[end].partition_key.size();
      if (!sent.empty() && bytes > kMaxCallBytes) break;
      sent.push_back(&records[end++]);
    }
    for (int tries = 1; !sent.empty() && tries <= kTries; ++tries) {
      net::ClientRequest request;
      request.method = "POST";
      request.url = *options_.endpoint;
      request.set_header("Content-Type", "application/x-amz-json-1.1");
      request.set_header("X-Amz-Target", std::string(kTarget));
      request.body = put_records_body(stream.name, sent);
      signer_.sign(request, clock_.now_s());
      try {
        const net::ClientResponse response = client_.send(request);
        result.status = response.status;
        if (response.status != 200) {
          result.detail =
              "status " + std::to_string(response.status) + ": " + response.body.substr(0, 200);
          if (response.status == 400 && is_about_records(response.body) && done == 0) {
            result.kind = Invocation::Kind::kFailed;
            result.function_error = "Unhandled";
          }
          break;
        }
        sent = left_out(response.body, sent);
      } catch (const net::HttpError& error) {
        result.detail = error.what();
        break;
      }
    }
    if (!sent.empty()) {
      done = static_cast<size_t>(sent.front() - records.data());
      break;
    }
    done = end;
  }
  if (done == 0) {
    if (!result.detail.empty()) spdlog::debug("kinesis {}: {}", stream.name, result.detail);
    return result;
  }
  result.kind = Invocation::Kind::kDone;
  result.status = 200;
  if (done < records.size()) {
    json::Object object(result.body);
    json::Array failures(object.key("batchItemFailures"));
    json::Object first(failures.element());
    first.string("itemIdentifier", records[done].sequence_number);
    first.close();
    failures.close();
    object.close();
  }
  return result;
}

}  // namespace stator::triggers
