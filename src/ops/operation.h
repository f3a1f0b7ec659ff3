// What an operation is: a name, the shape of its request, and a handler. operations() is the one
// table of them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "capacity/throttle.h"
#include "catalog/catalog.h"
#include "catalog/scaling.h"
#include "common/clock.h"
#include "common/task.h"
#include "expr/parse_cache.h"
#include "json/reader.h"
#include "model/error.h"
#include "ops/shape.h"
#include "store/store.h"

namespace stator::ops {

class TokensInProgress;  // transaction.h

// Application Auto Scaling, which scales the capacity of tables and global indexes.
inline constexpr std::string_view kScalingService = "AnyScaleFrontendService";

// What handlers work on. Outlives every request.
struct Context {
  catalog::Catalog& catalog;
  store::Store& store;
  expr::ParseCache& expressions;
  TokensInProgress& tokens;
  capacity::Throttle& throttle;
  const Clock& clock;
  std::string region;
  std::string account;
  catalog::Scaling& scaling;
};

// One request. The handler's coroutine owns it for its whole life, so elements of `body` stay valid
// across awaits.
struct Request {
  const Context& context;
  json::Document document;
  json::Element body;  // an object; its types have been checked
  const Shape* shape;
  std::string access_key;
  std::string request_id;
};

// Answers with the JSON body of a success; throws ApiError for every other answer.
using Handler = Task<std::string> (*)(Request& request);

struct Operation {
  std::string_view service;  // "DynamoDB_20120810"
  std::string_view name;     // "PutItem"
  Handler handler;
  bool writes;
  bool changes_tables = false;  // there may be background work afterwards
  const Shape* shape = nullptr;
};

// Null if there is none.
const Operation* find_operation(std::string_view service, std::string_view name);
std::span<const Operation> operations();

// Throws all constraint violations of the request in one message, in the classic form.
void check_shape(const Request& request, std::span<const std::string_view> skip = {});

// The name of the table that a TableName member ("Orders" or its ARN) means. Throws for an ARN of
// another region or account, and for names that are none.
std::string table_name_of(const Context& context, std::string_view name_or_arn);
// As above for the request's own TableName; then the table itself, ready for items. Throws
// ResourceNotFoundException.
catalog::TablePtr active_table(const Context& context, std::string_view name_or_arn);

// Handlers, one file each.
Task<std::string> create_table(Request& request);
Task<std::string> describe_table(Request& request);
Task<std::string> list_tables(Request& request);
Task<std::string> update_table(Request& request);
Task<std::string> delete_table(Request& request);
Task<std::string> describe_limits(Request& request);
Task<std::string> update_time_to_live(Request& request);
Task<std::string> describe_time_to_live(Request& request);
Task<std::string> tag_resource(Request& request);
Task<std::string> untag_resource(Request& request);
Task<std::string> list_tags_of_resource(Request& request);
Task<std::string> put_resource_policy(Request& request);
Task<std::string> get_resource_policy(Request& request);
Task<std::string> delete_resource_policy(Request& request);
Task<std::string> update_contributor_insights(Request& request);
Task<std::string> describe_contributor_insights(Request& request);
Task<std::string> list_contributor_insights(Request& request);
Task<std::string> register_scalable_target(Request& request);
Task<std::string> deregister_scalable_target(Request& request);
Task<std::string> describe_scalable_targets(Request& request);
Task<std::string> describe_scaling_activities(Request& request);
Task<std::string> put_scaling_policy(Request& request);
Task<std::string> delete_scaling_policy(Request& request);
Task<std::string> describe_scaling_policies(Request& request);
Task<std::string> describe_endpoints(Request& request);
Task<std::string> list_streams(Request& request);
Task<std::string> describe_stream(Request& request);
Task<std::string> get_shard_iterator(Request& request);
Task<std::string> get_records(Request& request);
Task<std::string> put_item(Request& request);
Task<std::string> get_item(Request& request);
Task<std::string> update_item(Request& request);
Task<std::string> delete_item(Request& request);
Task<std::string> query(Request& request);
Task<std::string> scan(Request& request);
Task<std::string> batch_get_item(Request& request);
Task<std::string> batch_write_item(Request& request);
Task<std::string> transact_write_items(Request& request);
Task<std::string> transact_get_items(Request& request);
Task<std::string> execute_statement(Request& request);
Task<std::string> batch_execute_statement(Request& request);
Task<std::string> execute_transaction(Request& request);

}  // namespace stator::ops
