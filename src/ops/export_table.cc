#include "common/md5.h"
#include "json/writer.h"
#include "ops/operation.h"
#include "ops/recovery.h"
#include "ops/table_description.h"
#include "ops/transfer_request.h"
#include "store/history.h"

namespace stator::ops {

namespace {

using catalog::Export;
using json::Element;

constexpr size_t kPage = 10;
constexpr int64_t kShortestPeriod_s = 15 * 60;
constexpr int64_t kLongestPeriod_s = 24 * 60 * 60;

[[noreturn]] void invalid_time(const std::string& text) {
  throw ApiError("InvalidExportTimeException", text);
}

[[noreturn]] void throw_not_found(std::string_view arn) {
  throw ApiError("TableNotFoundException", "Table not found: " + std::string(arn));
}

void append_description(std::string& out, const Context& context, const Export& exported) {
  json::Object object(out);
  object.string("ExportArn", exported.arn);
  object.string("ExportStatus", catalog::status_name(exported.status));
  append_timestamp(object.key("StartTime"), exported.start_ms);
  if (exported.end_ms) append_timestamp(object.key("EndTime"), *exported.end_ms);
  if (!exported.manifest_key.empty()) object.string("ExportManifest", exported.manifest_key);
  object.string("TableArn", exported.table_arn);
  object.string("TableId", exported.table_id);
  if (!exported.is_incremental) {
    append_timestamp(object.key("ExportTime"), exported.export_time_ms);
  }
  object.string("ClientToken", exported.client_token);
  object.string("S3Bucket", exported.bucket);
  if (!exported.bucket_owner.empty()) object.string("S3BucketOwner", exported.bucket_owner);
  if (exported.has_prefix) object.string("S3Prefix", exported.prefix);
  object.string("S3SseAlgorithm", exported.sse_algorithm);
  if (!exported.sse_key.empty()) object.string("S3SseKmsKeyId", exported.sse_key);
  if (!exported.failure_code.empty()) {
    object.string("FailureCode", exported.failure_code);
    object.string("FailureMessage", exported.failure_message);
  }
  object.string("ExportFormat", "DYNAMODB_JSON");
  if (exported.status == catalog::TransferStatus::kCompleted) {
    object.integer("BilledSizeBytes", exported.billed_bytes);
    object.integer("ItemCount", exported.item_count);
  } else if (const auto progress = context.transfers.progress(exported); progress.item_count > 0) {
    object.integer("ItemCount", progress.item_count);
  }
  if (exported.type_named) {
    object.string("ExportType", exported.is_incremental ? "INCREMENTAL_EXPORT" : "FULL_EXPORT");
  }
  if (exported.is_incremental) {
    json::Object period(object.key("IncrementalExportSpecification"));
    append_timestamp(period.key("ExportFromTime"), exported.from_ms);
    append_timestamp(period.key("ExportToTime"), exported.to_ms);
    period.string("ExportViewType", exported.has_old_images ? "NEW_AND_OLD_IMAGES" : "NEW_IMAGE");
    period.close();
  }
  object.close();
}

std::string answer_with(const Context& context, const Export& exported) {
  std::string out;
  json::Object answer(out);
  append_description(answer.key("ExportDescription"), context, exported);
  answer.close();
  return out;
}

// What the request says about the bucket and the form of the export.
void read_target(const Element& body, Export& exported) {
  exported.bucket = std::string(*json::string_member(body, "S3Bucket"));
  exported.bucket_owner = std::string(json::string_member(body, "S3BucketOwner").value_or(""));
  const auto prefix = json::string_member(body, "S3Prefix");
  exported.has_prefix = prefix.has_value();
  if (prefix) exported.prefix = std::string(*prefix);
  const auto key = json::string_member(body, "S3SseKmsKeyId");
  exported.sse_algorithm =
      std::string(json::string_member(body, "S3SseAlgorithm").value_or("AES256"));
  if (key && exported.sse_algorithm != "KMS") {
    invalid_request("KMS Key Id is not supported for this encryption type");
  }
  if (key) exported.sse_key = std::string(*key);
  if (json::string_member(body, "ExportFormat") == "ION") {
    invalid_request("ExportFormat ION is not supported here: use DYNAMODB_JSON.");
  }
}

void read_type(const Element& body, Export& exported) {
  const auto type = json::string_member(body, "ExportType");
  const auto period = json::member(body, "IncrementalExportSpecification");
  exported.type_named = type.has_value();
  exported.is_incremental = type == "INCREMENTAL_EXPORT";
  if (period && !type) {
    invalid_request(
        "Export Type expected to be Incremental Export when incremental export specification is "
        "provided");
  }
  if (period && !exported.is_incremental) {
    invalid_request(
        "When Export Type is Full Export , Incremental Export Specification should not be "
        "provided");
  }
  if (!exported.is_incremental) return;
  if (!period) {
    invalid_request(
        "Incremental Export Specification expected when export type is set as Incremental Export");
  }
  const auto from_ms = time_member_ms(*period, "ExportFromTime");
  if (!from_ms) {
    invalid_request("ExportFromTime must be provided in IncrementalExportSpecification");
  }
  exported.from_ms = *from_ms / 1000 * 1000;
  const int64_t now_s = exported.start_ms / 1000;
  exported.to_ms = time_member_ms(*period, "ExportToTime").value_or(now_s * 1000) / 1000 * 1000;
  exported.has_old_images = json::string_member(*period, "ExportViewType") != "NEW_IMAGE";
}

void require_recovery(const catalog::Table& table) {
  if (table.recovery.since_ms) return;
  throw ApiError("PointInTimeRecoveryUnavailableException",
                 "Point in time recovery is not enabled for table '" + table.name() + "'");
}

void check_period(const catalog::Table& table, const Export& exported) {
  const int64_t from_s = exported.from_ms / 1000;
  const int64_t to_s = exported.to_ms / 1000;
  if (from_s < table.created_ms / 1000) {
    invalid_time(
        "Incremental export period from time cannot be less than the table creation time : " +
        utc_text(from_s));
  }
  if (to_s > exported.start_ms / 1000) {
    invalid_time("Incremental export period to time cannot be greater than the current time : " +
                 utc_text(to_s));
  }
  if (to_s - from_s < kShortestPeriod_s) {
    invalid_time(
        "Difference between export period from time and export period to time is less than 15 "
        "minutes");
  }
  if (to_s - from_s > kLongestPeriod_s) {
    invalid_time(
        "Difference between export period from time and export period to time is greater than 24 "
        "hours");
  }
  require_recovery(table);
  if (from_s < restorable_times(table, exported.start_ms).earliest_s) {
    invalid_time("Point in Time Recovery is not available for specified export time");
  }
}

// The moment of a full export, if the request names one.
std::optional<int64_t> read_moment(const Element& body, const catalog::Table& table,
                                   const Export& exported) {
  require_recovery(table);
  const auto asked_ms = time_member_ms(body, "ExportTime");
  if (!asked_ms) return std::nullopt;
  const RestorableTimes times = restorable_times(table, exported.start_ms);
  const int64_t second = *asked_ms / 1000;
  if (*asked_ms > exported.start_ms || second < times.earliest_s) {
    invalid_time("Export Time is invalid");
  }
  return second;
}

Task<void> find_past(const Context& context, const catalog::Table& table,
                     std::optional<int64_t> moment_s, Export& exported) {
  engine::Engine& engine = context.store.engine();
  store::Past past;
  if (exported.is_incremental) {
    auto from = store::past_at(engine, *table.schema, exported.from_ms / 1000);
    past = co_await from;
    auto to = store::past_at(engine, *table.schema, exported.to_ms / 1000);
    const store::Past end = co_await to;
    exported.end_cut = end.cut;
  } else if (moment_s) {
    auto looking = store::past_at(engine, *table.schema, *moment_s);
    past = co_await looking;
    exported.export_time_ms = *moment_s * 1000;
  } else {
    past = store::past_now(engine, *table.schema, exported.start_ms / 1000);
    exported.export_time_ms = exported.start_ms;
  }
  exported.table = past.table;
  exported.era = past.era;
  exported.first_day = past.first_day;
  exported.cut = past.cut;
}

// A token stands for one request.
void check_same(const Export& known, const Export& asked) {
  if (known.fingerprint == asked.fingerprint) return;
  throw ApiError("ExportConflictException",
                 "Export conflict: Duplicate request detected with conflicting parameters");
}

std::string fingerprint_of(const Element& body) {
  const auto digest = md5({json::canonical(body)});
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

Task<std::string> export_table_to_point_in_time(Request& request) {
  const Context& context = request.context;
  const Element& body = request.body;
  check_shape(request);
  const std::string arn(*json::string_member(body, "TableArn"));
  const std::string name = listed_table(context, arn);
  Export exported;
  exported.start_ms = context.clock.now_ms();
  const auto token = json::string_member(body, "ClientToken");
  exported.client_token = token ? std::string(*token) : own_token();
  exported.fingerprint = fingerprint_of(body);
  read_target(body, exported);
  read_type(body, exported);

  if (name.empty()) throw_not_found(arn);
  auto holding = context.catalog.hold(name);
  catalog::Catalog::HeldTable held = co_await holding;
  if (!held.table) throw_not_found(arn);
  const catalog::Table& table = *held.table;
  const auto state = table.state(exported.start_ms);
  if (state != catalog::TableState::kActive && state != catalog::TableState::kUpdating) {
    throw_not_found(arn);
  }
  if (const auto known = context.transfers.find_export_of(exported.client_token)) {
    check_same(*known, exported);
    co_return answer_with(context, *known);
  }
  std::optional<int64_t> moment_s;
  if (exported.is_incremental) {
    check_period(table, exported);
  } else {
    moment_s = read_moment(body, table, exported);
  }
  exported.table_name = table.name();
  exported.table_arn = table.arn;
  exported.table_id = table.id;
  for (size_t i = 0; i < table.schema->key.size(); ++i) {
    exported.key_names.push_back(table.schema->key.at(i).name);
  }
  auto finding = find_past(context, table, moment_s, exported);
  co_await finding;
  const Export asked = exported;
  auto adding = context.transfers.add(std::move(exported), std::move(held.hold));
  const catalog::Transfers::Added added = co_await adding;
  if (!added.is_new) check_same(*added.exported, asked);
  co_return answer_with(context, *added.exported);
}

Task<std::string> describe_export(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const auto arn = *json::string_member(request.body, "ExportArn");
  const std::string id = transfer_id_of(context, TransferKind::kExport, arn);
  const auto exported = context.transfers.find_export(id);
  if (!exported || exported->arn != arn) throw_transfer_not_found(TransferKind::kExport, arn);
  co_return answer_with(context, *exported);
}

Task<std::string> list_exports(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  // Those of a table that is gone are found by their own ARN only.
  std::optional<std::string> table_id;
  if (const auto arn = json::string_member(request.body, "TableArn")) {
    const auto table = context.catalog.find(listed_table(context, *arn));
    table_id = table ? table->id : "none";
  }
  const auto position = page_position(request.body, TransferKind::kExport);
  const auto limit = static_cast<size_t>(
      json::int_member(request.body, "MaxResults").value_or(static_cast<int64_t>(kPage)));
  const auto is_before = [&](const Export& exported) {
    if (exported.table_name != position->table_name) {
      return exported.table_name < position->table_name;
    }
    return exported.id >= position->id;
  };

  std::string out;
  json::Object answer(out);
  json::Array list(answer.key("ExportSummaries"));
  size_t count = 0;
  catalog::ExportPtr last;
  bool more = false;
  for (const auto& exported : context.transfers.exports()) {
    if (table_id && exported->table_id != *table_id) continue;
    if (position && is_before(*exported)) continue;
    if (count == limit) {
      more = true;
      break;
    }
    ++count;
    last = exported;
    json::Object summary(list.element());
    summary.string("ExportArn", exported->arn);
    summary.string("ExportStatus", catalog::status_name(exported->status));
    summary.string("ExportType", exported->is_incremental ? "INCREMENTAL_EXPORT" : "FULL_EXPORT");
    summary.close();
  }
  list.close();
  if (more) answer.string("NextToken", make_page_token(TransferKind::kExport, *last));
  answer.close();
  co_return out;
}

}  // namespace stator::ops
