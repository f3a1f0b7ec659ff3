#include "ops/item_request.h"
#include "ops/throttling.h"

namespace stator::ops {

namespace {

enum class ReturnValues { kNone, kAllOld, kUpdatedOld, kAllNew, kUpdatedNew };

ReturnValues read_return_values(const json::Element& body) {
  const auto wanted = json::string_member(body, "ReturnValues");
  if (wanted == "ALL_OLD") return ReturnValues::kAllOld;
  if (wanted == "UPDATED_OLD") return ReturnValues::kUpdatedOld;
  if (wanted == "ALL_NEW") return ReturnValues::kAllNew;
  if (wanted == "UPDATED_NEW") return ReturnValues::kUpdatedNew;
  return ReturnValues::kNone;
}

void check_parameters(const json::Element& body, const RequestBindings& placeholders) {
  const auto has = [&](std::string_view name) { return json::member(body, name).has_value(); };
  expr::check_not_mixed({{"AttributeUpdates", has("AttributeUpdates")},
                         {"Expected", has("Expected")},
                         {"ConditionalOperator", has("ConditionalOperator")}},
                        {{"UpdateExpression", has("UpdateExpression")},
                         {"ConditionExpression", has("ConditionExpression")}});
  expr::check_placeholders_allowed(placeholders.bindings,
                                   {{"UpdateExpression", has("UpdateExpression")},
                                    {"ConditionExpression", has("ConditionExpression")}});
}

// All that can be known without the table.
void read_update(const Request& request, expr::Wording wording, store::Write& write) {
  const json::Element& body = request.body;
  RequestBindings placeholders = read_bindings(body, wording);
  check_parameters(body, placeholders);
  write.item = read_item(*json::member(body, "Key"), wording);
  if (const auto updates = json::member(body, "AttributeUpdates")) {
    write.update = expr::attribute_updates(read_attribute_updates(*updates, wording));
  }
  const auto conditional = read_conditional_operator(body);
  if (const auto expected = json::member(body, "Expected")) {
    auto attributes = read_expected(*expected, wording);
    expr::check_conditional_operator(conditional, attributes.size());
    if (!attributes.empty())
      write.condition = expr::expected_condition(std::move(attributes), conditional);
  } else {
    expr::check_conditional_operator(conditional, 0);
  }
  placeholders.check();
  if (const auto text = json::string_member(body, "UpdateExpression")) {
    write.update = expr::bind_update(*text, placeholders.bindings, request.context.expressions);
  }
  if (const auto text = json::string_member(body, "ConditionExpression")) {
    write.condition = expr::bind_condition(*text, expr::ExpressionKind::kCondition,
                                           placeholders.bindings, request.context.expressions);
  }
  placeholders.bindings.check_unused();
}

}  // namespace

Task<std::string> update_item(Request& request) {
  const json::Element& body = request.body;
  const expr::Wording wording = check_write_shape(request, "Key");
  store::Write write;
  write.kind = store::Write::Kind::kUpdate;
  with_prefix(wording == expr::Wording::kCurrent ? kEnvelope : "",
              [&] { read_update(request, wording, write); });

  const auto table = active_table(request.context, *json::string_member(body, "TableName"));
  const model::TableSchema& schema = *table->schema;
  write.table = table;
  check_key(schema, write.item);
  write.update.check_keys(schema);
  if (json::member(body, "UpdateExpression") &&
      write.update.statement_size_bytes() > store::kMaxItemBytes) {
    invalid("Item size to update has exceeded the maximum allowed size");
  }

  const ReturnValues wanted = read_return_values(body);
  const bool item_on_failure =
      json::string_member(body, "ReturnValuesOnConditionCheckFailure") == "ALL_OLD";
  const expr::Update update = write.update;
  const model::Item key = write.item;
  write.want_old = wanted == ReturnValues::kAllOld || wanted == ReturnValues::kUpdatedOld;
  write.want_new = wanted == ReturnValues::kAllNew || wanted == ReturnValues::kUpdatedNew;
  auto pending = write_item(request.context, std::move(write));
  const store::WriteResult result = co_await pending;
  if (!result.done()) throw_condition_failed(item_on_failure, result.old_item);

  std::string out;
  json::Object answer(out);
  const auto& image = result.new_item ? result.new_item : result.old_item;
  if (image) {
    const bool whole = wanted == ReturnValues::kAllOld || wanted == ReturnValues::kAllNew;
    const model::Item attributes = whole ? *image : update.updated_attributes(*image);
    if (!attributes.empty()) append_item(answer.key("Attributes"), attributes);
  }
  append_capacity(answer, capacity_mode(body),
                  {std::string(*json::string_member(body, "TableName")), result.units.table,
                   result.units.indexes, &schema});
  if (wants_collection_metrics(body) && schema.has_local_index()) {
    append_collection_metrics_value(answer.key("ItemCollectionMetrics"), schema, key,
                                    result.collection_bytes);
  }
  answer.close();
  co_return out;
}

}  // namespace stator::ops
