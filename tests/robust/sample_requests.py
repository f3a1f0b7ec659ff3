"""Requests that the service would take, or nearly: what malformed ones are made from."""

TABLE = "Target"
ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/Target"

TARGET = {
    "TableName": TABLE,
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": kind}
                             for name, kind in (("pk", "S"), ("sk", "N"), ("g", "S"))],
    "GlobalSecondaryIndexes": [{"IndexName": "ByG", "KeySchema": [{"AttributeName": "g", "KeyType": "HASH"}],
                                "Projection": {"ProjectionType": "ALL"}}],
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    "BillingMode": "PAY_PER_REQUEST",
}
ITEM = {"pk": {"S": "a"}, "sk": {"N": "1"}, "g": {"S": "x"}, "l": {"L": [{"N": "1"}, {"M": {"b": {"B": "AAAA"}}}]},
        "ss": {"SS": ["x", "y"]}, "n": {"N": "7"}}
KEY = {"pk": {"S": "a"}, "sk": {"N": "1"}}
AT = {"TableName": TABLE, "Key": KEY}
NAMES = {"#n": "n"}
VALUES = {":v": {"N": "1"}}
CONDITION = {"ConditionExpression": "#n > :v OR attribute_not_exists(#n)", "ExpressionAttributeNames": NAMES,
             "ExpressionAttributeValues": VALUES}

# Requests of meaning, besides those that are made from the shapes alone.
BY_HAND = {
    "CreateTable": [{**TARGET, "TableName": "Made", "Tags": [{"Key": "a", "Value": "b"}]}],
    "UpdateTable": [
        {"TableName": TABLE, "BillingMode": "PROVISIONED",
         "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}},
        {"TableName": TABLE, "AttributeDefinitions": TARGET["AttributeDefinitions"], "GlobalSecondaryIndexUpdates": [
            {"Create": {**TARGET["GlobalSecondaryIndexes"][0], "IndexName": "New"}}]}],
    "PutItem": [{"TableName": TABLE, "Item": ITEM, **CONDITION, "ReturnValues": "ALL_OLD"},
                {"TableName": TABLE, "Item": ITEM, "Expected": {"n": {"Value": {"N": "7"}, "Exists": True}}}],
    "GetItem": [{**AT, "ProjectionExpression": "pk, #n, l[0]", "ExpressionAttributeNames": NAMES},
                {**AT, "AttributesToGet": ["pk", "n"]}],
    "UpdateItem": [{**AT, **CONDITION, "UpdateExpression": "SET #n = :v REMOVE l[1]", "ReturnValues": "UPDATED_NEW"},
                   {**AT, "AttributeUpdates": {"n": {"Value": {"N": "1"}, "Action": "ADD"}}}],
    "DeleteItem": [{**AT, **CONDITION, "ReturnValues": "ALL_OLD"}],
    "Query": [{"TableName": TABLE, "KeyConditionExpression": "pk = :p AND sk > :s", "FilterExpression": "#n = :s",
               "ExpressionAttributeNames": NAMES, "ExpressionAttributeValues": {":p": {"S": "a"}, ":s": {"N": "0"}},
               "Limit": 3, "ExclusiveStartKey": KEY},
              {"TableName": TABLE, "IndexName": "ByG", "Select": "COUNT", "KeyConditions": {
                  "g": {"AttributeValueList": [{"S": "x"}], "ComparisonOperator": "EQ"}}}],
    "Scan": [{"TableName": TABLE, "FilterExpression": "#n = :v", "ExpressionAttributeNames": NAMES,
              "ExpressionAttributeValues": VALUES, "Segment": 0, "TotalSegments": 2, "ExclusiveStartKey": KEY},
             {"TableName": TABLE, "IndexName": "ByG", "ScanFilter": {
                 "n": {"AttributeValueList": [{"N": "7"}], "ComparisonOperator": "EQ"}}}],
    "BatchGetItem": [{"RequestItems": {TABLE: {"Keys": [KEY], "ConsistentRead": True}}}],
    "BatchWriteItem": [{"RequestItems": {TABLE: [{"PutRequest": {"Item": ITEM}}]}},
                       {"RequestItems": {TABLE: [{"DeleteRequest": {"Key": KEY}}]}}],
    "TransactGetItems": [{"TransactItems": [{"Get": {**AT, "ProjectionExpression": "pk"}}]}],
    "TransactWriteItems": [
        {"TransactItems": [{"Put": {"TableName": TABLE, "Item": ITEM}}], "ClientRequestToken": "token"},
        {"TransactItems": [{"Update": {**AT, **CONDITION, "UpdateExpression": "SET #n = :v"}}]},
        {"TransactItems": [{"Delete": {**AT, **CONDITION}}]},
        {"TransactItems": [{"ConditionCheck": {**AT, **CONDITION}}]}],
    "ExecuteStatement": [{"Statement": "SELECT * FROM Target WHERE pk = ?", "Parameters": [{"S": "a"}], "Limit": 2},
                         {"Statement": "UPDATE Target SET n = ? WHERE pk = ? AND sk = ?",
                          "Parameters": [{"N": "1"}, {"S": "a"}, {"N": "1"}]}],
    "BatchExecuteStatement": [{"Statements": [
        {"Statement": "SELECT * FROM Target WHERE pk = ? AND sk = 1", "Parameters": [{"S": "a"}]}]}],
    "ExecuteTransaction": [{"TransactStatements": [
        {"Statement": "DELETE FROM Target WHERE pk = ? AND sk = 1", "Parameters": [{"S": "b"}]}]}],
    "UpdateTimeToLive": [{"TableName": TABLE, "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "ttl"}}],
    "PutResourcePolicy": [{"ResourceArn": ARN, "Policy":
                           '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*",'
                           '"Action":"dynamodb:GetItem","Resource":"*"}]}'}],
    "RegisterScalableTarget": [{"ServiceNamespace": "dynamodb", "ResourceId": "table/Target", "MinCapacity": 1,
                                "ScalableDimension": "dynamodb:table:ReadCapacityUnits", "MaxCapacity": 9}],
}

# What a string is called says what it should hold.
STRINGS = {
    "TableName": TABLE, "IndexName": "ByG", "ResourceArn": ARN, "TableArn": ARN, "SourceTableName": TABLE,
    "TargetTableName": "Restored", "SourceTableArn": ARN, "AttributeName": "g", "StreamArn": ARN + "/stream/x",
    "S": "a", "N": "1", "UpdateExpression": "SET n = :v", "KeyConditionExpression": "pk = :v",
    "ConditionExpression": "n = :v", "FilterExpression": "n = :v", "ProjectionExpression": "n",
    "Statement": "SELECT * FROM Target", "ResourceId": "table/Target", "Value": "x",
}
MAP_KEYS = {"ExpressionAttributeNames": "#n", "ExpressionAttributeValues": ":v", "RequestItems": TABLE}


def from_shape(shape, full, name="", depth=0):
    """A value of the shape: with every member, or with those that are required."""
    if shape.name == "AttributeValue":
        return {"S": "a"}
    if shape.kind == "Structure":
        return {member: from_shape(inner, full, member, depth + 1) for member, (inner, required) in
                shape.members.items() if required or (full and depth < 6)}
    if shape.kind == "List":
        return [from_shape(shape.element, full, name, depth + 1)]
    if shape.kind == "Map":
        if name in ("Key", "Item", "ExclusiveStartKey"):
            return KEY
        return {MAP_KEYS.get(name, "pk"): from_shape(shape.element, full, name, depth + 1)}
    if shape.values:
        return shape.values[0]
    if shape.kind in ("String", "Blob"):
        return STRINGS.get(name, "AAAA" if shape.kind == "Blob" else "x" * max(3, shape.min or 0))
    if shape.kind == "Boolean":
        return True
    return max(1, shape.min or 0)


def requests(operation, shape):
    """Complete requests first."""
    seen = []
    for request in [*BY_HAND.get(operation, ()), from_shape(shape, True), from_shape(shape, False)]:
        if request not in seen:
            seen.append(request)
    return seen
