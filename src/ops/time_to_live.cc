#include "json/writer.h"
#include "ops/operation.h"
#include "ops/table_request.h"

namespace stator::ops {

namespace {

constexpr size_t kMaxAttributeNameBytes = 255;

// What the service says about a change that is none.
void check_change(const catalog::Table& table, bool enable, const std::string& attribute) {
  const std::string& current = table.schema->ttl_attribute;
  if (enable && current == attribute) invalid("TimeToLive is already enabled");
  if (!enable && current.empty()) invalid("TimeToLive is already disabled");
  if (!current.empty() && current != attribute) {
    invalid("TimeToLive is active on a different AttributeName: current AttributeName is " +
            current);
  }
}

}  // namespace

Task<std::string> update_time_to_live(Request& request) {
  const Context& context = request.context;
  check_shape(request);
  const json::Element specification = *json::member(request.body, "TimeToLiveSpecification");
  const bool enable = json::bool_member(specification, "Enabled").value_or(false);
  const std::string attribute(json::string_member(specification, "AttributeName").value_or(""));
  if (attribute.empty() || attribute.size() > kMaxAttributeNameBytes) {
    invalid("TimeToLiveSpecification.AttributeName must be at least 1 and at most 255 bytes long");
  }
  const auto known = existing_table(request);
  const std::function<void(catalog::Table&)> change = [&](catalog::Table& table) {
    refuse_unless_active(table, context.clock.now_ms());
    check_change(table, enable, attribute);
    const int64_t interval_ms = context.catalog.options().ttl_change_interval_s * 1000;
    if (table.ttl_changed_ms && context.clock.now_ms() - *table.ttl_changed_ms < interval_ms) {
      invalid("Time to live has been modified multiple times within a fixed interval");
    }
    auto schema = std::make_shared<model::TableSchema>(*table.schema);
    schema->ttl_attribute = enable ? attribute : std::string();
    table.schema = std::move(schema);
    table.ttl_indexing = enable;
    table.ttl_clearing = !enable;
    table.ttl_changed_ms = context.clock.now_ms();
  };
  const auto updated = co_await context.catalog.update(known->name(), change);
  if (!updated) throw_table_not_found(known->name());
  std::string out;
  json::Object answer(out);
  json::Object shown(answer.key("TimeToLiveSpecification"));
  shown.boolean("Enabled", enable);
  shown.string("AttributeName", attribute);
  shown.close();
  answer.close();
  co_return out;
}

Task<std::string> describe_time_to_live(Request& request) {
  check_shape(request);
  const auto table = existing_table(request);
  const std::string& attribute = table->schema->ttl_attribute;
  std::string out;
  json::Object answer(out);
  json::Object description(answer.key("TimeToLiveDescription"));
  description.string("TimeToLiveStatus", attribute.empty() ? "DISABLED" : "ENABLED");
  if (!attribute.empty()) description.string("AttributeName", attribute);
  description.close();
  answer.close();
  co_return out;
}

}  // namespace stator::ops
