#include <algorithm>

#include "capacity/units.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "ops/throttling.h"
#include "ops/transaction.h"

namespace stator::ops {

namespace {

constexpr expr::Wording kWording = expr::Wording::kOlder;

struct Get {
  std::string given_table_name;
  catalog::TablePtr table;
  model::Item key;
  std::optional<expr::Projection> projection;
};

Get read_get(const Request& request, const json::Element& element) {
  const auto body = json::member(element, "Get");
  if (!body) invalid("Invalid Request: TransactGetRequest should contain Get request");
  Get get;
  get.given_table_name = std::string(json::string_member(*body, "TableName").value_or(""));
  RequestBindings placeholders = read_bindings(*body, kWording);
  expr::check_placeholders_allowed(
      placeholders.bindings,
      {{"ProjectionExpression", json::member(*body, "ProjectionExpression").has_value()}});
  get.key = read_item(*json::member(*body, "Key"), kWording);
  placeholders.check();
  if (const auto text = json::string_member(*body, "ProjectionExpression")) {
    get.projection =
        expr::bind_projection(*text, placeholders.bindings, request.context.expressions);
  }
  placeholders.bindings.check_unused();
  return get;
}

}  // namespace

Task<std::string> transact_get_items(Request& request) {
  const json::Element& body = request.body;
  check_shape(request);
  std::vector<Get> gets;
  const json::ArrayElement items = *json::array_member(body, "TransactItems");
  for (const json::Element item : items) gets.push_back(read_get(request, item));
  for (Get& get : gets) get.table = active_table(request.context, get.given_table_name);

  std::vector<CancellationReason> reasons(gets.size());
  std::vector<std::string> engine_keys;
  std::vector<store::Store::Key> keys;
  bool cancelled = false;
  for (size_t i = 0; i < gets.size(); ++i) {
    try {
      check_key(*gets[i].table->schema, gets[i].key);
      if (gets[i].projection)
        expr::check_no_paths_into_keys(*gets[i].projection, *gets[i].table->schema);
    } catch (const ApiError& error) {
      if (error.message().find("empty") != std::string::npos) throw;
      reasons[i] = {"ValidationError", error.message(), std::nullopt};
      cancelled = true;
      continue;
    }
    engine_keys.push_back(model::item_key(*gets[i].table->schema, gets[i].key));
    keys.push_back({gets[i].table, gets[i].key});
  }
  std::sort(engine_keys.begin(), engine_keys.end());
  if (std::adjacent_find(engine_keys.begin(), engine_keys.end()) != engine_keys.end()) {
    invalid("Transaction request cannot include multiple operations on one item");
  }
  if (cancelled) throw_cancelled(reasons);
  std::vector<AdmittedRead> admitted;
  admitted.reserve(gets.size());
  for (size_t i = 0; i < gets.size(); ++i) {
    admitted.push_back(check_get(request.context, *gets[i].table, gets[i].key));
    if (!admitted[i].refused) continue;
    reasons[i] = throttling_reason(*admitted[i].refused);
    cancelled = true;
  }
  if (cancelled) throw_cancelled(reasons);
  auto pending = request.context.store.get_many(std::move(keys));
  const auto records = co_await pending;

  size_t total_bytes = 0;
  std::vector<Consumed> tables;
  std::string out;
  json::Object answer(out);
  json::Array responses(answer.key("Responses"));
  for (size_t i = 0; i < gets.size(); ++i) {
    json::Object response(responses.element());
    size_t size = 0;
    if (records[i]) {
      std::string_view encoded = *records[i];
      size = model::read_header(encoded).size_bytes;
      total_bytes += size;
      if (gets[i].projection) {
        const model::Item projected =
            expr::project(*gets[i].projection, model::decode_item(encoded));
        if (!projected.empty()) append_item(response.key("Item"), projected);
      } else {
        append_encoded_item(response.key("Item"), encoded);
      }
    }
    response.close();
    auto at = std::find_if(tables.begin(), tables.end(), [&](const Consumed& table) {
      return table.table_name == gets[i].given_table_name;
    });
    if (at == tables.end()) {
      tables.push_back({gets[i].given_table_name, 0, {}, gets[i].table->schema.get()});
      at = tables.end() - 1;
    }
    const double units = 2 * capacity::read_units(size, true);
    settle_read(request.context, *gets[i].table, admitted[i], units);
    at->table += units;
  }
  responses.close();
  if (total_bytes > kMaxTransactionBytes)
    invalid("Transaction response size exceeded the maximum limit of 4MB");
  const CapacityMode mode = capacity_mode(body);
  if (mode != CapacityMode::kNone) {
    json::Array list(answer.key("ConsumedCapacity"));
    for (const Consumed& table : tables)
      append_capacity_value(list.element(), mode, table, "ReadCapacityUnits");
    list.close();
  }
  answer.close();
  co_return out;
}

}  // namespace stator::ops
