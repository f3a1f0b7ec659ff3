#include <algorithm>

#include "capacity/units.h"
#include "common/md5.h"
#include "model/codec.h"
#include "model/key_codec.h"
#include "ops/partiql_run.h"
#include "ops/throttling.h"
#include "ops/transaction.h"

namespace stator::ops {

namespace {

constexpr std::string_view kKeyMismatch = "The provided key element does not match the schema";

// One statement of a transaction.
struct TransactionMember {
  partiql::Plan plan;
  bool item_on_failure = false;
  catalog::TablePtr table;   // null if there is none of that name
  TransactionAction action;  // of a write
  model::Item key;           // of a read
  std::optional<CancellationReason> reason;
};

std::string prefix_of(size_t position) {
  return "Validation failed in TransactStatements[" + std::to_string(position) + "]: ";
}

std::vector<TransactionMember> read_members(const Context& context,
                                            const json::ArrayElement& statements) {
  std::vector<std::vector<model::Value>> parameters;
  for (const json::Element element : statements) parameters.push_back(read_parameters(element));
  std::vector<TransactionMember> members;
  for (const json::Element element : statements) {
    const size_t i = members.size();
    TransactionMember member;
    with_prefix(prefix_of(i), [&] {
      member.plan =
          prepare_statement(context, *json::string_member(element, "Statement"), parameters[i]);
    });
    member.item_on_failure =
        json::string_member(element, "ReturnValuesOnConditionCheckFailure") == "ALL_OLD";
    members.push_back(std::move(member));
  }
  return members;
}

void check_not_mixed(const std::vector<TransactionMember>& members) {
  const bool first = is_read(members.front().plan);
  for (const TransactionMember& member : members) {
    if (is_read(member.plan) != first) {
      invalid(
          "ExecuteTransaction API does not support both read and write operations in the same "
          "request.");
    }
  }
}

bool has_key_types(const model::KeySchema& key, const model::Item& item) {
  for (size_t i = 0; i < key.size(); ++i) {
    const model::Value* value = item.find(key.at(i).name);
    if (value == nullptr || value->type() != model::value_type(key.at(i).type)) return false;
  }
  return true;
}

void check_read(const partiql::Select& select, TransactionMember& member) {
  if (select.from.index) invalid("Reads on indices are not supported within transactions.");
  const model::TableSchema& schema = *member.table->schema;
  member.key = single_read_key(select, schema, "ExecuteTransaction");
  if (has_key_types(schema.key, member.key)) {
    check_key_values(schema.key, member.key);
  } else {
    member.reason = {"ValidationError", std::string(kKeyMismatch), std::nullopt};
  }
}

void check_insert(const partiql::Insert& insert, TransactionMember& member) {
  const model::TableSchema& schema = *member.table->schema;
  if (model::size_bytes(insert.item) > store::kMaxItemBytes) {
    invalid("Item size has exceeded the maximum allowed size");
  }
  try {
    check_item_keys(schema, insert.item);
    store::check_index_keys(schema, insert.item);
  } catch (const ApiError& error) {
    member.reason = {"ValidationError", error.message(), std::nullopt};
    return;
  }
  member.action.write = statement_write(member.plan, member.table, {});
}

// UPDATE, DELETE and EXISTS: the one item that the WHERE clause names.
void check_keyed(const std::optional<expr::Condition>& where, TransactionMember& member) {
  const model::TableSchema& schema = *member.table->schema;
  partiql::ItemKey item = partiql::find_item_key(where, schema.key, false);
  if (std::holds_alternative<partiql::Exists>(member.plan)) {
    if (!item.complete || !item.rest) {
      invalid("EXISTS() must contain a single item read with additional condition");
    }
  } else if (!item.second_value_of.empty()) {
    item.complete = false;
  }
  if (!item.complete || !has_key_types(schema.key, item.key)) {
    member.reason = {"ValidationError", std::string(kKeyMismatch), std::nullopt};
    return;
  }
  try {
    check_key_values(schema.key, item.key);
  } catch (const ApiError& error) {
    member.reason = {"ValidationError", error.message(), std::nullopt};
    return;
  }
  member.action.write = statement_write(member.plan, member.table, std::move(item));
}

// What the statement is refused for now that its table is known. What only its key is wrong about
// cancels.
void check_against_table(TransactionMember& member) {
  constexpr std::string_view kNoReturning =
      "RETURNING clause is not supported in ExecuteTransaction.";
  if (const auto* select = std::get_if<partiql::Select>(&member.plan)) {
    check_read(*select, member);
  } else if (const auto* insert = std::get_if<partiql::Insert>(&member.plan)) {
    check_insert(*insert, member);
  } else if (const auto* update = std::get_if<partiql::Update>(&member.plan)) {
    if (update->returning) invalid(std::string(kNoReturning));
    update->update.check_keys(*member.table->schema);
    check_keyed(update->where, member);
  } else if (const auto* erase = std::get_if<partiql::Delete>(&member.plan)) {
    if (erase->returning) invalid(std::string(kNoReturning));
    check_keyed(erase->where, member);
  } else {
    const auto& exists = std::get<partiql::Exists>(member.plan);
    if (exists.select.from.index)
      invalid("Reads on indices are not supported within transactions.");
    check_keyed(exists.select.where, member);
  }
}

void find_tables(const Context& context, std::vector<TransactionMember>& members) {
  for (TransactionMember& member : members) {
    try {
      member.table = active_table(context, table_name(member.plan));
    } catch (const ApiError& error) {
      if (error.type() != "ResourceNotFoundException") throw;
      member.reason = {"ResourceNotFound", error.message(), std::nullopt};
    }
  }
}

void cancel_if_any(const std::vector<TransactionMember>& members) {
  std::vector<CancellationReason> reasons;
  bool any = false;
  for (const TransactionMember& member : members) {
    reasons.push_back(member.reason.value_or(CancellationReason{}));
    any = any || member.reason;
  }
  if (any) throw_cancelled(reasons);
}

Task<std::string> run_reads(Request& request, std::vector<TransactionMember> members) {
  std::vector<store::Store::Key> keys;
  std::vector<std::string> engine_keys;
  for (const TransactionMember& member : members) {
    keys.push_back({member.table, member.key});
    engine_keys.push_back(model::item_key(*member.table->schema, member.key));
  }
  std::sort(engine_keys.begin(), engine_keys.end());
  if (std::adjacent_find(engine_keys.begin(), engine_keys.end()) != engine_keys.end()) {
    invalid("Transaction request cannot include multiple operations on one item");
  }
  std::vector<AdmittedRead> admitted;
  admitted.reserve(members.size());
  for (TransactionMember& member : members) {
    admitted.push_back(check_get(request.context, *member.table, member.key));
    if (admitted.back().refused) member.reason = throttling_reason(*admitted.back().refused);
  }
  cancel_if_any(members);
  auto pending = request.context.store.get_many(std::move(keys));
  const auto records = co_await pending;

  std::string out;
  json::Object answer(out);
  json::Array responses(answer.key("Responses"));
  std::vector<Consumed> tables;
  for (size_t i = 0; i < members.size(); ++i) {
    const auto& select = std::get<partiql::Select>(members[i].plan);
    json::Object response(responses.element());
    size_t size_bytes = 0;
    if (records[i]) {
      std::string_view encoded = *records[i];
      size_bytes = model::read_header(encoded).size_bytes;
      if (select.columns) {
        const model::Item row = select_columns(*select.columns, model::decode_item(encoded));
        if (!row.empty()) append_item(response.key("Item"), row);
      } else {
        append_encoded_item(response.key("Item"), encoded);
      }
    }
    response.close();
    const std::string& name = select.from.table;
    auto at = std::find_if(tables.begin(), tables.end(),
                           [&](const Consumed& table) { return table.table_name == name; });
    if (at == tables.end())
      at = tables.insert(tables.end(), {name, 0, {}, members[i].table->schema.get()});
    const double units = 2 * capacity::read_units(size_bytes, true);
    settle_read(request.context, *members[i].table, admitted[i], units);
    at->table += units;
  }
  responses.close();
  const CapacityMode mode = capacity_mode(request.body);
  if (mode != CapacityMode::kNone) {
    json::Array list(answer.key("ConsumedCapacity"));
    for (const Consumed& table : tables)
      append_capacity_value(list.element(), mode, table, "ReadCapacityUnits");
    list.close();
  }
  answer.close();
  co_return out;
}

std::string fingerprint_of(const json::Element& statements) {
  const std::string text = json::canonical(statements);
  const auto digest = md5({"ExecuteTransaction", text});
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Task<std::string> run_writes(Request& request, std::vector<TransactionMember> members) {
  const json::Element& body = request.body;
  std::vector<TransactionAction> actions;
  for (TransactionMember& member : members) {
    member.action.given_table_name = table_name(member.plan);
    member.action.item_on_failure = member.item_on_failure;
    actions.push_back(std::move(member.action));
  }
  check_distinct_items(actions);
  std::optional<std::string> token;
  if (const auto given = json::string_member(body, "ClientRequestToken");
      given && !given->empty()) {
    token = std::string(*given);
  }
  auto pending = run_transaction(request.context, actions, std::move(token),
                                 fingerprint_of(*json::member(body, "TransactStatements")));
  const TransactionOutcome outcome = co_await pending;
  std::string out;
  json::Object answer(out);
  answer.key("Responses").append("[]");
  append_transaction_capacity(answer, capacity_mode(body), actions, outcome);
  answer.close();
  co_return out;
}

}  // namespace

Task<std::string> execute_transaction(Request& request) {
  check_shape(request);
  std::vector<TransactionMember> members =
      read_members(request.context, *json::array_member(request.body, "TransactStatements"));
  check_not_mixed(members);
  find_tables(request.context, members);
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].reason) continue;
    with_prefix(prefix_of(i), [&] { check_against_table(members[i]); });
  }
  cancel_if_any(members);
  const bool reads = is_read(members.front().plan);
  auto pending =
      reads ? run_reads(request, std::move(members)) : run_writes(request, std::move(members));
  co_return co_await pending;
}

}  // namespace stator::ops
