"""The first document teaches one table for a shop: users and their orders under generic keys. Its Python and its shell
commands are here, its TypeScript is in tests/sdk/test/seed_ecommerce.test.js."""

import json
import os
from datetime import datetime
from decimal import Decimal
from typing import List, Optional

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key

CONDITION_FAILED = "The conditional request failed"


@pytest.fixture
def table(create_table, endpoint, monkeypatch):
    create_table("MyTable", "PK", "SK", gsi={"GSI1": ("GSI1PK", "GSI1SK")})
    # From here on as in the document, which reads its endpoint from the environment.
    monkeypatch.setenv("DYNAMODB_LOCAL_ENDPOINT", endpoint)
    dynamodb = boto3.resource(
        'dynamodb',
        region_name=os.getenv('AWS_REGION', 'us-east-1'),
        endpoint_url=os.getenv('DYNAMODB_LOCAL_ENDPOINT')  # For local dev
    )
    return dynamodb.Table(os.getenv('DYNAMODB_TABLE', 'MyTable'))


def create_user(table, user_id: str, email: str, name: str) -> dict:
    now = datetime.utcnow().isoformat()
    item = {
        'PK': f'USER#{user_id}',
        'SK': 'PROFILE',
        'EntityType': 'User',
        'userId': user_id,
        'email': email,
        'name': name,
        'createdAt': now,
        'updatedAt': now
    }

    table.put_item(
        Item=item,
        ConditionExpression='attribute_not_exists(PK)'
    )
    return item


def get_user(table, user_id: str) -> Optional[dict]:
    response = table.get_item(
        Key={'PK': f'USER#{user_id}', 'SK': 'PROFILE'}
    )
    return response.get('Item')


def get_user_orders(table, user_id: str) -> List[dict]:
    response = table.query(
        KeyConditionExpression=Key('PK').eq(f'USER#{user_id}') & Key('SK').begins_with('ORDER#'),
        ScanIndexForward=False
    )
    return response.get('Items', [])


def update_user(table, user_id: str, **updates) -> dict:
    update_parts = ['#updatedAt = :updatedAt']
    names = {'#updatedAt': 'updatedAt'}
    values = {':updatedAt': datetime.utcnow().isoformat()}

    for key, value in updates.items():
        update_parts.append(f'#{key} = :{key}')
        names[f'#{key}'] = key
        values[f':{key}'] = value

    response = table.update_item(
        Key={'PK': f'USER#{user_id}', 'SK': 'PROFILE'},
        UpdateExpression=f'SET {", ".join(update_parts)}',
        ExpressionAttributeNames=names,
        ExpressionAttributeValues=values,
        ReturnValues='ALL_NEW'
    )
    return response['Attributes']


def delete_user(table, user_id: str) -> None:
    table.delete_item(
        Key={'PK': f'USER#{user_id}', 'SK': 'PROFILE'}
    )


def test_a_created_user_is_read_back(table):
    created = create_user(table, '123', 'john@test.com', 'John')
    assert get_user(table, '123') == created


def test_a_user_that_exists_is_not_overwritten(table, refused):
    created = create_user(table, '123', 'john@test.com', 'John')
    with refused('ConditionalCheckFailedException', CONDITION_FAILED):
        create_user(table, '123', 'other@test.com', 'Other')
    assert get_user(table, '123') == created


def test_a_user_that_does_not_exist_is_none(table):
    assert get_user(table, 'nobody') is None


def test_orders_of_a_user_come_newest_first(table):
    create_user(table, '123', 'john@test.com', 'John')
    for number, total in (('2024-001', '99.99'), ('2024-002', '49.99')):
        table.put_item(Item={'PK': 'USER#123', 'SK': f'ORDER#{number}', 'total': Decimal(total)})
    orders = get_user_orders(table, '123')
    assert [order['SK'] for order in orders] == ['ORDER#2024-002', 'ORDER#2024-001']
    assert orders[1]['total'] == Decimal('99.99')
    assert get_user_orders(table, '456') == []


def test_an_update_answers_with_the_whole_new_item(table):
    created = create_user(table, '123', 'john@test.com', 'John')
    updated = update_user(table, '123', name='Johnny', email='johnny@test.com')
    assert updated == {**created, 'name': 'Johnny', 'email': 'johnny@test.com', 'updatedAt': updated['updatedAt']}
    assert get_user(table, '123') == updated


def test_an_update_creates_what_is_not_there(table):
    updated = update_user(table, '7', name='Ghost')
    assert updated == {'PK': 'USER#7', 'SK': 'PROFILE', 'name': 'Ghost', 'updatedAt': updated['updatedAt']}


def test_a_deleted_user_is_gone_and_deleting_again_is_no_error(table):
    create_user(table, '123', 'john@test.com', 'John')
    delete_user(table, '123')
    assert get_user(table, '123') is None
    delete_user(table, '123')


def test_the_access_patterns_of_the_schema(table):
    with table.batch_writer() as batch:
        for item in (
            {'PK': 'USER#123', 'SK': 'PROFILE', 'EntityType': 'User', 'name': 'John', 'email': 'john@test.com'},
            {'PK': 'USER#123', 'SK': 'ADDRESS#1', 'EntityType': 'Address', 'street': '123 Main', 'city': 'NYC'},
            {'PK': 'USER#123', 'SK': 'ORDER#2024-001', 'GSI1PK': 'ORDER#2024-001', 'GSI1SK': 'ORDER',
             'EntityType': 'Order', 'total': Decimal('99.99'), 'status': 'shipped'},
            {'PK': 'USER#123', 'SK': 'ORDER#2024-002', 'EntityType': 'Order', 'total': Decimal('49.99'),
             'status': 'pending'},
            {'PK': 'ORDER#2024-001', 'SK': 'ITEM#1', 'GSI1PK': 'ORDER#2024-001', 'GSI1SK': 'ITEM#1',
             'productId': 'PROD#456', 'qty': 2},
            {'PK': 'PROD#456', 'SK': 'PRODUCT', 'EntityType': 'Product', 'name': 'Widget', 'price': Decimal('29.99')},
        ):
            batch.put_item(Item=item)

    def sort_keys(**query):
        return [item['SK'] for item in table.query(**query)['Items']]

    user = Key('PK').eq('USER#123')
    assert sort_keys(KeyConditionExpression=user & Key('SK').eq('PROFILE')) == ['PROFILE']
    assert sort_keys(KeyConditionExpression=user & Key('SK').begins_with('ADDRESS')) == ['ADDRESS#1']
    assert sort_keys(KeyConditionExpression=user & Key('SK').begins_with('ORDER')) == [
        'ORDER#2024-001', 'ORDER#2024-002']
    # The order and its items, which have different partition keys, meet in the index; items without its keys do not.
    by_order = table.query(IndexName='GSI1', KeyConditionExpression=Key('GSI1PK').eq('ORDER#2024-001'))
    assert [(item['PK'], item['SK']) for item in by_order['Items']] == [
        ('ORDER#2024-001', 'ITEM#1'), ('USER#123', 'ORDER#2024-001')]
    assert table.scan(IndexName='GSI1')['Count'] == 2
    assert sort_keys(KeyConditionExpression=Key('PK').eq('PROD#456') & Key('SK').eq('PRODUCT')) == ['PRODUCT']
    assert table.scan(FilterExpression=Attr('EntityType').eq('Order'))['ScannedCount'] == 6


# The commands of the AWS CLI

CREATE_MY_TABLE = r"""
aws dynamodb create-table \
  --endpoint-url http://localhost:8000 \
  --table-name MyTable \
  --attribute-definitions \
    AttributeName=PK,AttributeType=S \
    AttributeName=SK,AttributeType=S \
    AttributeName=GSI1PK,AttributeType=S \
    AttributeName=GSI1SK,AttributeType=S \
  --key-schema \
    AttributeName=PK,KeyType=HASH \
    AttributeName=SK,KeyType=RANGE \
  --global-secondary-indexes \
    'IndexName=GSI1,KeySchema=[{AttributeName=GSI1PK,KeyType=HASH},{AttributeName=GSI1SK,KeyType=RANGE}],Projection={ProjectionType=ALL}' \
  --billing-mode PAY_PER_REQUEST"""

def test_create_a_table_at_an_endpoint_with_an_index_in_short_syntax(sh):
    created = sh(CREATE_MY_TABLE).json["TableDescription"]
    assert created["GlobalSecondaryIndexes"][0]["KeySchema"] == [
        {"AttributeName": "GSI1PK", "KeyType": "HASH"}, {"AttributeName": "GSI1SK", "KeyType": "RANGE"}]
    sh("aws dynamodb wait table-exists --table-name MyTable")
    assert sh("aws dynamodb list-tables").json == {"TableNames": ["MyTable"]}


def test_create_describe_and_delete_a_table_from_a_file(sh, tmp_path):
    (tmp_path / "table.json").write_text(json.dumps({
        "TableName": "MyTable",
        "AttributeDefinitions": [
            {"AttributeName": "PK", "AttributeType": "S"}, {"AttributeName": "SK", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
        "BillingMode": "PAY_PER_REQUEST",
    }))
    assert sh("aws dynamodb create-table --cli-input-json file://table.json").code == 0
    assert sh("aws dynamodb describe-table --table-name MyTable").json["Table"]["TableStatus"] == "ACTIVE"
    assert sh("aws dynamodb delete-table --table-name MyTable").json["TableDescription"]["TableStatus"] == "DELETING"
    assert sh("aws dynamodb wait table-not-exists --table-name MyTable").code == 0
    assert sh("aws dynamodb list-tables").json == {"TableNames": []}


def test_the_quick_reference(sh):
    sh(CREATE_MY_TABLE)
    put = sh("""aws dynamodb put-item --table-name MyTable --item '{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}}'""")
    assert (put.code, put.text) == (0, "")
    item = {"PK": {"S": "USER#1"}, "SK": {"S": "PROFILE"}}
    get = """aws dynamodb get-item --table-name MyTable --key '{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}}'"""
    assert sh(get).json == {"Item": item}
    queried = sh(r"""
aws dynamodb query --table-name MyTable \
  --key-condition-expression "PK = :pk" \
  --expression-attribute-values '{":pk":{"S":"USER#1"}}'""").json
    assert queried == {"Items": [item], "Count": 1, "ScannedCount": 1, "ConsumedCapacity": None}
    scanned = sh("aws dynamodb scan --table-name MyTable --limit 10").json
    assert scanned["Items"] == [item]
    delete = """aws dynamodb delete-item --table-name MyTable --key '{"PK":{"S":"USER#1"},"SK":{"S":"PROFILE"}}'"""
    assert sh(delete).code == 0
    gone = sh(get)
    assert (gone.code, gone.text) == (0, "")
