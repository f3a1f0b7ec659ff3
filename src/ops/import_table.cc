#include <algorithm>

#include "catalog/table_codec.h"
#include "common/md5.h"
#include "json/writer.h"
#include "ops/operation.h"
#include "ops/table_description.h"
#include "ops/table_request.h"
#include "ops/transfer_request.h"

namespace stator::ops {

namespace {

using catalog::Import;
using json::Element;

constexpr size_t kPage = 10;

std::string log_group(const Context& context) {
  return "arn:aws:logs:" + context.region + ":" + context.account +
         ":log-group:/aws-dynamodb/imports:*";
}

void append_source(std::string& out, const Import& import) {
  json::Object source(out);
  source.string("S3BucketOwner", import.bucket_owner);
  source.string("S3Bucket", import.bucket);
  if (import.has_prefix) source.string("S3KeyPrefix", import.prefix);
  source.close();
}

void append_description(std::string& out, const Context& context, const Import& import) {
  const catalog::ImportProgress progress = context.transfers.progress(import);
  json::Object object(out);
  object.string("ImportArn", import.arn);
  object.string("ImportStatus", catalog::status_name(import.status));
  object.string("TableArn", import.table_arn);
  object.string("TableId", import.table_id);
  object.string("ClientToken", import.client_token);
  append_source(object.key("S3BucketSource"), import);
  object.integer("ErrorCount", progress.errors);
  object.string("CloudWatchLogGroupArn", log_group(context));
  object.string("InputFormat", import.format);
  if (!import.format_options.empty()) {
    object.key("InputFormatOptions").append(import.format_options);
  }
  object.string("InputCompressionType", import.compression);
  object.key("TableCreationParameters").append(import.creation);
  append_timestamp(object.key("StartTime"), import.start_ms);
  if (import.end_ms) append_timestamp(object.key("EndTime"), *import.end_ms);
  if (progress.processed_bytes > 0 || import.end_ms) {
    object.integer("ProcessedSizeBytes", progress.processed_bytes);
  }
  object.integer("ProcessedItemCount", progress.processed_items);
  object.integer("ImportedItemCount", progress.imported_items);
  if (!import.failure_code.empty()) {
    object.string("FailureCode", import.failure_code);
    object.string("FailureMessage", import.failure_message);
  }
  object.close();
}

std::string answer_with(const Context& context, const Import& import) {
  std::string out;
  json::Object answer(out);
  append_description(answer.key("ImportTableDescription"), context, import);
  answer.close();
  return out;
}

// The service wants one although the model does not.
void require_token(const Request& request) {
  if (json::member(request.body, "ClientToken")) return;
  throw_violations(
      {"Value null at 'clientToken' failed to satisfy constraint: Member must not be null"});
}

void read_source(const Request& request, Import& import) {
  const Element source = *json::member(request.body, "S3BucketSource");
  import.bucket = std::string(*json::string_member(source, "S3Bucket"));
  import.bucket_owner =
      std::string(json::string_member(source, "S3BucketOwner").value_or(request.context.account));
  const auto prefix = json::string_member(source, "S3KeyPrefix");
  import.has_prefix = prefix.has_value();
  if (prefix) import.prefix = std::string(*prefix);
}

void read_format(const Element& body, Import& import) {
  import.format = std::string(*json::string_member(body, "InputFormat"));
  import.compression =
      std::string(json::string_member(body, "InputCompressionType").value_or("NONE"));
  const auto options = json::member(body, "InputFormatOptions");
  if (options && import.format != "CSV") {
    invalid_request("Unsupported InputFormatOptions for the given input format: " + import.format +
                    ".");
  }
  if (import.format == "ION") {
    invalid_request("InputFormat ION is not supported here: convert the data to DYNAMODB_JSON.");
  }
  if (!options) return;
  import.format_options = simdjson::minify(*options);
  const auto csv = json::member(*options, "Csv");
  if (!csv) return;
  if (const auto delimiter = json::string_member(*csv, "Delimiter")) import.delimiter = *delimiter;
  const auto header = json::array_member(*csv, "HeaderList");
  if (!header) return;
  for (const Element name : *header) import.header.emplace_back(name.get_string().value());
  std::vector<std::string> sorted = import.header;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    invalid_request("HeaderList contains duplicate columns");
  }
}

// A token stands for a table: whatever else is asked for with it, the import that has it is meant.
void check_same_table(const Import& known, const Import& asked) {
  if (known.table_name == asked.table_name) return;
  throw ApiError("ImportConflictException",
                 "Import conflict: Duplicate request detected with conflicting parameters");
}

// The import of a token that is under way.
catalog::ImportPtr find_under_way(const Context& context, const std::string& token) {
  for (const auto& import : context.transfers.imports()) {
    const bool is_under_way = import->status == catalog::TransferStatus::kInProgress;
    if (is_under_way && import->client_token == token) return import;
  }
  return nullptr;
}

}  // namespace

Task<std::string> import_table(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  require_token(request);
  Import import;
  read_source(request, import);
  read_format(request.body, import);
  const Element parameters = *json::member(request.body, "TableCreationParameters");
  import.creation = simdjson::minify(parameters);
  import.table_name = std::string(*json::string_member(parameters, "TableName"));
  const catalog::Table table = read_new_table(context, parameters, import.table_name);
  import.table_record = catalog::encode_table(table);
  import.table_arn = context.catalog.table_arn(import.table_name);
  import.table_id = own_token();
  import.client_token = std::string(*json::string_member(request.body, "ClientToken"));
  import.start_ms = context.clock.now_ms();

  if (const auto known = find_under_way(context, import.client_token)) {
    check_same_table(*known, import);
    co_return answer_with(context, *known);
  }
  if (context.catalog.find(import.table_name)) {
    throw ApiError("ResourceInUseException", "Table already exists: " + import.table_name);
  }
  const Import asked = import;
  auto adding = context.transfers.add(std::move(import));
  const catalog::Transfers::Added added = co_await adding;
  if (!added.is_new) check_same_table(*added.imported, asked);
  co_return answer_with(context, *added.imported);
}

Task<std::string> describe_import(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const auto arn = *json::string_member(request.body, "ImportArn");
  const std::string id = transfer_id_of(context, TransferKind::kImport, arn);
  const auto import = context.transfers.find_import(id);
  if (!import || import->arn != arn) throw_transfer_not_found(TransferKind::kImport, arn);
  co_return answer_with(context, *import);
}

Task<std::string> list_imports(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const auto table_arn = json::string_member(request.body, "TableArn");
  if (table_arn) listed_table(context, *table_arn);
  const auto position = page_position(request.body, TransferKind::kImport);
  const auto limit = static_cast<size_t>(
      json::int_member(request.body, "PageSize").value_or(static_cast<int64_t>(kPage)));

  std::string out;
  json::Object answer(out);
  json::Array list(answer.key("ImportSummaryList"));
  size_t count = 0;
  catalog::ImportPtr last;
  bool more = false;
  for (const auto& import : context.transfers.imports()) {
    if (table_arn && import->table_arn != *table_arn) continue;
    if (position && import->id >= position->id) continue;
    if (count == limit) {
      more = true;
      break;
    }
    ++count;
    last = import;
    json::Object summary(list.element());
    summary.string("ImportArn", import->arn);
    summary.string("ImportStatus", catalog::status_name(import->status));
    summary.string("TableArn", import->table_arn);
    append_source(summary.key("S3BucketSource"), *import);
    summary.string("CloudWatchLogGroupArn", log_group(context));
    summary.string("InputFormat", import->format);
    append_timestamp(summary.key("StartTime"), import->start_ms);
    if (import->end_ms) append_timestamp(summary.key("EndTime"), *import->end_ms);
    summary.close();
  }
  list.close();
  if (more) answer.string("NextToken", make_page_token(TransferKind::kImport, *last));
  answer.close();
  co_return out;
}

}  // namespace stator::ops
