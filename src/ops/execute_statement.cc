#include "ops/partiql_run.h"
#include "ops/partiql_select.h"
#include "ops/throttling.h"

namespace stator::ops {

namespace {

Task<std::string> run_select(Request& request, const partiql::Select& select, std::string digest) {
  const json::Element& body = request.body;
  const bool consistent = json::bool_member(body, "ConsistentRead").value_or(false);
  SelectPlan plan = plan_select(request.context, select, consistent);
  SelectPosition start;
  if (const auto token = json::string_member(body, "NextToken"))
    start = read_next_token(*token, digest, plan);
  std::optional<size_t> limit;
  if (const auto given = json::int_member(body, "Limit")) limit = static_cast<size_t>(*given);
  const catalog::TablePtr table = plan.page.table;
  const model::Index* index = plan.page.index;
  auto pending = read_select(request.context, std::move(plan), limit, std::move(start));
  const SelectPage page = co_await pending;

  std::string out;
  out.reserve(page.items.size() + 128);
  json::Object answer(out);
  answer.key("Items").push_back('[');
  out.append(page.items);
  out.push_back(']');
  if (page.next) answer.string("NextToken", write_next_token(*page.next, digest));
  if (page.next && page.last_key) append_item(answer.key("LastEvaluatedKey"), *page.last_key);
  const model::TableSchema& schema = *table->schema;
  Consumed consumed{select.from.table, page.table_units, {}, &schema};
  if (index != nullptr) {
    consumed.indexes.assign(schema.indexes.size(), 0);
    consumed.indexes[static_cast<size_t>(index - schema.indexes.data())] = page.index_units;
  }
  append_capacity(answer, capacity_mode(body), consumed);
  answer.close();
  co_return out;
}

Task<std::string> run_write(Request& request, const partiql::Plan& plan) {
  const json::Element& body = request.body;
  store::Write write = single_write(request.context, plan);
  const catalog::TablePtr table = write.table;
  auto pending = write_item(request.context, std::move(write));
  const store::WriteResult result = co_await pending;
  if (result.kind == store::WriteResult::Kind::kDuplicate) {
    throw ApiError("DuplicateItemException", "Duplicate primary key exists in table");
  }
  if (!result.done()) {
    const bool with_item =
        json::string_member(body, "ReturnValuesOnConditionCheckFailure") == "ALL_OLD";
    throw_condition_failed(with_item, result.old_item);
  }
  std::string out;
  json::Object answer(out);
  json::Array items(answer.key("Items"));
  if (const auto row = returned_row(plan, result)) append_item(items.element(), *row);
  items.close();
  append_capacity(
      answer, capacity_mode(body),
      {table_name(plan), result.units.table, result.units.indexes, table->schema.get()});
  answer.close();
  co_return out;
}

}  // namespace

Task<std::string> execute_statement(Request& request) {
  check_shape(request);
  const std::string_view text = *json::string_member(request.body, "Statement");
  const std::vector<model::Value> parameters = read_parameters(request.body);
  const partiql::Plan plan = prepare_statement(request.context, text, parameters);
  if (std::holds_alternative<partiql::Exists>(plan)) {
    invalid("EXISTS can only be used in ExecuteTransaction write requests.");
  }
  if (const auto* select = std::get_if<partiql::Select>(&plan)) {
    auto pending = run_select(request, *select, request_digest(text, parameters));
    co_return co_await pending;
  }
  auto pending = run_write(request, plan);
  co_return co_await pending;
}

}  // namespace stator::ops
