"""The second document is written for people who operate tables: shell commands, a single table, batches, a stream and a
function that it feeds, time to live."""

import time
from decimal import Decimal

import boto3
import pytest

FLOATS = 'Float types are not supported. Use Decimal types instead.'


@pytest.fixture
def table(create_table):
    create_table('AppData', 'PK', 'SK', gsi={'GSI1': ('GSI1PK', 'GSI1SK')})
    dynamodb = boto3.resource('dynamodb')
    return dynamodb.Table('AppData')


def put_order(table, total):
    table.put_item(Item={
        'PK': 'CUSTOMER#C001',
        'SK': 'ORDER#2024-01-15#O001',
        'total': total,
        'status': 'shipped',
        'GSI1PK': 'ORDER#O001',
        'GSI1SK': 'CUSTOMER#C001',
        'entity_type': 'Order'
    })


def test_customers_and_orders_share_a_table(table):
    # Store a customer
    table.put_item(Item={
        'PK': 'CUSTOMER#C001',
        'SK': 'PROFILE',
        'name': 'Alice Johnson',
        'email': 'alice@example.com',
        'GSI1PK': 'CUSTOMERS',
        'GSI1SK': 'Alice Johnson',
        'entity_type': 'Customer'
    })
    put_order(table, Decimal('149.99'))

    # Query all orders for a customer (sorted by date)
    response = table.query(
        KeyConditionExpression='PK = :pk AND begins_with(SK, :sk)',
        ExpressionAttributeValues={':pk': 'CUSTOMER#C001', ':sk': 'ORDER#'}
    )
    assert response['Items'] == [{
        'PK': 'CUSTOMER#C001',
        'SK': 'ORDER#2024-01-15#O001',
        'total': Decimal('149.99'),
        'status': 'shipped',
        'GSI1PK': 'ORDER#O001',
        'GSI1SK': 'CUSTOMER#C001',
        'entity_type': 'Order'
    }]
    assert response['Count'] == response['ScannedCount'] == 1
    assert 'LastEvaluatedKey' not in response


def test_the_document_gives_boto3_a_float_which_it_refuses(table):
    with pytest.raises(TypeError, match=FLOATS):
        put_order(table, 149.99)
    assert table.scan()['Count'] == 0


def test_a_batch_writer_splits_a_hundred_items_into_batches(table):
    with table.batch_writer() as batch:
        for i in range(100):
            batch.put_item(Item={
                'PK': f'PRODUCT#P{i:04d}',
                'SK': 'DETAILS',
                'name': f'Product {i}',
                'price': Decimal(str(round(9.99 + i * 0.5, 2)))
            })

    response = table.scan()
    assert response['Count'] == 100
    prices = {item['PK']: item['price'] for item in response['Items']}
    assert prices == {f'PRODUCT#P{i:04d}': Decimal(str(round(9.99 + i * 0.5, 2))) for i in range(100)}


def test_the_documents_prices_in_a_batch_are_floats_which_boto3_refuses(table):
    with pytest.raises(TypeError, match=FLOATS):
        with table.batch_writer() as batch:
            batch.put_item(Item={'PK': 'PRODUCT#P0000', 'SK': 'DETAILS', 'price': round(9.99 + 0 * 0.5, 2)})


def test_an_item_carries_the_time_it_expires_at(table):
    expires_at = int(time.time()) + 86400  # 24 hours from now
    table.put_item(Item={
        'PK': 'SESSION#abc123',
        'SK': 'DATA',
        'user_id': 'U001',
        'expires_at': expires_at
    })
    assert table.get_item(Key={'PK': 'SESSION#abc123', 'SK': 'DATA'})['Item']['expires_at'] == expires_at


# The commands of the AWS CLI

CREATE_ORDERS_WITH_TAGS = r"""
aws dynamodb create-table \
  --table-name Orders \
  --attribute-definitions \
    AttributeName=PK,AttributeType=S \
    AttributeName=SK,AttributeType=S \
  --key-schema \
    AttributeName=PK,KeyType=HASH \
    AttributeName=SK,KeyType=RANGE \
  --billing-mode PAY_PER_REQUEST \
  --tags Key=Env,Value=prod"""

CREATE_ORDERS_WITH_INDEX = r"""
aws dynamodb create-table \
  --table-name Orders \
  --attribute-definitions \
    AttributeName=PK,AttributeType=S \
    AttributeName=SK,AttributeType=S \
    AttributeName=GSI1PK,AttributeType=S \
    AttributeName=GSI1SK,AttributeType=S \
  --key-schema \
    AttributeName=PK,KeyType=HASH \
    AttributeName=SK,KeyType=RANGE \
  --global-secondary-indexes '[{
    "IndexName": "GSI1",
    "KeySchema": [
      {"AttributeName":"GSI1PK","KeyType":"HASH"},
      {"AttributeName":"GSI1SK","KeyType":"RANGE"}
    ],
    "Projection": {"ProjectionType":"ALL"},
    "ProvisionedThroughput": {"ReadCapacityUnits":5,"WriteCapacityUnits":5}
  }]' \
  --provisioned-throughput ReadCapacityUnits=5,WriteCapacityUnits=5"""

PUT_ORDER = r"""
aws dynamodb put-item \
  --table-name Orders \
  --item '{
    "PK": {"S": "CUSTOMER#C001"},
    "SK": {"S": "ORDER#2024-01-15#O001"},
    "total": {"N": "149.99"},
    "status": {"S": "pending"}
  }'"""

GET_ORDER = r"""
aws dynamodb get-item \
  --table-name Orders \
  --key '{"PK":{"S":"CUSTOMER#C001"},"SK":{"S":"ORDER#2024-01-15#O001"}}'"""

SHIP_ORDER = r"""
aws dynamodb update-item \
  --table-name Orders \
  --key '{"PK":{"S":"CUSTOMER#C001"},"SK":{"S":"ORDER#2024-01-15#O001"}}' \
  --update-expression "SET #s = :new_status, updated_at = :ts" \
  --condition-expression "#s = :old_status" \
  --expression-attribute-names '{"#s":"status"}' \
  --expression-attribute-values '{":new_status":{"S":"shipped"},":old_status":{"S":"pending"},":ts":{"S":"2024-01-16T10:00:00Z"}}'"""

DELETE_ORDER = r"""
aws dynamodb delete-item \
  --table-name Orders \
  --key '{"PK":{"S":"CUSTOMER#C001"},"SK":{"S":"ORDER#2024-01-15#O001"}}'"""

ORDER = {
    "PK": {"S": "CUSTOMER#C001"}, "SK": {"S": "ORDER#2024-01-15#O001"},
    "total": {"N": "149.99"}, "status": {"S": "pending"},
}

ORDERS_OF_2024 = r"""
aws dynamodb query \
  --table-name Orders \
  --key-condition-expression "PK = :pk AND begins_with(SK, :prefix)" \
  --expression-attribute-values '{":pk":{"S":"CUSTOMER#C001"},":prefix":{"S":"ORDER#2024"}}' \
  --scan-index-forward false \
  --limit 10"""

@pytest.fixture
def orders(create_table):
    create_table("Orders", "PK", "SK")


def test_create_a_table(sh):
    created = sh(CREATE_ORDERS_WITH_TAGS).json["TableDescription"]
    assert created["TableName"] == "Orders"
    assert created["TableArn"].endswith(":table/Orders")
    assert created["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"


def test_the_tags_of_a_table_are_listed(sh):
    arn = sh(CREATE_ORDERS_WITH_TAGS).json["TableDescription"]["TableArn"]
    tags = sh(f"aws dynamodb list-tags-of-resource --resource-arn {arn}").json
    assert tags == {"Tags": [{"Key": "Env", "Value": "prod"}]}


def test_create_a_table_with_provisioned_capacity_and_an_index(sh):
    created = sh(CREATE_ORDERS_WITH_INDEX).json["TableDescription"]
    assert created["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    index = created["GlobalSecondaryIndexes"][0]
    assert index["IndexName"] == "GSI1"
    assert index["ProvisionedThroughput"]["WriteCapacityUnits"] == 5
    assert "BillingModeSummary" not in created


def test_an_order_is_put_read_updated_on_condition_and_deleted(sh, refuses, orders):
    assert sh(PUT_ORDER).code == 0
    assert sh(GET_ORDER).json == {"Item": ORDER}
    assert sh(SHIP_ORDER).code == 0
    assert sh(GET_ORDER).json == {"Item": {
        **ORDER, "status": {"S": "shipped"}, "updated_at": {"S": "2024-01-16T10:00:00Z"}}}
    refuses(SHIP_ORDER, "UpdateItem", "ConditionalCheckFailedException", "The conditional request failed")
    assert sh(DELETE_ORDER).code == 0
    assert sh(GET_ORDER).text == ""


def test_orders_of_a_customer_by_the_beginning_of_their_date(sh, orders, client):
    for day in ("2023-12-31", "2024-01-15", "2024-02-01"):
        client.put_item(TableName="Orders", Item={**ORDER, "SK": {"S": f"ORDER#{day}#O001"}})
    answer = sh(ORDERS_OF_2024.replace("--scan-index-forward false", "--no-scan-index-forward")).json
    assert [item["SK"]["S"] for item in answer["Items"]] == ["ORDER#2024-02-01#O001", "ORDER#2024-01-15#O001"]


def test_the_document_gives_a_flag_a_value_which_the_cli_refuses(sh):
    result = sh(ORDERS_OF_2024)
    assert "Unknown options: false" in result.error
    assert result.code == 252


def test_an_order_by_its_number_in_an_index(sh, client):
    sh(CREATE_ORDERS_WITH_INDEX)
    client.put_item(TableName="Orders", Item=ORDER)
    item = {**ORDER, "GSI1PK": {"S": "ORDER#O001"}, "GSI1SK": {"S": "CUSTOMER#C001"}}
    client.put_item(TableName="Orders", Item={**item, "SK": {"S": "ORDER#2024-01-16#O001"}})
    answer = sh(r"""
aws dynamodb query \
  --table-name Orders \
  --index-name GSI1 \
  --key-condition-expression "GSI1PK = :pk" \
  --expression-attribute-values '{":pk":{"S":"ORDER#O001"}}'""").json
    assert answer["Items"] == [{**item, "SK": {"S": "ORDER#2024-01-16#O001"}}]


def test_enable_a_stream_on_a_table(sh, orders):
    updated = sh(r"""
aws dynamodb update-table \
  --table-name Orders \
  --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES""").json["TableDescription"]
    assert updated["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert updated["LatestStreamArn"] == f"{updated['TableArn']}/stream/{updated['LatestStreamLabel']}"


def test_enable_time_to_live_on_an_attribute(sh, create_table):
    create_table("Sessions", "PK", "SK")
    updated = sh(r"""
aws dynamodb update-time-to-live \
  --table-name Sessions \
  --time-to-live-specification Enabled=true,AttributeName=expires_at""").json
    assert updated == {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expires_at"}}
    described = sh("aws dynamodb describe-time-to-live --table-name Sessions").json["TimeToLiveDescription"]
    assert described["AttributeName"] == "expires_at"
    assert described["TimeToLiveStatus"] in ("ENABLING", "ENABLED")


# The stream and its function

# As in the document, but for what it does with the change.
def handler(event, context):
    for record in event['Records']:
        event_name = record['eventName']  # INSERT, MODIFY, REMOVE
        new_image = record['dynamodb'].get('NewImage', {})
        old_image = record['dynamodb'].get('OldImage', {})

        if event_name == 'MODIFY':
            old_status = old_image.get('status', {}).get('S')
            new_status = new_image.get('status', {}).get('S')
            if old_status != new_status:
                print(f"Status changed: {old_status} -> {new_status}")
                # Trigger downstream processing


def test_the_function_sees_the_change_of_status_in_the_stream(sh, orders, streams, capsys):
    assert sh(r"""
aws dynamodb update-table \
  --table-name Orders \
  --stream-specification StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES""").code == 0
    for command in (PUT_ORDER, SHIP_ORDER, DELETE_ORDER):
        assert sh(command).code == 0
    records = streams('Orders')
    assert [record['eventName'] for record in records] == ['INSERT', 'MODIFY', 'REMOVE']
    capsys.readouterr()
    handler({'Records': records}, None)
    assert capsys.readouterr().out == 'Status changed: pending -> shipped\n'
