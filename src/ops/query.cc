#include "ops/read_request.h"

namespace stator::ops {

namespace {

constexpr expr::Wording kWording = expr::Wording::kCurrent;

// The shape checks of Query, which runs on the service's current layer.
void check_query_shape(const Request& request) {
  const auto violations = find_violations(request.body, *request.shape);
  if (violations.empty()) return;
  std::vector<std::string> texts;
  for (const Violation& violation : violations) {
    if (violation.path == "conditionalOperator") {
      invalid("Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]");
    }
    if (violation.path == "limit") {
      texts.emplace_back(
          "Value at 'Limit' failed to satisfy constraint: Member must have value greater than or "
          "equal to 1");
      continue;
    }
    texts.push_back(violation.text);
  }
  throw_violations(texts);
}

// All partition and sort values of a start key must lie inside the key condition.
void check_start_in_bounds(const PageRequest& request, const expr::KeyCondition& key,
                           const model::Item& start) {
  const model::TableSchema& table = *request.table->schema;
  const model::KeySchema& schema = request.index != nullptr ? request.index->key : table.key;
  std::vector<const model::Value*> sort;
  for (const model::KeyAttribute& attribute : schema.sort)
    sort.push_back(start.find(attribute.name));
  if (!key.matches_sort(sort))
    invalid("The provided starting key does not match the range key predicate");
  const bool has_sort_condition = !key.sort_equal.empty() || key.range.has_value();
  for (size_t i = 0; i < schema.partition.size(); ++i) {
    if (*start.find(schema.partition[i].name) == key.partition[i]) continue;
    invalid(
        has_sort_condition
            ? "The query can return at most one row and cannot be restarted"
            : "The provided starting key is outside query boundaries based on provided conditions");
  }
}

}  // namespace

Task<std::string> query(Request& request) {
  const json::Element& body = request.body;
  const Context& context = request.context;
  check_query_shape(request);
  const auto has = [&](std::string_view name) { return json::member(body, name).has_value(); };
  RequestBindings placeholders = read_bindings(body, kWording);
  expr::check_not_mixed({{"AttributesToGet", has("AttributesToGet")},
                         {"QueryFilter", has("QueryFilter")},
                         {"ConditionalOperator", has("ConditionalOperator")},
                         {"KeyConditions", has("KeyConditions")}},
                        {{"ProjectionExpression", has("ProjectionExpression")},
                         {"FilterExpression", has("FilterExpression")},
                         {"KeyConditionExpression", has("KeyConditionExpression")}});
  expr::check_placeholders_allowed(placeholders.bindings,
                                   {{"ProjectionExpression", has("ProjectionExpression")},
                                    {"FilterExpression", has("FilterExpression")},
                                    {"KeyConditionExpression", has("KeyConditionExpression")}});
  PageRequest page_request;
  const auto conditional = read_conditional_operator(body);
  if (const auto filter = json::member(body, "QueryFilter")) {
    auto conditions = read_conditions(*filter, kWording);
    expr::check_conditional_operator(conditional, conditions.size());
    if (!conditions.empty())
      page_request.filter = expr::filter_condition(std::move(conditions), conditional);
  } else {
    expr::check_conditional_operator(conditional, 0);
  }
  const std::optional<model::Item> start = read_start_key(body, kWording);
  if (const auto names = json::array_member(body, "AttributesToGet")) {
    page_request.projection = expr::attributes_to_get(read_names(*names));
  }
  std::vector<expr::KeyClause> clauses;
  if (const auto conditions = json::member(body, "KeyConditions")) {
    clauses = expr::key_conditions(read_conditions(*conditions, kWording));
  }
  placeholders.check();
  if (!has("KeyConditions") && !has("KeyConditionExpression")) {
    invalid(
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the "
        "request.");
  }
  std::optional<expr::Condition> key_condition;
  if (const auto text = json::string_member(body, "KeyConditionExpression")) {
    key_condition = expr::bind_condition(*text, expr::ExpressionKind::kKeyCondition,
                                         placeholders.bindings, context.expressions);
  }
  if (const auto text = json::string_member(body, "FilterExpression")) {
    page_request.filter = expr::bind_condition(*text, expr::ExpressionKind::kFilter,
                                               placeholders.bindings, context.expressions);
  }
  if (const auto text = json::string_member(body, "ProjectionExpression")) {
    page_request.projection =
        expr::bind_projection(*text, placeholders.bindings, context.expressions);
  }
  placeholders.bindings.check_unused();
  if (key_condition) clauses = expr::key_clauses(*key_condition);
  with_prefix(kEnvelope, [&] { check_select(body); });

  page_request.table = active_table(context, *json::string_member(body, "TableName"));
  const model::TableSchema& table = *page_request.table->schema;
  page_request.index = find_index(table, json::string_member(body, "IndexName"));
  page_request.consistent = json::bool_member(body, "ConsistentRead").value_or(false);
  if (page_request.index != nullptr && page_request.index->global && page_request.consistent) {
    invalid("Consistent reads are not supported on global secondary indexes");
  }
  if (start) check_start_key(page_request, *start, false);
  const model::KeySchema& key_schema =
      page_request.index != nullptr ? page_request.index->key : table.key;
  const expr::KeyCondition key = expr::match_key(clauses, key_schema);
  store::ReadPlan& plan = page_request.plan;
  plan.range = key_range(table, page_request.index, key);
  if (!json::bool_member(body, "ScanIndexForward").value_or(true))
    plan.direction = engine::Direction::kBackward;
  if (const auto limit = json::int_member(body, "Limit")) plan.limit = static_cast<size_t>(*limit);
  if (start) {
    check_start_in_bounds(page_request, key, *start);
    begin_after(plan, start_row(page_request, *start));
  }
  if (page_request.projection) expr::check_no_paths_into_keys(*page_request.projection, table);
  if (page_request.filter) {
    expr::check_filter_attributes(*page_request.filter, key_schema,
                                  has("QueryFilter") ? "QueryFilter" : "Filter Expression");
  }
  apply_select(body, page_request);
  if (page_request.filter) expr::check_no_paths_into_keys(*page_request.filter, table);

  auto pending = read_page(context, page_request);
  const Page page = co_await pending;
  co_return page_answer(request, page_request, page);
}

}  // namespace stator::ops
