// CreateBackup, DescribeBackup, ListBackups, DeleteBackup and RestoreTableFromBackup.
#include <algorithm>

#include "catalog/backups.h"
#include "common/bytes.h"
#include "engine/frozen.h"
#include "json/writer.h"
#include "model/key_codec.h"
#include "ops/recovery.h"
#include "ops/table_description.h"
#include "ops/table_request.h"

namespace stator::ops {

namespace {

using catalog::Backup;
using catalog::BackupPtr;

constexpr size_t kMaxPage = 100;

// --- names of backups

// The parts of arn:aws:dynamodb:region:account:table/name/backup/id. They point into the text.
struct BackupArn {
  std::string_view region;
  std::string_view account;
  std::string_view table;
  std::string_view id;
};

bool is_region(std::string_view text) {
  // "us-east-1", "ap-southeast-2", "us-gov-west-1"
  const size_t dash = text.find('-');
  return dash == 2 && text.size() >= 9 && text.back() >= '1' && text.back() <= '9' &&
         text[text.size() - 2] == '-' && text.find("fake") == std::string_view::npos;
}

// Throws for what is none. The region is not compared: the service does not do so either.
BackupArn parse_backup_arn(const Context& context, std::string_view arn) {
  constexpr std::string_view kTable = "table/";
  constexpr std::string_view kBackup = "/backup/";
  std::string_view parts[5];
  std::string_view rest = arn;
  for (std::string_view& part : parts) {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) invalid("Invalid Backup ARN");
    part = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  const size_t at = rest.find(kBackup);
  if (parts[0] != "arn" || !rest.starts_with(kTable) || at == std::string_view::npos)
    invalid("Invalid Backup ARN");
  BackupArn read{parts[3], parts[4], rest.substr(kTable.size(), at - kTable.size()),
                 rest.substr(at + kBackup.size())};
  if (parts[1] != "aws" || parts[2] != "dynamodb" || !is_region(read.region))
    invalid("Invalid Request: BackupArn is not valid");
  if (read.account != context.account) throw ApiError("AccessDeniedException", "Access is denied");
  return read;
}

[[noreturn]] void throw_backup_not_found(std::string_view arn) {
  throw ApiError("BackupNotFoundException", "Backup not found: " + std::string(arn));
}

BackupPtr existing_backup(const Request& request) {
  const auto arn = *json::string_member(request.body, "BackupArn");
  const BackupArn parts = parse_backup_arn(request.context, arn);
  auto backup = request.context.backups.find(parts.table, parts.id);
  if (!backup || !backup->available) throw_backup_not_found(arn);
  return backup;
}

// --- descriptions

void append_details(std::string& out, const Backup& backup, std::string_view status) {
  json::Object details(out);
  details.string("BackupArn", backup.arn());
  details.string("BackupName", backup.name);
  details.integer("BackupSizeBytes", backup.bytes);
  details.string("BackupStatus", status);
  details.string("BackupType", backup.system ? "SYSTEM" : "USER");
  append_timestamp(details.key("BackupCreationDateTime"), backup.created_ms);
  if (backup.expires_ms) append_timestamp(details.key("BackupExpiryDateTime"), *backup.expires_ms);
  details.close();
}

void append_throughput(json::Object& object, const catalog::Capacity& capacity) {
  json::Object throughput(object.key("ProvisionedThroughput"));
  throughput.integer("ReadCapacityUnits", capacity.provisioned.read_units);
  throughput.integer("WriteCapacityUnits", capacity.provisioned.write_units);
  throughput.close();
  if (!capacity.max_read_request_units && !capacity.max_write_request_units) return;
  json::Object maximums(object.key("OnDemandThroughput"));
  maximums.integer("MaxReadRequestUnits", capacity.max_read_request_units.value_or(-1));
  maximums.integer("MaxWriteRequestUnits", capacity.max_write_request_units.value_or(-1));
  maximums.close();
}

void append_source(std::string& out, const Backup& backup) {
  const catalog::Table& table = backup.table;
  json::Object source(out);
  source.string("TableName", table.name());
  source.string("TableId", table.id);
  source.string("TableArn", table.arn);
  source.integer("TableSizeBytes", backup.bytes);
  append_key_schema(source.key("KeySchema"), table.schema->key);
  append_timestamp(source.key("TableCreationDateTime"), table.created_ms);
  append_throughput(source, table.capacity);
  source.integer("ItemCount", backup.items);
  source.string("BillingMode", table.billing == catalog::BillingMode::kPayPerRequest
                                   ? "PAY_PER_REQUEST"
                                   : "PROVISIONED");
  source.close();
}

void append_backed_up_indexes(json::Object& object, const catalog::Table& table, bool global) {
  const auto& indexes = table.schema->indexes;
  const auto wanted = [global](const model::Index& index) { return index.global == global; };
  if (std::none_of(indexes.begin(), indexes.end(), wanted)) return;
  json::Array list(object.key(global ? "GlobalSecondaryIndexes" : "LocalSecondaryIndexes"));
  for (size_t i = 0; i < indexes.size(); ++i) {
    if (!wanted(indexes[i])) continue;
    json::Object index(list.element());
    index.string("IndexName", indexes[i].name);
    append_key_schema(index.key("KeySchema"), indexes[i].key);
    append_projection(index.key("Projection"), indexes[i]);
    if (global) append_throughput(index, table.index_capacity.at(i));
    index.close();
  }
  list.close();
}

// Of a system backup the service shows none.
void append_features(std::string& out, const Backup& backup) {
  const catalog::Table& table = backup.table;
  json::Object features(out);
  if (!backup.system) {
    append_backed_up_indexes(features, table, false);
    append_backed_up_indexes(features, table, true);
    if (table.stream && table.stream->enabled) {
      json::Object stream(features.key("StreamDescription"));
      stream.boolean("StreamEnabled", true);
      stream.string("StreamViewType", table.stream->view_type);
      stream.close();
    }
    if (!table.schema->ttl_attribute.empty()) {
      json::Object ttl(features.key("TimeToLiveDescription"));
      ttl.string("TimeToLiveStatus", "ENABLED");
      ttl.string("AttributeName", table.schema->ttl_attribute);
      ttl.close();
    }
    if (table.encryption && table.encryption->enabled) {
      json::Object encryption(features.key("SSEDescription"));
      encryption.string("Status", "ENABLED");
      encryption.string("SSEType", "KMS");
      encryption.string("KMSMasterKeyArn", table.encryption->kms_key_arn);
      encryption.close();
    }
  }
  features.close();
}

std::string describe(const Backup& backup, std::string_view status) {
  std::string out;
  json::Object answer(out);
  json::Object description(answer.key("BackupDescription"));
  append_details(description.key("BackupDetails"), backup, status);
  append_source(description.key("SourceTableDetails"), backup);
  append_features(description.key("SourceTableFeatureDetails"), backup);
  description.close();
  answer.close();
  return out;
}

void append_summary(std::string& out, const Backup& backup) {
  json::Object summary(out);
  summary.string("TableName", backup.table.name());
  summary.string("TableId", backup.table.id);
  summary.string("TableArn", backup.table.arn);
  summary.string("BackupArn", backup.arn());
  summary.string("BackupName", backup.name);
  append_timestamp(summary.key("BackupCreationDateTime"), backup.created_ms);
  if (backup.expires_ms) append_timestamp(summary.key("BackupExpiryDateTime"), *backup.expires_ms);
  summary.string("BackupStatus", backup.available ? "AVAILABLE" : "CREATING");
  summary.string("BackupType", backup.system ? "SYSTEM" : "USER");
  summary.integer("BackupSizeBytes", backup.bytes);
  summary.close();
}

// --- making

int64_t counter_of(const std::optional<std::string>& stored) {
  if (!stored || stored->size() != 8) return 0;
  uint64_t value = 0;
  for (size_t i = 8; i-- > 0;) value = (value << 8) | static_cast<unsigned char>((*stored)[i]);
  return static_cast<int64_t>(value);
}

// Counts what is in the copy itself: writes have gone on since.
Task<void> count_copy(engine::FrozenCopies& copies, Backup& backup) {
  constexpr int kMaxViews = 64;
  const model::TableNumber number = backup.table.schema->number;
  const std::vector<std::string> keys{model::counter_key(number, 0, 'c'),
                                      model::counter_key(number, 0, 'b')};
  for (int views = 1;; ++views) {
    try {
      const auto view = copies.view_frozen(backup.id);
      auto getting = view->get_many(keys);
      const auto values = co_await getting;
      backup.items = counter_of(values[0]);
      backup.bytes = counter_of(values[1]);
      co_return;
    } catch (const engine::ViewExpired&) {
      if (views == kMaxViews) throw;
    }
  }
}

Task<void> make_copy(const Context& context, Backup& backup) {
  engine::FrozenCopies& copies = engine::frozen_copies(context.store.engine());
  const std::string prefix = model::table_prefix(backup.table.schema->number);
  auto freezing = copies.freeze(backup.id, {prefix, prefix_end(prefix)});
  co_await freezing;
  auto counting = count_copy(copies, backup);
  co_await counting;
}

}  // namespace

Task<std::string> create_backup(Request& request) {
  const Context& context = request.context;
  require_table_name(request);
  check_shape(request);
  recoverable_table(request);
  const std::string name = table_name_of(context, *json::string_member(request.body, "TableName"));
  // Held, so that its items are not erased before they are copied.
  auto holding = context.catalog.hold(name);
  const catalog::Catalog::HeldTable held = co_await holding;
  if (!held.table) throw_source_not_found(name);

  Backup backup;
  backup.created_ms = context.clock.now_ms();
  backup.id = context.backups.make_id(backup.created_ms, false);
  backup.name = std::string(*json::string_member(request.body, "BackupName"));
  backup.table = *held.table;
  auto announcing = context.backups.put(backup);
  co_await announcing;
  std::exception_ptr error;
  try {
    auto copying = make_copy(context, backup);
    co_await copying;
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    auto forgetting = context.backups.remove(context.backups.find(backup.table.name(), backup.id));
    co_await forgetting;
    std::rethrow_exception(error);
  }
  backup.available = true;
  auto keeping = context.backups.put(backup);
  co_await keeping;

  std::string out;
  json::Object answer(out);
  append_details(answer.key("BackupDetails"), backup, "CREATING");
  answer.close();
  co_return out;
}

Task<std::string> describe_backup(Request& request) {
  check_shape(request);
  const BackupPtr backup = existing_backup(request);
  co_return describe(*backup, "AVAILABLE");
}

Task<std::string> list_backups(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const json::Element& body = request.body;
  const auto lower = time_member_ms(body, "TimeRangeLowerBound");
  const auto upper = time_member_ms(body, "TimeRangeUpperBound");
  if (lower && upper && *lower > *upper)
    invalid_parameter("Time range lower bound must be less than or equal to upper bound");
  const auto limit =
      static_cast<size_t>(json::int_member(body, "Limit").value_or(static_cast<int64_t>(kMaxPage)));
  const auto type = json::string_member(body, "BackupType").value_or("USER");
  std::optional<std::string> table;
  if (const auto name = json::string_member(body, "TableName"))
    table = table_name_of(context, *name);
  // A place in the list, whether there is such a backup or not.
  std::pair<std::string, std::string> after;
  if (const auto start = json::string_member(body, "ExclusiveStartBackupArn")) {
    const BackupArn parts = parse_backup_arn(context, *start);
    if (parts.region != context.region) {
      invalid("Invalid Request: The supplied ExclusiveStartBackupArn does not match the region");
    }
    after = {std::string(parts.id), std::string(parts.table)};
  }

  std::vector<BackupPtr> found;
  for (const BackupPtr& backup : context.backups.list()) {
    if (!backup->available) continue;
    if (table && backup->table.name() != *table) continue;
    if (type != "ALL" && type != (backup->system ? "SYSTEM" : "USER")) continue;
    if (lower && backup->created_ms < *lower) continue;
    if (upper && backup->created_ms >= *upper) continue;
    if (std::pair(backup->id, backup->table.name()) <= after) continue;
    found.push_back(backup);
    if (found.size() > limit) break;
  }
  std::string out;
  json::Object answer(out);
  json::Array list(answer.key("BackupSummaries"));
  for (size_t i = 0; i < std::min(limit, found.size()); ++i)
    append_summary(list.element(), *found[i]);
  list.close();
  if (found.size() > limit) answer.string("LastEvaluatedBackupArn", found[limit - 1]->arn());
  answer.close();
  co_return out;
}

Task<std::string> delete_backup(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const BackupPtr backup = existing_backup(request);
  if (backup->system) {
    invalid("Invalid Request: User is not allowed to delete the system backup with arn " +
            backup->arn() + ". It will automatically expire on " +
            utc_text(backup->expires_ms.value_or(0) / 1000));
  }
  auto removing = context.backups.remove(backup);
  const bool removed = co_await removing;
  if (!removed) {
    if (!context.backups.find(backup->table.name(), backup->id))
      throw_backup_not_found(backup->arn());
    throw ApiError("BackupInUseException",
                   "Backup is being used to restore table: " + backup->arn());
  }
  auto dropping =
      engine::frozen_copies(context.store.engine()).drop_frozen(std::string(backup->id));
  co_await dropping;
  co_return describe(*backup, "DELETED");
}

Task<std::string> restore_table_from_backup(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const json::Element& body = request.body;
  const auto given = *json::string_member(body, "BackupArn");
  if (parse_backup_arn(context, given).region != context.region &&
      !json::member(body, "SSESpecificationOverride")) {
    invalid("Invalid Request: sseSpecificationOverride must be provided for cross-region restores");
  }
  const BackupPtr backup = existing_backup(request);
  catalog::Table table = restored_table(request, backup->table,
                                        std::string(*json::string_member(body, "TargetTableName")));
  check_restore_target(request, table.name());
  const std::string arn = backup->arn();
  if (!context.backups.begin_use(arn)) {
    if (!context.backups.find(backup->table.name(), backup->id)) throw_backup_not_found(arn);
    throw ApiError("BackupInUseException", "Backup is being used to restore another table: " + arn);
  }
  catalog::RestoreSource from;
  from.table_arn = backup->table.arn;
  from.backup_arn = arn;
  from.time_ms = backup->created_ms;
  from.table = backup->table.schema->number;
  from.frozen = backup->system ? std::string() : backup->id;
  std::string answer;
  std::exception_ptr error;
  try {
    auto beginning = begin_restore(request, std::move(table), std::move(from));
    answer = co_await beginning;
  } catch (...) {
    error = std::current_exception();
  }
  if (error) {
    // The job ends the use of those that were begun.
    context.backups.end_use(arn);
    std::rethrow_exception(error);
  }
  co_return answer;
}

}  // namespace stator::ops
