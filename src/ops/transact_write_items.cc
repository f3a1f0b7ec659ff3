#include <algorithm>
#include <array>

#include "common/md5.h"
#include "ops/transaction.h"

namespace stator::ops {

namespace {

constexpr expr::Wording kWording = expr::Wording::kOlder;

struct ActionKind {
  std::string_view member;
  store::Write::Kind kind;
};
constexpr std::array<ActionKind, 4> kActionKinds{{{"ConditionCheck", store::Write::Kind::kCheck},
                                                  {"Put", store::Write::Kind::kPut},
                                                  {"Delete", store::Write::Kind::kDelete},
                                                  {"Update", store::Write::Kind::kUpdate}}};

// One action, as far as it can be checked without tables.
TransactionAction read_action(const Request& request, const json::Element& element) {
  const ActionKind* kind = nullptr;
  json::Element body;
  for (const ActionKind& candidate : kActionKinds) {
    const auto member = json::member(element, candidate.member);
    if (!member) continue;
    if (kind != nullptr)
      invalid("TransactItems can only contain one of Check, Put, Update or Delete");
    kind = &candidate;
    body = *member;
  }
  if (kind == nullptr) {
    invalid("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request");
  }
  TransactionAction action;
  action.given_table_name = std::string(json::string_member(body, "TableName").value_or(""));
  action.item_on_failure =
      json::string_member(body, "ReturnValuesOnConditionCheckFailure") == "ALL_OLD";
  store::Write& write = action.write;
  write.kind = kind->kind;
  const bool put = kind->kind == store::Write::Kind::kPut;
  RequestBindings placeholders = read_bindings(body, kWording);
  const auto has = [&](std::string_view name) { return json::member(body, name).has_value(); };
  expr::check_placeholders_allowed(placeholders.bindings,
                                   {{"UpdateExpression", has("UpdateExpression")},
                                    {"ConditionExpression", has("ConditionExpression")}});
  const json::Element subject = *json::member(body, put ? "Item" : "Key");
  // A key nested very deep is looked at only after the expressions.
  const bool deep = !put && value_depth(subject, 63) >= 63;
  if (!deep) write.item = read_item(subject, kWording);
  if (put) {
    write.item_size_bytes = model::size_bytes(write.item);
    if (write.item_size_bytes > store::kMaxItemBytes)
      invalid("Item size has exceeded the maximum allowed size");
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
  if (deep) write.item = read_item(subject, kWording);
  return action;
}

// The key of an action against its table. What does not fit cancels the transaction; an empty or
// too long key value is an error of the whole request.
void check_action(TransactionAction& action) {
  const model::TableSchema& schema = *action.write.table->schema;
  const bool put = action.write.kind == store::Write::Kind::kPut;
  try {
    if (put) {
      check_item_keys(schema, action.write.item);
    } else {
      check_key(schema, action.write.item);
    }
  } catch (const ApiError& error) {
    const std::string& message = error.message();
    if (message.find("empty") != std::string::npos || message.find("exceeded") != std::string::npos)
      throw;
    action.invalid_key = message;
    return;
  }
  try {
    if (put) store::check_index_keys(schema, action.write.item);
    if (action.write.kind == store::Write::Kind::kUpdate) action.write.update.check_keys(schema);
  } catch (const ApiError& error) {
    if (error.type() != "ValidationException") throw;
    if (error.message().find("part of the key") != std::string::npos) throw;
    if (error.message().find("empty") != std::string::npos) throw;
    action.invalid_key = error.message();
  }
}

std::string fingerprint_of(const json::Element& items) {
  const std::string text = json::canonical(items);
  const auto digest = md5({text});
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

void append_metrics(json::Object& answer, const std::vector<TransactionAction>& actions,
                    const TransactionOutcome& outcome) {
  std::vector<std::pair<std::string, std::vector<std::string>>> tables;
  for (size_t i = 0; i < outcome.results.size(); ++i) {
    const model::TableSchema& schema = *actions[i].write.table->schema;
    if (!schema.has_local_index() || actions[i].write.kind == store::Write::Kind::kCheck) continue;
    std::string metrics;
    append_collection_metrics_value(metrics, schema, actions[i].write.item,
                                    outcome.results[i].collection_bytes);
    auto at = std::find_if(tables.begin(), tables.end(), [&](const auto& table) {
      return table.first == actions[i].given_table_name;
    });
    if (at == tables.end()) at = tables.insert(tables.end(), {actions[i].given_table_name, {}});
    if (std::find(at->second.begin(), at->second.end(), metrics) == at->second.end())
      at->second.push_back(metrics);
  }
  if (tables.empty()) return;
  json::Object map(answer.key("ItemCollectionMetrics"));
  for (const auto& [name, list] : tables) {
    json::Array array(map.key(name));
    for (const std::string& one : list) array.element().append(one);
    array.close();
  }
  map.close();
}

}  // namespace

Task<std::string> transact_write_items(Request& request) {
  const json::Element& body = request.body;
  check_shape(request);
  std::vector<TransactionAction> actions;
  const json::ArrayElement items = *json::array_member(body, "TransactItems");
  size_t total_bytes = 0;
  for (const json::Element item : items) {
    actions.push_back(read_action(request, item));
    total_bytes += actions.back().write.item_size_bytes;
  }
  if (total_bytes > kMaxTransactionBytes) {
    invalid("Transaction request size exceeded the maximum limit of 4MB");
  }
  for (TransactionAction& action : actions) {
    action.write.table = active_table(request.context, action.given_table_name);
  }
  for (TransactionAction& action : actions) check_action(action);
  check_distinct_items(actions);

  std::optional<std::string> token;
  if (const auto given = json::string_member(body, "ClientRequestToken")) {
    if (!given->empty()) token = std::string(*given);
  }
  auto pending = run_transaction(request.context, actions, token,
                                 fingerprint_of(*json::member(body, "TransactItems")));
  const TransactionOutcome outcome = co_await pending;
  std::string out;
  json::Object answer(out);
  append_transaction_capacity(answer, capacity_mode(body), actions, outcome);
  if (wants_collection_metrics(body)) append_metrics(answer, actions, outcome);
  answer.close();
  co_return out;
}

}  // namespace stator::ops
