#include "common/bytes.h"
#include "model/key_codec.h"
#include "ops/read_request.h"

namespace stator::ops {

namespace {

constexpr expr::Wording kWording = expr::Wording::kOlder;

struct Segment {
  int64_t number = 0;
  int64_t total = 1;
};

std::optional<Segment> read_segment(const json::Element& body) {
  const auto number = json::int_member(body, "Segment");
  const auto total = json::int_member(body, "TotalSegments");
  if (!number && !total) return std::nullopt;
  if (!total) {
    invalid(
        "The TotalSegments parameter is required but was not present in the request when Segment "
        "parameter is "
        "present");
  }
  if (!number) {
    invalid(
        "The Segment parameter is required but was not present in the request when parameter "
        "TotalSegments is "
        "present");
  }
  if (*number >= *total) {
    invalid(
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
        "Segment: " +
        std::to_string(*number) + " is not less than TotalSegments: " + std::to_string(*total));
  }
  return Segment{*number, *total};
}

// Rows are in the order of a 64-bit hash; a segment is an equal part of its values.
engine::Range segment_range(const std::string& prefix, const Segment& segment) {
  const auto bound = [&](int64_t number) {
    if (number == segment.total) return prefix_end(prefix);
    const auto hash = static_cast<uint64_t>((static_cast<unsigned __int128>(number) << 64) /
                                            static_cast<unsigned __int128>(segment.total));
    std::string key = prefix;
    append_big_endian(key, hash);
    return key;
  };
  return {bound(segment.number), bound(segment.number + 1)};
}

}  // namespace

Task<std::string> scan(Request& request) {
  const json::Element& body = request.body;
  const Context& context = request.context;
  check_shape(request);
  const auto has = [&](std::string_view name) { return json::member(body, name).has_value(); };
  RequestBindings placeholders = read_bindings(body, kWording);
  expr::check_not_mixed({{"AttributesToGet", has("AttributesToGet")},
                         {"ScanFilter", has("ScanFilter")},
                         {"ConditionalOperator", has("ConditionalOperator")}},
                        {{"ProjectionExpression", has("ProjectionExpression")},
                         {"FilterExpression", has("FilterExpression")}});
  expr::check_placeholders_allowed(placeholders.bindings,
                                   {{"ProjectionExpression", has("ProjectionExpression")},
                                    {"FilterExpression", has("FilterExpression")}});
  const std::optional<Segment> segment = read_segment(body);
  PageRequest page_request;
  const auto conditional = read_conditional_operator(body);
  const std::optional<model::Item> start = read_start_key(body, kWording);
  if (const auto names = json::array_member(body, "AttributesToGet")) {
    page_request.projection = expr::attributes_to_get(read_names(*names));
  }
  if (const auto filter = json::member(body, "ScanFilter")) {
    auto conditions = read_conditions(*filter, kWording);
    expr::check_conditional_operator(conditional, conditions.size());
    if (!conditions.empty())
      page_request.filter = expr::filter_condition(std::move(conditions), conditional);
  } else {
    expr::check_conditional_operator(conditional, 0);
  }
  placeholders.check();
  if (const auto text = json::string_member(body, "FilterExpression")) {
    page_request.filter = expr::bind_condition(*text, expr::ExpressionKind::kFilter,
                                               placeholders.bindings, context.expressions);
  }
  if (const auto text = json::string_member(body, "ProjectionExpression")) {
    page_request.projection =
        expr::bind_projection(*text, placeholders.bindings, context.expressions);
  }
  placeholders.bindings.check_unused();
  check_select(body);

  page_request.table = active_table(context, *json::string_member(body, "TableName"));
  const model::TableSchema& table = *page_request.table->schema;
  page_request.index = find_index(table, json::string_member(body, "IndexName"));
  page_request.consistent = json::bool_member(body, "ConsistentRead").value_or(false);
  if (page_request.index != nullptr && page_request.index->global && page_request.consistent) {
    invalid("Consistent reads are not supported on global secondary indexes");
  }
  store::ReadPlan& plan = page_request.plan;
  const std::string prefix = page_request.index != nullptr
                                 ? model::index_prefix(table.number, page_request.index->number)
                                 : model::items_prefix(table.number);
  plan.range = segment_range(prefix, segment.value_or(Segment{}));
  if (const auto limit = json::int_member(body, "Limit")) plan.limit = static_cast<size_t>(*limit);
  if (start) {
    check_start_key(page_request, *start, true);
    const std::string row = start_row(page_request, *start);
    if (segment && (row < plan.range.begin || row >= plan.range.end)) {
      invalid(
          "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use "
          "ExclusiveStartKey with "
          "correct Segment. TotalSegments: " +
          std::to_string(segment->total) + " Segment: " + std::to_string(segment->number));
    }
    begin_after(plan, row);
  }
  if (page_request.projection) expr::check_no_paths_into_keys(*page_request.projection, table);
  apply_select(body, page_request);
  if (page_request.filter) expr::check_no_paths_into_keys(*page_request.filter, table);

  auto pending = read_page(context, page_request);
  const Page page = co_await pending;
  co_return page_answer(request, page_request, page);
}

}  // namespace stator::ops
