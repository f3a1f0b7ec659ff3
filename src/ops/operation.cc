#include "ops/operation.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace stator::ops {

namespace {

constexpr std::string_view kDynamo = "DynamoDB_20120810";

const Shape* shape_of(std::span<const OperationShape> shapes, std::string_view name) {
  for (const OperationShape& shape : shapes) {
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
  };
  for (Operation& operation : table) operation.shape = shape_of(data_operation_shapes(), operation.name);
  return table;
}

}  // namespace

std::span<const Operation> operations() {
  static const std::vector<Operation> table = make_operations();
  return table;
}

const Operation* find_operation(std::string_view service, std::string_view name) {
  static const auto by_name = [] {
    std::unordered_map<std::string_view, const Operation*> map;
    for (const Operation& operation : operations()) map.emplace(operation.name, &operation);
    return map;
  }();
  const auto at = by_name.find(name);
  return at != by_name.end() && at->second->service == service ? at->second : nullptr;
}

void check_shape(const Request& request, std::span<const std::string_view> skip) {
  const auto violations = find_violations(request.body, *request.shape, skip);
  if (violations.empty()) return;
  std::vector<std::string> texts;
  for (const Violation& violation : violations) texts.push_back(violation.text);
  throw_violations(texts);
}

}  // namespace stator::ops
