#include "capacity/units.h"
#include "model/codec.h"
#include "ops/item_request.h"
#include "ops/throttling.h"

namespace stator::ops {

Task<std::string> get_item(Request& request) {
  const json::Element& body = request.body;
  check_shape(request);
  constexpr expr::Wording kWording = expr::Wording::kCurrent;
  const auto has = [&](std::string_view name) { return json::member(body, name).has_value(); };
  RequestBindings placeholders = read_bindings(body, kWording);
  expr::check_not_mixed({{"AttributesToGet", has("AttributesToGet")}},
                        {{"ProjectionExpression", has("ProjectionExpression")}});
  expr::check_placeholders_allowed(placeholders.bindings,
                                   {{"ProjectionExpression", has("ProjectionExpression")}});
  model::Item key = read_item(*json::member(body, "Key"), kWording);
  std::optional<expr::Projection> projection;
  if (const auto names = json::array_member(body, "AttributesToGet")) {
    projection = expr::attributes_to_get(read_names(*names));
  }
  placeholders.check();
  if (const auto text = json::string_member(body, "ProjectionExpression")) {
    projection = expr::bind_projection(*text, placeholders.bindings, request.context.expressions);
  }
  placeholders.bindings.check_unused();

  const auto table = active_table(request.context, *json::string_member(body, "TableName"));
  check_key(*table->schema, key);
  if (projection) expr::check_no_paths_into_keys(*projection, *table->schema);

  const bool consistent = json::bool_member(body, "ConsistentRead").value_or(false);
  const AdmittedRead admitted =
      admit_get(request.context, *table, key, capacity::read_units(0, consistent));
  if (admitted.refused) throw ApiError(*admitted.refused);

  auto pending = request.context.store.get(table, std::move(key));
  const std::optional<std::string> record = co_await pending;
  std::string out;
  json::Object answer(out);
  size_t size = 0;
  if (record) {
    std::string_view encoded = *record;
    size = model::read_header(encoded).size_bytes;
    if (projection) {
      append_item(answer.key("Item"), expr::project(*projection, model::decode_item(encoded)));
    } else {
      append_encoded_item(answer.key("Item"), encoded);
    }
  }
  const double units = capacity::read_units(size, consistent);
  settle_read(request.context, *table, admitted, units);
  append_capacity(
      answer, capacity_mode(body),
      {std::string(*json::string_member(body, "TableName")), units, {}, table->schema.get()});
  answer.close();
  co_return out;
}

}  // namespace stator::ops
