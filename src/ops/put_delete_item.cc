#include "model/key_codec.h"
#include "ops/item_request.h"
#include "ops/throttling.h"

namespace stator::ops {

namespace {

// ReturnValues of PutItem and DeleteItem: only what was there before.
bool read_return_old(const json::Element& body) {
  const auto wanted = json::string_member(body, "ReturnValues");
  if (!wanted || *wanted == "NONE") return false;
  if (*wanted != "ALL_OLD") invalid("ReturnValues can only be ALL_OLD or NONE");
  return true;
}

// Everything that PutItem and DeleteItem share after the item or key was read: the condition in
// either language.
void read_condition(const Request& request, RequestBindings& placeholders, expr::Wording wording,
                    store::Write& write) {
  const json::Element& body = request.body;
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
  if (const auto text = json::string_member(body, "ConditionExpression")) {
    write.condition = expr::bind_condition(*text, expr::ExpressionKind::kCondition,
                                           placeholders.bindings, request.context.expressions);
  }
  placeholders.bindings.check_unused();
}

void check_parameters(const json::Element& body, const RequestBindings& placeholders) {
  expr::check_not_mixed(
      {{"Expected", json::member(body, "Expected").has_value()},
       {"ConditionalOperator", json::member(body, "ConditionalOperator").has_value()}},
      {{"ConditionExpression", json::member(body, "ConditionExpression").has_value()}});
  expr::check_placeholders_allowed(
      placeholders.bindings,
      {{"ConditionExpression", json::member(body, "ConditionExpression").has_value()}});
}

Task<std::string> run(Request& request, store::Write write, bool return_old) {
  const json::Element& body = request.body;
  const auto table = write.table;
  const model::Item key = model::key_of(table->schema->key, write.item);
  const bool item_on_failure =
      json::string_member(body, "ReturnValuesOnConditionCheckFailure") == "ALL_OLD";
  write.want_old = return_old;
  auto pending = write_item(request.context, std::move(write));
  const store::WriteResult result = co_await pending;
  if (!result.done()) throw_condition_failed(item_on_failure, result.old_item);

  std::string out;
  json::Object answer(out);
  if (return_old && result.old_item) append_item(answer.key("Attributes"), *result.old_item);
  append_capacity(answer, capacity_mode(body),
                  {std::string(*json::string_member(body, "TableName")), result.units.table,
                   result.units.indexes, table->schema.get()});
  if (wants_collection_metrics(body) && table->schema->has_local_index()) {
    append_collection_metrics_value(answer.key("ItemCollectionMetrics"), *table->schema, key,
                                    result.collection_bytes);
  }
  answer.close();
  co_return out;
}

}  // namespace

Task<std::string> put_item(Request& request) {
  const json::Element& body = request.body;
  const expr::Wording wording = check_write_shape(request, "Item");
  store::Write write;
  write.kind = store::Write::Kind::kPut;
  bool return_old = false;
  with_prefix(wording == expr::Wording::kCurrent ? kEnvelope : "", [&] {
    RequestBindings placeholders = read_bindings(body, wording);
    check_parameters(body, placeholders);
    write.item = read_item(*json::member(body, "Item"), wording);
    return_old = read_return_old(body);
    write.item_size_bytes = model::size_bytes(write.item);
    if (write.item_size_bytes > store::kMaxItemBytes)
      invalid("Item size has exceeded the maximum allowed size");
    read_condition(request, placeholders, wording, write);
  });
  write.table = active_table(request.context, *json::string_member(body, "TableName"));
  check_item_keys(*write.table->schema, write.item);
  store::check_index_keys(*write.table->schema, write.item);
  auto answer = run(request, std::move(write), return_old);
  co_return co_await answer;
}

Task<std::string> delete_item(Request& request) {
  const json::Element& body = request.body;
  const expr::Wording wording = check_write_shape(request, "Key");
  store::Write write;
  write.kind = store::Write::Kind::kDelete;
  bool return_old = false;
  with_prefix(wording == expr::Wording::kCurrent ? kEnvelope : "", [&] {
    RequestBindings placeholders = read_bindings(body, wording);
    check_parameters(body, placeholders);
    write.item = read_item(*json::member(body, "Key"), wording);
    return_old = read_return_old(body);
    read_condition(request, placeholders, wording, write);
  });
  write.table = active_table(request.context, *json::string_member(body, "TableName"));
  check_key(*write.table->schema, write.item);
  auto answer = run(request, std::move(write), return_old);
  co_return co_await answer;
}

}  // namespace stator::ops
