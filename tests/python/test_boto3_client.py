"""What boto3 itself builds on: its error classes, paginators, waiters and types."""

from decimal import Decimal

import pytest
from boto3.dynamodb.types import Binary


@pytest.fixture
def table(create_table):
    return create_table("Things", "PK", "SK")


def test_errors_have_classes(client):
    with pytest.raises(client.exceptions.ResourceNotFoundException) as error:
        client.describe_table(TableName="nothing")
    assert error.value.response["Error"]["Message"] == "Requested resource not found: Table: nothing not found"
    assert error.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert error.value.response["ResponseMetadata"]["RequestId"]


def test_a_table_in_use_is_not_created_again(client, table):
    with pytest.raises(client.exceptions.ResourceInUseException) as error:
        client.create_table(
            TableName="Things",
            KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "PK", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
    assert error.value.response["Error"]["Message"] == "Table already exists: Things"


def test_waiters_see_a_table_come_and_go(client, table):
    client.get_waiter("table_exists").wait(TableName="Things", WaiterConfig={"Delay": 1, "MaxAttempts": 5})
    client.delete_table(TableName="Things")
    client.get_waiter("table_not_exists").wait(TableName="Things", WaiterConfig={"Delay": 1, "MaxAttempts": 5})


def test_every_type_is_read_back_as_written(table):
    item = {
        "PK": "types", "SK": "1",
        "string": "žluťoučký kůň 🐎", "empty": "",
        "number": Decimal("12345678901234567890123456789012345678"), "small": Decimal("-1E-130"),
        "binary": Binary(bytes(range(256))), "true": True, "null": None,
        "list": ["a", Decimal(1), {"deep": [None, False]}], "map": {"a": {"b": {"c": "d"}}},
        "strings": {"a", "b"}, "numbers": {Decimal(1), Decimal("2.5")}, "binaries": {Binary(b"1"), Binary(b"2")},
    }
    table.put_item(Item=item)
    assert table.get_item(Key={"PK": "types", "SK": "1"})["Item"] == item


def test_paginators_see_every_item_once(client, table):
    with table.batch_writer() as batch:
        for i in range(57):
            batch.put_item(Item={"PK": f"{i % 3}", "SK": f"{i:02d}"})

    def keys(pages):
        return [item["SK"]["S"] for page in pages for item in page["Items"]]

    scanned = client.get_paginator("scan").paginate(TableName="Things", PaginationConfig={"PageSize": 10})
    assert sorted(keys(scanned)) == [f"{i:02d}" for i in range(57)]
    queried = client.get_paginator("query").paginate(
        TableName="Things", KeyConditionExpression="PK = :pk", ExpressionAttributeValues={":pk": {"S": "1"}},
        PaginationConfig={"PageSize": 4})
    assert keys(queried) == [f"{i:02d}" for i in range(57) if i % 3 == 1]


def test_segments_of_a_scan_share_the_table(client, table):
    with table.batch_writer() as batch:
        for i in range(100):
            batch.put_item(Item={"PK": f"{i:02d}", "SK": "x"})
    found = []
    for segment in range(4):
        items = client.scan(TableName="Things", Segment=segment, TotalSegments=4)["Items"]
        found += [item["PK"]["S"] for item in items]
    assert sorted(found) == [f"{i:02d}" for i in range(100)]


def test_a_failed_condition_can_return_the_item(client, table):
    table.put_item(Item={"PK": "a", "SK": "b", "v": 1})
    with pytest.raises(client.exceptions.ConditionalCheckFailedException):
        client.put_item(TableName="Things", Item={"PK": {"S": "a"}, "SK": {"S": "b"}},
                        ConditionExpression="attribute_not_exists(PK)")


def test_a_transaction_reads_several_items_at_once(client, table):
    table.put_item(Item={"PK": "a", "SK": "1"})
    answer = client.transact_get_items(TransactItems=[
        {"Get": {"TableName": "Things", "Key": {"PK": {"S": pk}, "SK": {"S": "1"}}}} for pk in ("a", "b")])
    assert answer["Responses"] == [{"Item": {"PK": {"S": "a"}, "SK": {"S": "1"}}}, {}]


def test_local_indexes_and_capacity_units(client):
    client.create_table(
        TableName="Local",
        KeySchema=[{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", "L")],
        LocalSecondaryIndexes=[{
            "IndexName": "ByL",
            "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "L", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }],
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
    )
    for sort_key, other in (("1", "z"), ("2", "y"), ("3", None)):
        item = {"PK": {"S": "p"}, "SK": {"S": sort_key}}
        if other:
            item["L"] = {"S": other}
        client.put_item(TableName="Local", Item=item)
    answer = client.query(
        TableName="Local", IndexName="ByL", KeyConditionExpression="PK = :p", ConsistentRead=True,
        ExpressionAttributeValues={":p": {"S": "p"}}, ReturnConsumedCapacity="INDEXES")
    assert [item["SK"]["S"] for item in answer["Items"]] == ["2", "1"]
    assert answer["ConsumedCapacity"] == {
        "TableName": "Local", "CapacityUnits": 1.0, "Table": {"CapacityUnits": 0.0},
        "LocalSecondaryIndexes": {"ByL": {"CapacityUnits": 1.0}}}
