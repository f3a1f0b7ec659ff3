"""The Python of a document written for people who operate tables: single-table design and batches."""

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
