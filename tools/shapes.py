#!/usr/bin/env python3
"""Writes src/ops/shapes_data.cc: the facts of the public API model that the shape layer checks requests against
(operations, members, types, required members, lengths, ranges, patterns, enumerations). No prose is taken over.

usage: tools/shapes.py MODEL.json STREAMS_MODEL.json > src/ops/shapes_data.cc
       tools/shapes.py --scaling MODEL.json > src/ops/shapes_scaling.cc     (Application Auto Scaling)
"""
import json
import sys

# The order in which the service prints sets of values, where it was seen to differ from the model's.
ENUM_ORDER = {
    "ReturnValue": ["ALL_NEW", "UPDATED_OLD", "ALL_OLD", "NONE", "UPDATED_NEW"],
    "ConditionalOperator": ["OR", "AND"],
    "Select": ["SPECIFIC_ATTRIBUTES", "COUNT", "ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"],
    "ComparisonOperator": ["IN", "NULL", "BETWEEN", "LT", "NOT_CONTAINS", "EQ", "GT", "NOT_NULL", "NE", "LE",
                           "BEGINS_WITH", "GE", "CONTAINS"],
    "ScalarAttributeType": ["B", "N", "S"],
    "KeyType": ["HASH", "RANGE"],
    "ProjectionType": ["ALL", "INCLUDE", "KEYS_ONLY"],
    "BillingMode": ["PROVISIONED", "PAY_PER_REQUEST"],
    "AttributeAction": ["ADD", "DELETE", "PUT"],
    "InputCompressionType": ["ZSTD", "NONE", "GZIP"],
}

# The order in which the service lists violations of several members, where it was seen (dynalite's and paritysuite's
# records); members not named follow in the model's order.
MEMBER_ORDER = {
    "PutItemInput": ["ReturnConsumedCapacity", "ReturnValues", "TableName", "Item", "ConditionalOperator", "Expected",
                     "ReturnItemCollectionMetrics"],
    "UpdateItemInput": ["ReturnConsumedCapacity", "TableName", "ReturnItemCollectionMetrics", "ReturnValues",
                        "ConditionalOperator", "Key"],
    "DeleteItemInput": ["ReturnConsumedCapacity", "TableName", "ReturnValues", "ReturnItemCollectionMetrics", "Key",
                        "ConditionalOperator"],
    "GetItemInput": ["ReturnConsumedCapacity", "AttributesToGet", "TableName", "Key"],
    "QueryInput": ["Select", "IndexName", "ReturnConsumedCapacity", "QueryFilter", "TableName", "ConditionalOperator",
                   "AttributesToGet", "Limit", "KeyConditions"],
    "ScanInput": ["Select", "IndexName", "TotalSegments", "ReturnConsumedCapacity", "TableName",
                  "ConditionalOperator", "ScanFilter", "Segment", "Limit", "AttributesToGet"],
    "TransactWriteItemsInput": ["ClientRequestToken", "TransactItems"],
    "CreateTableInput": ["AttributeDefinitions", "TableName", "BillingMode", "ProvisionedThroughput", "KeySchema",
                         "GlobalSecondaryIndexes", "LocalSecondaryIndexes"],
    "ProvisionedThroughput": ["WriteCapacityUnits", "ReadCapacityUnits"],
}

# What is served of Application Auto Scaling.
SCALING_OPERATIONS = ["RegisterScalableTarget", "DescribeScalableTargets", "DeregisterScalableTarget",
                      "PutScalingPolicy", "DescribeScalingPolicies", "DeleteScalingPolicy",
                      "DescribeScalingActivities"]

KINDS = {"string": "kString", "blob": "kBlob", "boolean": "kBoolean", "integer": "kInteger", "long": "kLong",
         "double": "kDouble", "float": "kDouble", "timestamp": "kTimestamp", "list": "kList", "map": "kMap",
         "structure": "kStructure"}


def quoted(text):
    return json.dumps(text)


def main():
    scaling = sys.argv[1] == "--scaling"
    models = [json.load(open(path)) for path in sys.argv[2 if scaling else 1:3]]
    prefixes = ("kScaling",) if scaling else ("kData", "kStreams")
    functions = ("scaling_operation_shapes",) if scaling else ("data_operation_shapes", "streams_operation_shapes")
    out = ["// Written by tools/shapes.py from the public API model. Do not edit.", "// clang-format off",
           '#include "ops/shape.h"', "", "namespace stator::ops {", "", "namespace {", ""]
    tables = []
    for prefix, model in zip(prefixes, models):
        shapes = model["shapes"]
        used = {}

        def visit(name):
            if name in used:
                return
            shape = shapes[name]
            used[name] = shape
            for member in shape.get("members", {}).values():
                visit(member["shape"])
            for inner in ("member", "key", "value"):
                if inner in shape:
                    visit(shape[inner]["shape"])

        operations = sorted(SCALING_OPERATIONS if scaling else model["operations"])
        for operation in operations:
            visit(model["operations"][operation]["input"]["shape"])
        names = list(used)
        for name in names:
            out.append(f"extern const Shape {prefix}{name};")
        out.append("")
        for name in names:
            shape = used[name]
            kind = KINDS[shape["type"]]
            fields = [f".kind = ShapeKind::{kind}", f".name = {quoted(name)}"]
            if shape["type"] == "structure":
                order = MEMBER_ORDER.get(name, [])
                members = shape["members"]
                ordered = [m for m in order if m in members] + [m for m in members if m not in order]
                required = set(shape.get("required", []))
                rows = ", ".join(f"{{{quoted(m)}, &{prefix}{members[m]['shape']}, {str(m in required).lower()}}}"
                                 for m in ordered)
                if ordered:
                    out.append(f"const Member {prefix}{name}Members[] = {{{rows}}};")
                    fields.append(f".members = {{{prefix}{name}Members, {len(ordered)}}}")
            if shape["type"] == "list":
                fields.append(f".element = &{prefix}{shape['member']['shape']}")
            if shape["type"] == "map":
                fields.append(f".element = &{prefix}{shape['value']['shape']}")
                fields.append(f".key = &{prefix}{shape['key']['shape']}")
            if "min" in shape:
                fields.append(f".min = {int(shape['min'])}")
            if "max" in shape:
                fields.append(f".max = {int(shape['max'])}")
            if "pattern" in shape:
                fields.append(f".pattern = {quoted(shape['pattern'])}")
            if "enum" in shape:
                values = ENUM_ORDER.get(name, shape["enum"])
                out.append(f"constexpr std::string_view {prefix}{name}Values[] = {{"
                           + ", ".join(quoted(v) for v in values) + "};")
                fields.append(f".values = {{{prefix}{name}Values, {len(values)}}}")
            out.append(f"const Shape {prefix}{name}{{{', '.join(fields)}}};")
        out.append("")
        rows = ", ".join(f"{{{quoted(o)}, &{prefix}{model['operations'][o]['input']['shape']}}}" for o in operations)
        out.append(f"const OperationShape {prefix}Operations[] = {{{rows}}};")
        tables.append((prefix, len(operations)))
    out += ["", "}  // namespace", ""]
    for (prefix, count), function in zip(tables, functions):
        out.append(f"std::span<const OperationShape> {function}() {{ return {{{prefix}Operations, {count}}}; }}")
    out += ["", "}  // namespace stator::ops"]
    print("\n".join(out))


main()
