#include <algorithm>

#include "capacity/units.h"
#include "common/bytes.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "ops/item_request.h"
#include "ops/throttling.h"

namespace stator::ops {

namespace {

constexpr expr::Wording kWording = expr::Wording::kCurrent;
constexpr size_t kMaxKeys = 100;
constexpr size_t kMaxAnswerBytes = 16 * 1024 * 1024;

// What is asked of one table.
struct TableRequest {
  std::string given_name;  // as in the request: a name or an ARN
  json::Element element;
  catalog::TablePtr table;
  std::vector<model::Item> keys;
  std::optional<expr::Projection> projection;
  bool consistent = false;
  std::vector<AdmittedRead> admitted;  // one for each key
};

// Asks for the capacity of every key. Throws if there is none for any.
void admit(const Context& context, std::vector<TableRequest>& tables) {
  const ApiError* refused = nullptr;
  bool any = false;
  for (TableRequest& table : tables) {
    const double least = capacity::read_units(0, table.consistent);
    table.admitted.reserve(table.keys.size());
    for (const model::Item& key : table.keys) {
      table.admitted.push_back(admit_get(context, *table.table, key, least));
      const AdmittedRead& read = table.admitted.back();
      any = any || !read.refused;
      if (read.refused && refused == nullptr) refused = &*read.refused;
    }
  }
  if (refused != nullptr && !any) throw ApiError(*refused);
}

void check_batch_shape(const Request& request) {
  const auto items = json::object_member(request.body, "RequestItems");
  std::vector<std::string> texts;
  if (items && items->size() == 0) {
    texts.emplace_back(
        "Value at 'RequestItems' failed to satisfy constraint: Member must have length greater "
        "than or equal to 1");
  }
  for (const Violation& violation : find_violations(request.body, *request.shape)) {
    if (violation.path == "requestItems" && items && items->size() == 0) continue;
    // "requestItems.<table>.member.keys" is worded by the current layer.
    constexpr std::string_view kKeys = ".member.keys";
    const bool about_keys = violation.path.size() > kKeys.size() &&
                            violation.path.ends_with(kKeys) &&
                            violation.text.find("Member must have length") != std::string::npos;
    if (violation.path == "requestItems" && items) {
      // The map is echoed as it was sent.
      const size_t constraint = violation.text.find("' at 'requestItems'");
      texts.push_back("Value '" + std::string(simdjson::minify(*items)) +
                      violation.text.substr(constraint));
      continue;
    }
    if (!about_keys) {
      texts.push_back(violation.text);
      continue;
    }
    const std::string table = violation.path.substr(13, violation.path.size() - 13 - kKeys.size());
    const size_t constraint = violation.text.find(" failed to satisfy constraint");
    texts.push_back("Value at 'RequestItems." + table + ".member.Keys'" +
                    violation.text.substr(constraint));
  }
  if (!texts.empty()) throw_violations(texts);
}

TableRequest read_table_request(const Request& request, std::string_view name,
                                const json::Element& element) {
  TableRequest result;
  result.given_name = std::string(name);
  result.element = element;
  RequestBindings placeholders = read_bindings(element, kWording);
  expr::check_not_mixed(
      {{"AttributesToGet", json::member(element, "AttributesToGet").has_value()}},
      {{"ProjectionExpression", json::member(element, "ProjectionExpression").has_value()}});
  expr::check_placeholders_allowed(
      placeholders.bindings,
      {{"ProjectionExpression", json::member(element, "ProjectionExpression").has_value()}});
  if (const auto keys = json::array_member(element, "Keys")) {
    for (const json::Element key : *keys) result.keys.push_back(read_item(key, kWording));
  }
  if (const auto names = json::array_member(element, "AttributesToGet")) {
    result.projection = expr::attributes_to_get(read_names(*names));
  }
  placeholders.check();
  if (const auto text = json::string_member(element, "ProjectionExpression")) {
    result.projection =
        expr::bind_projection(*text, placeholders.bindings, request.context.expressions);
  }
  placeholders.bindings.check_unused();
  result.consistent = json::bool_member(element, "ConsistentRead").value_or(false);
  return result;
}

void check_duplicates(const std::vector<model::Item>& keys) {
  std::vector<std::string> encoded;
  encoded.reserve(keys.size());
  for (const model::Item& key : keys) {
    std::string bytes;
    model::encode_value(model::Value::map(key), bytes);
    encoded.push_back(std::move(bytes));
  }
  std::sort(encoded.begin(), encoded.end());
  if (std::adjacent_find(encoded.begin(), encoded.end()) != encoded.end()) {
    invalid("Provided list of item keys contains duplicates");
  }
}

// The part of a table's request that was not served, as it was asked for.
void append_unprocessed(std::string& out, const TableRequest& table,
                        const std::vector<size_t>& positions) {
  json::Object object(out);
  json::Array keys(object.key("Keys"));
  for (const size_t i : positions) append_item(keys.element(), table.keys[i]);
  keys.close();
  const json::ObjectElement members = table.element.get_object();
  for (const auto field : members) {
    if (field.key == "Keys" || field.value.is_null()) continue;
    object.key(field.key).append(simdjson::minify(field.value));
  }
  object.close();
}

}  // namespace

Task<std::string> batch_get_item(Request& request) {
  const json::Element& body = request.body;
  check_batch_shape(request);
  std::vector<TableRequest> tables;
  size_t total = 0;
  bool legacy = false;
  bool modern = false;
  const json::ObjectElement request_items = *json::object_member(body, "RequestItems");
  for (const auto field : request_items) {
    tables.push_back(read_table_request(request, field.key, field.value));
    total += tables.back().keys.size();
    legacy = legacy || json::member(field.value, "AttributesToGet").has_value();
    modern = modern || json::member(field.value, "ProjectionExpression").has_value();
  }
  if (legacy && modern) {
    expr::check_not_mixed({{"AttributesToGet", true}}, {{"ProjectionExpression", true}});
  }
  if (total > kMaxKeys) invalid("Too many items requested for the BatchGetItem call");
  for (const TableRequest& table : tables) check_duplicates(table.keys);
  for (TableRequest& table : tables) table.table = active_table(request.context, table.given_name);
  std::vector<store::Store::Key> keys;
  for (const TableRequest& table : tables) {
    for (const model::Item& key : table.keys) check_key(*table.table->schema, key);
    if (table.projection) expr::check_no_paths_into_keys(*table.projection, *table.table->schema);
  }
  admit(request.context, tables);
  for (const TableRequest& table : tables) {
    for (size_t i = 0; i < table.keys.size(); ++i) {
      if (!table.admitted[i].refused) keys.push_back({table.table, table.keys[i]});
    }
  }
  auto pending = request.context.store.get_many(std::move(keys));
  const auto records = co_await pending;

  const CapacityMode mode = capacity_mode(body);
  std::string out;
  std::string unprocessed;
  json::Object unprocessed_keys(unprocessed);
  std::string capacity;
  json::Array capacities(capacity);
  json::Object answer(out);
  json::Object responses(answer.key("Responses"));
  size_t at = 0;
  size_t answer_bytes = 0;
  for (const TableRequest& table : tables) {
    double units = 0;
    json::Array items(responses.key(table.given_name));
    std::vector<size_t> not_served;
    bool full = false;
    for (size_t i = 0; i < table.keys.size(); ++i) {
      if (table.admitted[i].refused) {
        not_served.push_back(i);
        continue;
      }
      const std::optional<std::string>& record = records[at++];
      std::string_view encoded;
      size_t size = 0;
      if (record) {
        encoded = *record;
        size = model::read_header(encoded).size_bytes;
      }
      full = full || answer_bytes + size > kMaxAnswerBytes;
      if (full) {
        not_served.push_back(i);
        settle_read(request.context, *table.table, table.admitted[i], 0);
        continue;
      }
      answer_bytes += size;
      if (record) {
        if (table.projection) {
          append_item(items.element(),
                      expr::project(*table.projection, model::decode_item(encoded)));
        } else {
          append_encoded_item(items.element(), encoded);
        }
      }
      const double cost = capacity::read_units(size, table.consistent);
      settle_read(request.context, *table.table, table.admitted[i], cost);
      units += cost;
    }
    items.close();
    if (!not_served.empty())
      append_unprocessed(unprocessed_keys.key(table.given_name), table, not_served);
    if (mode != CapacityMode::kNone) {
      append_capacity_value(capacities.element(), mode,
                            {table.given_name, units, {}, table.table->schema.get()});
    }
  }
  responses.close();
  unprocessed_keys.close();
  capacities.close();
  answer.key("UnprocessedKeys").append(unprocessed);
  if (mode != CapacityMode::kNone) answer.key("ConsumedCapacity").append(capacity);
  answer.close();
  co_return out;
}

}  // namespace stator::ops
