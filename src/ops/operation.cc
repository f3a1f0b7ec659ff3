#include "ops/operation.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace stator::ops {

namespace {

constexpr std::string_view kDynamo = "DynamoDB_20120810";
constexpr std::string_view kStreams = "DynamoDBStreams_20120810";

std::span<const OperationShape> shapes_of(std::string_view service) {
  if (service == kStreams) return streams_operation_shapes();
  if (service == kScalingService) return scaling_operation_shapes();
  return data_operation_shapes();
}

const Shape* shape_of(std::string_view service, std::string_view name) {
  for (const OperationShape& shape : shapes_of(service)) {
    if (shape.operation == name) return shape.input;
  }
  return nullptr;
}

std::vector<Operation> make_operations() {
  std::vector<Operation> table = {
      {kDynamo, "CreateTable", create_table, true, true},
      {kDynamo, "DescribeTable", describe_table, false},
      {kDynamo, "ListTables", list_tables, false},
      {kDynamo, "UpdateTable", update_table, true, true},
      {kDynamo, "DeleteTable", delete_table, true, true},
      {kDynamo, "UpdateTimeToLive", update_time_to_live, true, true},
      {kDynamo, "DescribeTimeToLive", describe_time_to_live, false},
      {kDynamo, "TagResource", tag_resource, true},
      {kDynamo, "UntagResource", untag_resource, true},
      {kDynamo, "ListTagsOfResource", list_tags_of_resource, false},
      {kDynamo, "PutResourcePolicy", put_resource_policy, true},
      {kDynamo, "GetResourcePolicy", get_resource_policy, false},
      {kDynamo, "DeleteResourcePolicy", delete_resource_policy, true},
      {kDynamo, "UpdateContributorInsights", update_contributor_insights, true},
      {kDynamo, "DescribeContributorInsights", describe_contributor_insights, false},
      {kDynamo, "ListContributorInsights", list_contributor_insights, false},
      {kDynamo, "DescribeLimits", describe_limits, false},
      {kDynamo, "DescribeEndpoints", describe_endpoints, false},
      {kDynamo, "PutItem", put_item, true},
      {kDynamo, "GetItem", get_item, false},
      {kDynamo, "UpdateItem", update_item, true},
      {kDynamo, "DeleteItem", delete_item, true},
      {kDynamo, "Query", query, false},
      {kDynamo, "Scan", scan, false},
      {kDynamo, "BatchGetItem", batch_get_item, false},
      {kDynamo, "BatchWriteItem", batch_write_item, true},
      {kDynamo, "TransactWriteItems", transact_write_items, true},
      {kDynamo, "TransactGetItems", transact_get_items, false},
      {kDynamo, "ExecuteStatement", execute_statement, true},
      {kDynamo, "BatchExecuteStatement", batch_execute_statement, true},
      {kDynamo, "ExecuteTransaction", execute_transaction, true},
      {kStreams, "ListStreams", list_streams, false},
      {kStreams, "DescribeStream", describe_stream, false},
      {kStreams, "GetShardIterator", get_shard_iterator, false},
      {kStreams, "GetRecords", get_records, false},
      {kScalingService, "RegisterScalableTarget", register_scalable_target, true, true},
      {kScalingService, "DeregisterScalableTarget", deregister_scalable_target, true, true},
      {kScalingService, "DescribeScalableTargets", describe_scalable_targets, false},
      {kScalingService, "DescribeScalingActivities", describe_scaling_activities, false},
      {kScalingService, "PutScalingPolicy", put_scaling_policy, true, true},
      {kScalingService, "DeleteScalingPolicy", delete_scaling_policy, true, true},
      {kScalingService, "DescribeScalingPolicies", describe_scaling_policies, false},
  };
  for (Operation& operation : table) operation.shape = shape_of(operation.service, operation.name);
  return table;
}

}  // namespace

std::span<const Operation> operations() {
  static const std::vector<Operation> table = make_operations();
  return table;
}

const Operation* find_operation(std::string_view service, std::string_view name) {
  // Two services may have operations of one name.
  static const auto by_name = [] {
    std::unordered_multimap<std::string_view, const Operation*> map;
    for (const Operation& operation : operations()) map.emplace(operation.name, &operation);
    return map;
  }();
  const auto [begin, end] = by_name.equal_range(name);
  const auto at =
      std::find_if(begin, end, [&](const auto& entry) { return entry.second->service == service; });
  return at != end ? at->second : nullptr;
}

void check_shape(const Request& request, std::span<const std::string_view> skip) {
  const auto violations = find_violations(request.body, *request.shape, skip);
  if (violations.empty()) return;
  std::vector<std::string> texts;
  for (const Violation& violation : violations) texts.push_back(violation.text);
  throw_violations(texts);
}

}  // namespace stator::ops
