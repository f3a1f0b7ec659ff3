#include <algorithm>

#include "model/codec.h"
#include "model/key_codec.h"
#include "ops/item_request.h"
#include "ops/throttling.h"

namespace stator::ops {

namespace {

constexpr expr::Wording kWording = expr::Wording::kOlder;
constexpr size_t kMaxWrites = 25;

struct TableRequest {
  std::string given_name;
  catalog::TablePtr table;
  std::vector<store::Write> writes;
  std::vector<json::Element> elements;  // what each write was read from
  // Filled in by the writes.
  store::WriteUnits units;
  std::vector<std::string> metrics;  // one for each item collection, JSON
};

// Takes out the writes that there is no capacity for. Throws if there is none for any.
struct Admission {
  std::vector<AdmittedWrite> admitted;  // in order
  std::string unprocessed;              // JSON
};
Admission admit(const Context& context, std::vector<TableRequest>& tables) {
  Admission result;
  std::optional<ApiError> refused;
  json::Object unprocessed(result.unprocessed);
  for (TableRequest& table : tables) {
    std::vector<store::Write> writes;
    std::vector<json::Element> rest;
    for (size_t i = 0; i < table.writes.size(); ++i) {
      table.writes[i].table = table.table;
      AdmittedWrite admitted = admit_write(context, table.writes[i]);
      if (admitted.refused) {
        if (!refused) refused = std::move(admitted.refused);
        rest.push_back(table.elements[i]);
        continue;
      }
      result.admitted.push_back(std::move(admitted));
      writes.push_back(std::move(table.writes[i]));
    }
    table.writes = std::move(writes);
    if (rest.empty()) continue;
    json::Array list(unprocessed.key(table.given_name));
    for (const json::Element& element : rest) list.element().append(simdjson::minify(element));
    list.close();
  }
  unprocessed.close();
  if (refused && result.admitted.empty()) throw ApiError(*refused);
  return result;
}

void check_batch_shape(const Request& request) {
  const auto items = json::object_member(request.body, "RequestItems");
  if (items && items->size() == 0) {
    constexpr std::string_view kSkip[] = {"RequestItems"};
    check_shape(request, kSkip);
    invalid("The requestItems parameter is required for BatchWriteItem");
  }
  const auto violations = find_violations(request.body, *request.shape);
  if (violations.empty()) return;
  // A bad value of an enumeration is reported alone.
  std::vector<std::string> texts;
  std::vector<std::string> enums;
  for (const Violation& violation : violations) {
    texts.push_back(violation.text);
    if (violation.path == "returnConsumedCapacity" ||
        violation.path == "returnItemCollectionMetrics") {
      enums.push_back(violation.text);
    }
  }
  throw_violations(enums.empty() ? texts : enums);
}

store::Write read_write(const json::Element& element) {
  const auto put = json::member(element, "PutRequest");
  const auto erase = json::member(element, "DeleteRequest");
  if (put.has_value() == erase.has_value()) {
    invalid(
        "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the "
        "supported "
        "datatypes");
  }
  store::Write write;
  if (put) {
    write.kind = store::Write::Kind::kPut;
    write.item = read_item(*json::member(*put, "Item"), kWording);
    write.item_size_bytes = model::size_bytes(write.item);
    if (write.item_size_bytes > store::kMaxItemBytes)
      invalid("Item size has exceeded the maximum allowed size");
  } else {
    write.kind = store::Write::Kind::kDelete;
    write.item = read_item(*json::member(*erase, "Key"), kWording);
  }
  return write;
}

// Keys of the items, against the schema and each other.
void check_keys(const TableRequest& request) {
  const model::TableSchema& schema = *request.table->schema;
  std::vector<std::string> keys;
  for (const store::Write& write : request.writes) {
    if (write.kind == store::Write::Kind::kDelete) {
      check_key(schema, write.item);
    } else {
      const model::Item key = model::key_of(schema.key, write.item);
      check_key(schema, key);
      store::check_index_keys(schema, write.item);
    }
    keys.push_back(model::item_key(schema, write.item));
  }
  std::sort(keys.begin(), keys.end());
  if (std::adjacent_find(keys.begin(), keys.end()) != keys.end()) {
    invalid("Provided list of item keys contains duplicates");
  }
}

}  // namespace

Task<std::string> batch_write_item(Request& request) {
  const json::Element& body = request.body;
  check_batch_shape(request);
  std::vector<TableRequest> tables;
  size_t total = 0;
  const json::ObjectElement request_items = *json::object_member(body, "RequestItems");
  for (const auto field : request_items) {
    TableRequest table;
    table.given_name = std::string(field.key);
    const json::ArrayElement requests = field.value.get_array();
    for (const json::Element element : requests) {
      table.writes.push_back(read_write(element));
      table.elements.push_back(element);
    }
    total += table.writes.size();
    tables.push_back(std::move(table));
  }
  if (total > kMaxWrites) invalid("Too many items requested for the BatchWriteItem call");
  for (TableRequest& table : tables) table.table = active_table(request.context, table.given_name);
  for (const TableRequest& table : tables) check_keys(table);
  const Admission admission = admit(request.context, tables);

  const bool wants_metrics = wants_collection_metrics(body);
  std::vector<store::Write> writes;
  for (TableRequest& table : tables) {
    table.units.indexes.assign(table.table->schema->indexes.size(), 0);
    std::move(table.writes.begin(), table.writes.end(), std::back_inserter(writes));
  }
  auto pending = request.context.store.write_each(writes);
  const auto results = co_await pending;
  size_t at = 0;
  for (TableRequest& table : tables) {
    const model::TableSchema& schema = *table.table->schema;
    for (size_t end = at + table.writes.size(); at < end; ++at) {
      const store::WriteResult& result = results[at];
      settle_write(request.context, admission.admitted[at], result.units);
      table.units.table += result.units.table;
      for (size_t i = 0; i < result.units.indexes.size() && i < table.units.indexes.size(); ++i) {
        table.units.indexes[i] += result.units.indexes[i];
      }
      if (!wants_metrics || !schema.has_local_index()) continue;
      std::string metrics;
      append_collection_metrics_value(metrics, schema, writes[at].item, result.collection_bytes);
      if (std::find(table.metrics.begin(), table.metrics.end(), metrics) == table.metrics.end()) {
        table.metrics.push_back(std::move(metrics));
      }
    }
  }

  std::string out;
  json::Object answer(out);
  answer.key("UnprocessedItems").append(admission.unprocessed);
  if (wants_metrics) {
    const bool any = std::any_of(tables.begin(), tables.end(),
                                 [](const auto& table) { return !table.metrics.empty(); });
    if (any) {
      json::Object metrics(answer.key("ItemCollectionMetrics"));
      for (const TableRequest& table : tables) {
        if (table.metrics.empty()) continue;
        json::Array list(metrics.key(table.given_name));
        for (const std::string& one : table.metrics) list.element().append(one);
        list.close();
      }
      metrics.close();
    }
  }
  const CapacityMode mode = capacity_mode(body);
  if (mode != CapacityMode::kNone) {
    json::Array capacities(answer.key("ConsumedCapacity"));
    for (const TableRequest& table : tables) {
      append_capacity_value(
          capacities.element(), mode,
          {table.given_name, table.units.table, table.units.indexes, table.table->schema.get()});
    }
    capacities.close();
  }
  answer.close();
  co_return out;
}

}  // namespace stator::ops
