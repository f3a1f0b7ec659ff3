#include "catalog/table_codec.h"

#include <algorithm>
#include <cstdlib>

#include "common/bytes.h"
#include "json/reader.h"
#include "json/writer.h"

namespace stator::catalog {

namespace {

constexpr char kRecordVersion = 1;

using json::Element;

// --- writing

void write_optional(json::Object& object, std::string_view name,
                    const std::optional<int64_t>& value) {
  if (value) object.integer(name, *value);
}

void write_attributes(std::string& out, const std::vector<model::KeyAttribute>& attributes) {
  json::Array list(out);
  for (const auto& attribute : attributes) {
    json::Array pair(list.element());
    json::append_quoted(pair.element(), attribute.name);
    json::append_quoted(pair.element(), model::key_type_name(attribute.type));
    pair.close();
  }
  list.close();
}

void write_provisioned(std::string& out, const Capacity::Provisioned& provisioned) {
  json::Object object(out);
  object.integer("read", provisioned.read_units);
  object.integer("write", provisioned.write_units);
  object.integer("decreases", provisioned.decreases);
  object.close();
}

void write_capacity(std::string& out, const Capacity& capacity) {
  json::Object object(out);
  write_provisioned(object.key("provisioned"), capacity.provisioned);
  if (capacity.changing) write_provisioned(object.key("before"), capacity.before);
  write_optional(object, "last_increase_ms", capacity.last_increase_ms);
  write_optional(object, "last_decrease_ms", capacity.last_decrease_ms);
  write_optional(object, "max_read", capacity.max_read_request_units);
  write_optional(object, "max_write", capacity.max_write_request_units);
  write_optional(object, "warm_read", capacity.warm_read_units);
  write_optional(object, "warm_write", capacity.warm_write_units);
  object.close();
}

void write_index(std::string& out, const model::Index& index, const Capacity& capacity) {
  json::Object object(out);
  object.integer("number", index.number);
  object.string("name", index.name);
  object.boolean("global", index.global);
  write_key(object.key("key"), index.key);
  object.integer("projection", static_cast<int>(index.projection));
  json::Array included(object.key("included"));
  for (const auto& name : index.included) json::append_quoted(included.element(), name);
  included.close();
  if (index.building) object.boolean("building", true);
  write_capacity(object.key("capacity"), capacity);
  object.close();
}

// Of indexes that are gone nothing is kept.
void write_insights(json::Object& object, const Table& table) {
  const auto exists = [&](model::IndexNumber number) {
    const auto& indexes = table.schema->indexes;
    return number == 0 || std::any_of(indexes.begin(), indexes.end(),
                                      [&](const auto& index) { return index.number == number; });
  };
  const bool any = std::any_of(table.insights.begin(), table.insights.end(),
                               [&](const auto& one) { return exists(one.first); });
  if (!any) return;
  json::Array list(object.key("insights"));
  for (const auto& [number, settings] : table.insights) {
    if (!exists(number)) continue;
    json::Object one(list.element());
    one.integer("index", number);
    one.boolean("enabled", settings.enabled);
    one.boolean("throttled_only", settings.throttled_only);
    one.integer("created_ms", settings.created_ms);
    one.integer("changed_ms", settings.changed_ms);
    one.close();
  }
  list.close();
}

void write_recovery(json::Object& object, const RecoverySettings& recovery) {
  if (recovery.last_era == 0) return;
  json::Object one(object.key("recovery"));
  write_optional(one, "since_ms", recovery.since_ms);
  one.integer("period_days", recovery.period_days);
  one.integer("last_era", recovery.last_era);
  one.integer("first_day", recovery.first_day);
  one.integer("erased_day", recovery.erased_day);
  json::Array dead(one.key("dead_eras"));
  for (const uint32_t era : recovery.dead_eras) json::append_int(dead.element(), era);
  dead.close();
  one.close();
}

void write_restore(json::Object& object, const std::optional<RestoreSource>& restore) {
  if (!restore) return;
  json::Object one(object.key("restore"));
  one.string("table_arn", restore->table_arn);
  one.string("backup_arn", restore->backup_arn);
  one.integer("time_ms", restore->time_ms);
  one.integer("table", static_cast<int64_t>(restore->table));
  one.string("frozen", restore->frozen);
  one.integer("era", restore->era);
  one.integer("first_day", restore->first_day);
  one.integer("cut", static_cast<int64_t>(restore->cut));
  one.close();
}

void write_captures(json::Object& object, const model::TableSchema& schema) {
  if (schema.captures.empty()) return;
  json::Array list(object.key("captures"));
  for (const model::Capture& capture : schema.captures) {
    json::Object one(list.element());
    one.integer("stream", capture.stream);
    one.string("view", model::stream_view_name(capture.view));
    one.boolean("hidden", capture.hidden);
    json::Array shards(one.key("shards"));
    for (const model::Capture::Shard& shard : capture.shards) {
      json::append_int(shards.element(), shard.number);
      json::append_quoted(shards.element(), std::to_string(shard.first_hash));
    }
    shards.close();
    one.close();
  }
  list.close();
}

void write_kinesis(std::string& out, const std::vector<KinesisDestination>& destinations) {
  json::Array list(out);
  for (const KinesisDestination& destination : destinations) {
    json::Object one(list.element());
    one.string("stream_arn", destination.stream_arn);
    one.string("precision", destination.precision);
    one.boolean("enabled", destination.enabled);
    one.boolean("updating", destination.updating);
    one.integer("changed_ms", destination.changed_ms);
    one.integer("enabled_ms", destination.enabled_ms);
    one.close();
  }
  list.close();
}

// --- reading

[[noreturn]] void corrupt(const std::string& what) {
  throw CorruptRecord("table record: " + what);
}

Element need(const Element& element, std::string_view name) {
  const auto found = json::member(element, name);
  if (!found) corrupt("no " + std::string(name));
  return *found;
}

int64_t need_int(const Element& element, std::string_view name) {
  const auto value = json::int_member(element, name);
  if (!value) corrupt("no number " + std::string(name));
  return *value;
}

std::string need_string(const Element& element, std::string_view name) {
  const auto value = json::string_member(element, name);
  if (!value) corrupt("no text " + std::string(name));
  return std::string(*value);
}

std::string string_or_empty(const Element& element, std::string_view name) {
  return std::string(json::string_member(element, name).value_or(""));
}

json::ArrayElement need_array(const Element& element, std::string_view name) {
  const auto value = json::array_member(element, name);
  if (!value) corrupt("no list " + std::string(name));
  return *value;
}

std::string text_of(const Element& element) {
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) corrupt("no text where one was expected");
  return std::string(text);
}

model::KeyType key_type_of(std::string_view name) {
  if (name == "S") return model::KeyType::kString;
  if (name == "N") return model::KeyType::kNumber;
  if (name == "B") return model::KeyType::kBinary;
  corrupt("unknown key type");
}

std::vector<model::KeyAttribute> read_attributes(const Element& element, std::string_view name) {
  std::vector<model::KeyAttribute> attributes;
  for (const Element pair : need_array(element, name)) {
    std::vector<std::string> parts;
    json::ArrayElement array;
    if (pair.get(array) != simdjson::SUCCESS) corrupt("an attribute is no pair");
    for (const Element part : array) parts.push_back(text_of(part));
    if (parts.size() != 2) corrupt("an attribute is no pair");
    attributes.push_back({std::move(parts[0]), key_type_of(parts[1])});
  }
  return attributes;
}

Capacity::Provisioned read_provisioned(const Element& element) {
  return {.read_units = need_int(element, "read"),
          .write_units = need_int(element, "write"),
          .decreases = need_int(element, "decreases")};
}

Capacity read_capacity(const Element& element) {
  Capacity capacity;
  capacity.provisioned = read_provisioned(need(element, "provisioned"));
  if (const auto before = json::member(element, "before")) {
    capacity.before = read_provisioned(*before);
    capacity.changing = true;
  }
  capacity.last_increase_ms = json::int_member(element, "last_increase_ms");
  capacity.last_decrease_ms = json::int_member(element, "last_decrease_ms");
  capacity.max_read_request_units = json::int_member(element, "max_read");
  capacity.max_write_request_units = json::int_member(element, "max_write");
  capacity.warm_read_units = json::int_member(element, "warm_read");
  capacity.warm_write_units = json::int_member(element, "warm_write");
  return capacity;
}

model::Index read_index(const Element& element, const model::KeySchema& table_key) {
  model::Index index;
  index.number = static_cast<model::IndexNumber>(need_int(element, "number"));
  index.name = need_string(element, "name");
  index.global = json::bool_member(element, "global").value_or(false);
  index.key = read_key(need(element, "key"));
  index.projection = static_cast<model::ProjectionType>(need_int(element, "projection"));
  for (const Element name : need_array(element, "included"))
    index.included.push_back(text_of(name));
  index.building = json::bool_member(element, "building").value_or(false);
  complete_projection(index, table_key);
  return index;
}

RecoverySettings read_recovery(const Element& root) {
  RecoverySettings recovery;
  const auto element = json::member(root, "recovery");
  if (!element) return recovery;
  recovery.since_ms = json::int_member(*element, "since_ms");
  recovery.period_days = need_int(*element, "period_days");
  recovery.last_era = static_cast<uint32_t>(need_int(*element, "last_era"));
  recovery.first_day = static_cast<uint32_t>(need_int(*element, "first_day"));
  recovery.erased_day = static_cast<uint32_t>(need_int(*element, "erased_day"));
  for (const Element era : need_array(*element, "dead_eras"))
    recovery.dead_eras.push_back(static_cast<uint32_t>(json::to_int(era).value_or(0)));
  return recovery;
}

std::optional<RestoreSource> read_restore(const Element& root) {
  const auto element = json::member(root, "restore");
  if (!element) return std::nullopt;
  return RestoreSource{.table_arn = need_string(*element, "table_arn"),
                       .backup_arn = need_string(*element, "backup_arn"),
                       .time_ms = need_int(*element, "time_ms"),
                       .table = static_cast<model::TableNumber>(need_int(*element, "table")),
                       .frozen = need_string(*element, "frozen"),
                       .era = static_cast<uint32_t>(need_int(*element, "era")),
                       .first_day = static_cast<uint32_t>(need_int(*element, "first_day")),
                       .cut = static_cast<uint64_t>(need_int(*element, "cut"))};
}

model::Capture read_capture(const Element& element) {
  model::Capture capture;
  capture.stream = static_cast<model::StreamNumber>(need_int(element, "stream"));
  const auto view = model::stream_view_of(need_string(element, "view"));
  if (!view) corrupt("unknown view of a stream");
  capture.view = *view;
  capture.hidden = json::bool_member(element, "hidden").value_or(false);
  bool is_number = true;
  for (const Element part : need_array(element, "shards")) {
    if (is_number) {
      capture.shards.push_back(
          {static_cast<model::ShardNumber>(json::to_int(part).value_or(0)), 0});
    } else {
      capture.shards.back().first_hash = std::strtoull(text_of(part).c_str(), nullptr, 10);
    }
    is_number = !is_number;
  }
  if (capture.shards.empty() || capture.shards.front().first_hash != 0)
    corrupt("a stream without shards");
  return capture;
}

}  // namespace

void write_key(std::string& out, const model::KeySchema& key) {
  json::Object object(out);
  write_attributes(object.key("partition"), key.partition);
  write_attributes(object.key("sort"), key.sort);
  object.close();
}

model::KeySchema read_key(const Element& element) {
  return {.partition = read_attributes(element, "partition"),
          .sort = read_attributes(element, "sort")};
}

std::string encode_table(const Table& table) {
  std::string out(1, kRecordVersion);
  json::Object object(out);
  object.string("name", table.schema->name);
  object.integer("number", static_cast<int64_t>(table.schema->number));
  object.integer("schema_version", static_cast<int64_t>(table.schema->version));
  write_key(object.key("key"), table.schema->key);
  json::Array indexes(object.key("indexes"));
  for (size_t i = 0; i < table.schema->indexes.size(); ++i) {
    write_index(indexes.element(), table.schema->indexes[i], table.index_capacity.at(i));
  }
  indexes.close();
  object.integer("last_index_number", table.last_index_number);
  write_attributes(object.key("attributes"), table.attribute_definitions);
  object.string("id", table.id);
  object.string("arn", table.arn);
  object.integer("created_ms", table.created_ms);
  object.boolean("on_demand", table.billing == BillingMode::kPayPerRequest);
  write_optional(object, "on_demand_since_ms", table.on_demand_since_ms);
  object.boolean("billing_named", table.billing_named);
  write_capacity(object.key("capacity"), table.capacity);
  object.boolean("deletion_protection", table.deletion_protection);
  if (!table.table_class.empty()) object.string("table_class", table.table_class);
  write_optional(object, "table_class_updated_ms", table.table_class_updated_ms);
  if (table.encryption) {
    json::Object encryption(object.key("encryption"));
    encryption.boolean("enabled", table.encryption->enabled);
    encryption.string("kms_key_arn", table.encryption->kms_key_arn);
    encryption.boolean("changing", table.encryption->changing);
    encryption.close();
  }
  if (table.stream) {
    json::Object stream(object.key("stream"));
    stream.boolean("enabled", table.stream->enabled);
    stream.string("view_type", table.stream->view_type);
    stream.string("label", table.stream->label);
    stream.close();
  }
  if (table.hidden_stream) object.boolean("hidden_stream", true);
  if (!table.kinesis.empty()) write_kinesis(object.key("kinesis"), table.kinesis);
  if (table.last_stream_number != 0) object.integer("last_stream_number", table.last_stream_number);
  write_captures(object, *table.schema);
  if (!table.tags.empty()) {
    json::Array tags(object.key("tags"));
    for (const auto& [key, value] : table.tags) {
      json::append_quoted(tags.element(), key);
      json::append_quoted(tags.element(), value);
    }
    tags.close();
  }
  if (!table.dead_indexes.empty()) {
    json::Array dead(object.key("dead_indexes"));
    for (const auto number : table.dead_indexes) json::append_int(dead.element(), number);
    dead.close();
  }
  if (!table.schema->ttl_attribute.empty())
    object.string("ttl_attribute", table.schema->ttl_attribute);
  if (table.ttl_indexing) object.boolean("ttl_indexing", true);
  if (table.ttl_clearing) object.boolean("ttl_clearing", true);
  write_optional(object, "ttl_changed_ms", table.ttl_changed_ms);
  if (!table.resource_policy.empty()) object.string("resource_policy", table.resource_policy);
  if (table.resource_policy_revision_ms != 0)
    object.integer("resource_policy_revision_ms", table.resource_policy_revision_ms);
  write_insights(object, table);
  if (table.schema->history_era != 0) object.integer("history_era", table.schema->history_era);
  write_recovery(object, table.recovery);
  write_restore(object, table.restore);
  object.integer("active_at_ms", table.active_at_ms);
  object.integer("updating_until_ms", table.updating_until_ms);
  write_optional(object, "deleted_at_ms", table.deleted_at_ms);
  object.close();
  return out;
}

Table decode_table(std::string_view record) {
  if (record.empty() || record.front() != kRecordVersion) corrupt("unknown version");
  json::Document document;
  if (!document.parse(std::string(record.substr(1)))) corrupt("not JSON");
  const Element root = document.root();

  auto schema = std::make_shared<model::TableSchema>();
  schema->name = need_string(root, "name");
  schema->number = static_cast<model::TableNumber>(need_int(root, "number"));
  schema->version = static_cast<uint64_t>(need_int(root, "schema_version"));
  schema->key = read_key(need(root, "key"));

  schema->ttl_attribute = string_or_empty(root, "ttl_attribute");
  schema->history_era = static_cast<uint32_t>(json::int_member(root, "history_era").value_or(0));

  if (json::member(root, "captures")) {
    for (const Element capture : need_array(root, "captures"))
      schema->captures.push_back(read_capture(capture));
  }

  Table table;
  for (const Element index : need_array(root, "indexes")) {
    schema->indexes.push_back(read_index(index, schema->key));
    table.index_capacity.push_back(read_capacity(need(index, "capacity")));
  }
  table.schema = std::move(schema);
  table.last_index_number = static_cast<model::IndexNumber>(need_int(root, "last_index_number"));
  table.attribute_definitions = read_attributes(root, "attributes");
  table.id = need_string(root, "id");
  table.arn = need_string(root, "arn");
  table.created_ms = need_int(root, "created_ms");
  table.billing = json::bool_member(root, "on_demand").value_or(false) ? BillingMode::kPayPerRequest
                                                                       : BillingMode::kProvisioned;
  table.on_demand_since_ms = json::int_member(root, "on_demand_since_ms");
  table.billing_named = json::bool_member(root, "billing_named").value_or(false);
  table.capacity = read_capacity(need(root, "capacity"));
  table.deletion_protection = json::bool_member(root, "deletion_protection").value_or(false);
  table.table_class = string_or_empty(root, "table_class");
  table.table_class_updated_ms = json::int_member(root, "table_class_updated_ms");
  if (const auto encryption = json::member(root, "encryption")) {
    table.encryption =
        EncryptionSettings{.enabled = json::bool_member(*encryption, "enabled").value_or(false),
                           .kms_key_arn = string_or_empty(*encryption, "kms_key_arn"),
                           .changing = json::bool_member(*encryption, "changing").value_or(false)};
  }
  if (const auto stream = json::member(root, "stream")) {
    table.stream = StreamSettings{.enabled = json::bool_member(*stream, "enabled").value_or(false),
                                  .view_type = string_or_empty(*stream, "view_type"),
                                  .label = string_or_empty(*stream, "label")};
  }
  table.hidden_stream = json::bool_member(root, "hidden_stream").value_or(false);
  if (json::member(root, "kinesis")) {
    for (const Element one : need_array(root, "kinesis")) {
      table.kinesis.push_back({.stream_arn = need_string(one, "stream_arn"),
                               .precision = string_or_empty(one, "precision"),
                               .enabled = json::bool_member(one, "enabled").value_or(false),
                               .updating = json::bool_member(one, "updating").value_or(false),
                               .changed_ms = need_int(one, "changed_ms"),
                               .enabled_ms = need_int(one, "enabled_ms")});
    }
  }
  table.last_stream_number =
      static_cast<model::StreamNumber>(json::int_member(root, "last_stream_number").value_or(0));
  if (json::member(root, "tags")) {
    std::vector<std::string> flat;
    for (const Element text : need_array(root, "tags")) flat.push_back(text_of(text));
    if (flat.size() % 2 != 0) corrupt("a tag without value");
    for (size_t i = 0; i < flat.size(); i += 2)
      table.tags.emplace_back(std::move(flat[i]), std::move(flat[i + 1]));
  }
  if (json::member(root, "dead_indexes")) {
    for (const Element number : need_array(root, "dead_indexes"))
      table.dead_indexes.push_back(
          static_cast<model::IndexNumber>(json::to_int(number).value_or(0)));
  }
  table.ttl_indexing = json::bool_member(root, "ttl_indexing").value_or(false);
  table.ttl_clearing = json::bool_member(root, "ttl_clearing").value_or(false);
  table.ttl_changed_ms = json::int_member(root, "ttl_changed_ms");
  table.resource_policy = string_or_empty(root, "resource_policy");
  table.resource_policy_revision_ms =
      json::int_member(root, "resource_policy_revision_ms").value_or(0);
  if (json::member(root, "insights")) {
    for (const Element one : need_array(root, "insights")) {
      table.insights[static_cast<model::IndexNumber>(need_int(one, "index"))] = {
          .enabled = json::bool_member(one, "enabled").value_or(false),
          .throttled_only = json::bool_member(one, "throttled_only").value_or(false),
          .created_ms = need_int(one, "created_ms"),
          .changed_ms = need_int(one, "changed_ms")};
    }
  }
  table.recovery = read_recovery(root);
  table.restore = read_restore(root);
  table.active_at_ms = need_int(root, "active_at_ms");
  table.updating_until_ms = need_int(root, "updating_until_ms");
  table.deleted_at_ms = json::int_member(root, "deleted_at_ms");
  return table;
}

}  // namespace stator::catalog
