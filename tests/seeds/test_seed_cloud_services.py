"""The fourth document is one page of a collection on cloud services: orders, a transaction, an index, a stream bound to
a function, optimistic locking. Its JavaScript is in tests/sdk/test/seed_cloud_services.test.js."""

from decimal import Decimal

import boto3
import pytest
from boto3.dynamodb.conditions import Key


@pytest.fixture
def table(create_table):
    create_table("Orders", "PK", "SK")
    dynamodb = boto3.resource("dynamodb", region_name="us-east-1")
    return dynamodb.Table("Orders")


def test_orders_of_a_user_without_the_profile(table):
    table.put_item(Item={
        "PK": "USER#alice",
        "SK": "PROFILE",
        "name": "Alice",
        "email": "alice@example.com",
    })
    # The document writes 59.99 here, a float, which boto3 refuses for every number.
    with pytest.raises(TypeError, match="Float types are not supported"):
        table.put_item(Item={"PK": "USER#alice", "SK": "ORDER#2024-01-15#ord-001", "total": 59.99})
    table.put_item(Item={
        "PK": "USER#alice",
        "SK": "ORDER#2024-01-15#ord-001",
        "total": Decimal("59.99"),
        "status": "shipped",
    })

    response = table.query(
        KeyConditionExpression=Key("PK").eq("USER#alice") & Key("SK").begins_with("ORDER#"),
    )
    orders = response["Items"]
    assert orders == [{
        "PK": "USER#alice", "SK": "ORDER#2024-01-15#ord-001", "total": Decimal("59.99"), "status": "shipped"}]


def test_a_batch_writer_takes_any_number_of_items(table):
    items = [{"PK": f"USER#{i % 7}", "SK": f"ORDER#{i:03d}"} for i in range(60)]
    with table.batch_writer() as batch:
        for item in items:
            batch.put_item(Item=item)
    assert sorted(table.scan()["Items"], key=lambda item: item["SK"]) == items


def ship_order():
    dynamodb_client = boto3.client("dynamodb")
    dynamodb_client.transact_write_items(
        TransactItems=[
            {
                "Update": {
                    "TableName": "Orders",
                    "Key": {"PK": {"S": "USER#alice"}, "SK": {"S": "ORDER#ord-001"}},
                    "UpdateExpression": "SET #s = :new_status",
                    "ConditionExpression": "#s = :expected",
                    "ExpressionAttributeNames": {"#s": "status"},
                    "ExpressionAttributeValues": {
                        ":new_status": {"S": "shipped"},
                        ":expected": {"S": "processing"},
                    },
                }
            },
            {
                "Put": {
                    "TableName": "Orders",
                    "Item": {
                        "PK": {"S": "SHIPMENT#ship-099"},
                        "SK": {"S": "ORDER#ord-001"},
                        "carrier": {"S": "UPS"},
                    },
                }
            },
        ]
    )


def test_a_transaction_changes_both_items(table):
    table.put_item(Item={"PK": "USER#alice", "SK": "ORDER#ord-001", "status": "processing"})
    ship_order()
    assert table.get_item(Key={"PK": "USER#alice", "SK": "ORDER#ord-001"})["Item"]["status"] == "shipped"
    assert table.get_item(Key={"PK": "SHIPMENT#ship-099", "SK": "ORDER#ord-001"})["Item"]["carrier"] == "UPS"


def test_a_transaction_whose_condition_fails_changes_nothing(table, refused):
    table.put_item(Item={"PK": "USER#alice", "SK": "ORDER#ord-001", "status": "cancelled"})
    with refused(
        "TransactionCanceledException",
        "Transaction cancelled, please refer cancellation reasons for specific reasons [ConditionalCheckFailed, None]",
    ) as error:
        ship_order()
    assert error.response["CancellationReasons"] == [
        {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}, {"Code": "None"}]
    assert table.scan()["Items"] == [{"PK": "USER#alice", "SK": "ORDER#ord-001", "status": "cancelled"}]


def wait_for_index(client, table_name, index_name, attempts=2000):
    for _ in range(attempts):
        description = client.describe_table(TableName=table_name)["Table"]
        for index in description.get("GlobalSecondaryIndexes", []):
            if index["IndexName"] == index_name and index["IndexStatus"] == "ACTIVE":
                return
    raise AssertionError(f"index {index_name} did not become active")


def take_one(table):
    table.update_item(
        Key={"PK": "PRODUCT#sku-100", "SK": "INVENTORY"},
        UpdateExpression="SET quantity = quantity - :dec",
        ConditionExpression="quantity >= :dec",
        ExpressionAttributeValues={":dec": 1},
    )


def test_stock_never_goes_below_zero(table, refused):
    key = {"PK": "PRODUCT#sku-100", "SK": "INVENTORY"}
    table.put_item(Item={**key, "quantity": 2})
    take_one(table)
    take_one(table)
    with refused("ConditionalCheckFailedException", "The conditional request failed"):
        take_one(table)
    assert table.get_item(Key=key)["Item"]["quantity"] == 0


def test_stock_that_is_not_there_fails_the_condition(table, refused):
    with refused("ConditionalCheckFailedException", "The conditional request failed"):
        take_one(table)
    assert table.scan()["Count"] == 0


# The commands of the AWS CLI

CREATE_ORDERS = r"""
aws dynamodb create-table \
  --table-name Orders \
  --attribute-definitions \
    AttributeName=PK,AttributeType=S \
    AttributeName=SK,AttributeType=S \
  --key-schema \
    AttributeName=PK,KeyType=HASH \
    AttributeName=SK,KeyType=RANGE \
  --billing-mode PAY_PER_REQUEST"""


def test_create_a_table(sh):
    created = sh(CREATE_ORDERS).json["TableDescription"]
    assert created["TableName"] == "Orders"
    assert created["TableArn"].endswith(":table/Orders")
    assert created["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


ADD_INDEX = r"""
aws dynamodb update-table \
  --table-name Orders \
  --attribute-definitions AttributeName=GSI1PK,AttributeType=S AttributeName=GSI1SK,AttributeType=S \
  --global-secondary-index-updates '[{
    "Create": {
      "IndexName": "GSI1",
      "KeySchema": [
        {"AttributeName": "GSI1PK", "KeyType": "HASH"},
        {"AttributeName": "GSI1SK", "KeyType": "RANGE"}
      ],
      "Projection": {"ProjectionType": "ALL"}
    }
  }]'"""


def test_an_index_added_later_finds_the_items_that_were_there(table, client, sh):
    for day, status in (("2024-01-15", "shipped"), ("2024-01-16", "shipped"), ("2024-02-01", "shipped"),
                        ("2024-01-17", "pending")):
        table.put_item(Item={"PK": "USER#alice", "SK": f"ORDER#{day}", "GSI1PK": f"STATUS#{status}", "GSI1SK": day})
    table.put_item(Item={"PK": "USER#alice", "SK": "PROFILE"})

    updated = sh(ADD_INDEX).json["TableDescription"]
    assert updated["GlobalSecondaryIndexes"][0]["IndexStatus"] == "CREATING"
    wait_for_index(client, "Orders", "GSI1")

    # Query the GSI
    response = table.query(
        IndexName="GSI1",
        KeyConditionExpression=Key("GSI1PK").eq("STATUS#shipped") & Key("GSI1SK").begins_with("2024-01"),
    )
    assert [item["SK"] for item in response["Items"]] == ["ORDER#2024-01-15", "ORDER#2024-01-16"]


# The stream and its function

BIND_FUNCTION = r"""
aws lambda create-event-source-mapping \
  --function-name process-order-changes \
  --event-source-arn arn:aws:dynamodb:us-east-1:123456789012:table/Orders/stream/2024-01-01T00:00:00.000 \
  --starting-position LATEST \
  --batch-size 100"""


def test_a_function_bound_to_a_stream_receives_its_changes(functions):
    # The ARN of the document ends with the time its author enabled the stream; here it is that of this table.
    with functions("process-order-changes") as bound:
        arn = bound.create_table_with_stream("Orders")
        mapping = bound.sh(BIND_FUNCTION.replace(
            "arn:aws:dynamodb:us-east-1:123456789012:table/Orders/stream/2024-01-01T00:00:00.000", arn)).json
        assert mapping["BatchSize"] == 100
        assert mapping["StartingPosition"] == "LATEST"
        assert mapping["FunctionArn"].endswith(":function:process-order-changes")
        bound.wait_until_enabled(mapping["UUID"])
        bound.table("Orders").put_item(Item={"PK": "USER#alice", "SK": "ORDER#ord-001", "status": "processing"})
        record = bound.next_record()
        assert (record["eventName"], record["eventSource"]) == ("INSERT", "aws:dynamodb")
        assert record["dynamodb"]["NewImage"]["status"] == {"S": "processing"}
        assert record["eventSourceARN"] == arn
