"""The third document is a complete guide: keys, indexes, queries, updates, batches, streams. Where the guide itself is
wrong, the test says so and holds what boto3 or the service answers. Its TypeScript is in
tests/sdk/test/seed_complete_guide.test.js."""

import random
import time
from decimal import Decimal

import boto3
import pytest
from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError, ParamValidationError

ATTRIBUTE_MISSING = 'The provided expression refers to an attribute that does not exist in the item'


@pytest.fixture
def app_data(create_table):
    return create_table('AppData', 'PK', 'SK')


@pytest.fixture
def users(create_table):
    return create_table('Users', 'userId')


def put_all(table, items):
    with table.batch_writer() as batch:
        for item in items:
            batch.put_item(Item=item)


def sort_keys(response):
    return [item['SK'] for item in response['Items']]


# Single-table design

def test_access_patterns_of_the_single_table(app_data):
    put_all(app_data, [
        {'PK': 'USER#12345', 'SK': 'METADATA', 'email': 'user@example.com', 'name': 'Jane Doe',
         'createdAt': '2025-01-15T10:00:00Z'},
        {'PK': 'USER#12345', 'SK': 'ORDER#2025-001234', 'orderNumber': 'ORD-2025-001234',
         'totalAmount': Decimal('249.97'), 'status': 'shipped', 'orderDate': '2025-11-25T14:30:00Z'},
        {'PK': 'ORDER#2025-001234', 'SK': 'METADATA', 'userId': 'USER#12345', 'totalAmount': Decimal('249.97'),
         'status': 'shipped'},
        {'PK': 'ORDER#2025-001234', 'SK': 'ITEM#001', 'productId': 'PROD-456', 'quantity': 2,
         'price': Decimal('49.99'), 'name': 'Widget Pro'},
        {'PK': 'PRODUCT#456', 'SK': 'METADATA', 'name': 'Widget Pro', 'category': 'widgets',
         'price': Decimal('49.99'), 'inventory': 245},
    ])
    dynamodb = boto3.resource('dynamodb')
    table = dynamodb.Table('AppData')

    # 1. Get user metadata
    response = table.query(
        KeyConditionExpression=Key('PK').eq('USER#12345') & Key('SK').eq('METADATA')
    )
    assert response['Items'] == [{'PK': 'USER#12345', 'SK': 'METADATA', 'email': 'user@example.com',
                                  'name': 'Jane Doe', 'createdAt': '2025-01-15T10:00:00Z'}]

    # 2. Get all orders for user
    response = table.query(
        KeyConditionExpression=Key('PK').eq('USER#12345') & Key('SK').begins_with('ORDER#')
    )
    assert sort_keys(response) == ['ORDER#2025-001234']

    # 3. Get order with items
    response = table.query(
        KeyConditionExpression=Key('PK').eq('ORDER#2025-001234')
    )
    assert sort_keys(response) == ['ITEM#001', 'METADATA']

    # 4. Get specific order
    response = table.query(
        KeyConditionExpression=Key('PK').eq('ORDER#2025-001234') & Key('SK').eq('METADATA')
    )
    assert response['Items'][0]['totalAmount'] == Decimal('249.97')


# Primary keys

def test_a_table_with_a_partition_key_only():
    dynamodb = boto3.client('dynamodb')

    created = dynamodb.create_table(
        TableName='Users',
        KeySchema=[
            {'AttributeName': 'userId', 'KeyType': 'HASH'}  # PK only
        ],
        AttributeDefinitions=[
            {'AttributeName': 'userId', 'AttributeType': 'S'}
        ],
        BillingMode='PAY_PER_REQUEST'
    )['TableDescription']
    assert created['TableStatus'] in ('CREATING', 'ACTIVE')
    assert created['BillingModeSummary']['BillingMode'] == 'PAY_PER_REQUEST'

    table = boto3.resource('dynamodb').Table('Users')
    table.put_item(Item={
        'userId': 'user123',
        'email': 'user@example.com',
        'name': 'Jane Doe'
    })
    response = table.get_item(Key={'userId': 'user123'})
    assert response['Item'] == {'userId': 'user123', 'email': 'user@example.com', 'name': 'Jane Doe'}


def test_a_table_with_a_composite_key(client):
    client.create_table(
        TableName='AppData',
        KeySchema=[
            {'AttributeName': 'PK', 'KeyType': 'HASH'},   # Partition Key
            {'AttributeName': 'SK', 'KeyType': 'RANGE'}   # Sort Key
        ],
        AttributeDefinitions=[
            {'AttributeName': 'PK', 'AttributeType': 'S'},
            {'AttributeName': 'SK', 'AttributeType': 'S'}
        ],
        BillingMode='PAY_PER_REQUEST'
    )
    described = client.describe_table(TableName='AppData')['Table']
    assert described['TableStatus'] == 'ACTIVE'
    assert described['KeySchema'] == [
        {'AttributeName': 'PK', 'KeyType': 'HASH'}, {'AttributeName': 'SK', 'KeyType': 'RANGE'}]


def test_a_random_suffix_spreads_a_day_over_ten_partitions(app_data):
    for number in range(50):
        suffix = random.randint(0, 9)
        app_data.put_item(Item={'PK': f'DATE#2025-11-28#{suffix}', 'SK': f'{number:02d}'})
    found = []
    for suffix in range(10):
        found += sort_keys(app_data.query(KeyConditionExpression=Key('PK').eq(f'DATE#2025-11-28#{suffix}')))
    assert sorted(found) == [f'{number:02d}' for number in range(50)]


# Global secondary indexes

def orders_table(index):
    return {
        'TableName': 'Orders',
        'KeySchema': [
            {'AttributeName': 'userId', 'KeyType': 'HASH'},
            {'AttributeName': 'timestamp', 'KeyType': 'RANGE'}
        ],
        'AttributeDefinitions': [
            {'AttributeName': 'userId', 'AttributeType': 'S'},
            {'AttributeName': 'timestamp', 'AttributeType': 'S'},
            {'AttributeName': 'status', 'AttributeType': 'S'}
        ],
        'GlobalSecondaryIndexes': [
            {
                'IndexName': 'StatusIndex',
                'KeySchema': [
                    {'AttributeName': 'status', 'KeyType': 'HASH'},
                    {'AttributeName': 'timestamp', 'KeyType': 'RANGE'}
                ],
                **index,
            }
        ],
        'BillingMode': 'PAY_PER_REQUEST'
    }


def test_the_guide_gives_an_index_a_billing_mode_which_it_does_not_have(client):
    with pytest.raises(ParamValidationError, match='Unknown parameter in GlobalSecondaryIndexes.0.: "BillingMode"'):
        client.create_table(**orders_table({
            'Projection': {'ProjectionType': 'ALL'},
            'BillingMode': 'PAY_PER_REQUEST'
        }))


def test_the_guide_asks_a_client_for_a_table_which_only_a_resource_has(client):
    with pytest.raises(AttributeError, match="'DynamoDB' object has no attribute 'Table'"):
        client.Table('Orders')


ORDERS = [
    {'userId': 'u1', 'timestamp': '2025-11-01', 'status': 'pending', 'email': 'a@x', 'name': 'A', 'totalAmount': 1},
    {'userId': 'u2', 'timestamp': '2025-11-03', 'status': 'pending', 'note': 'n'},
    {'userId': 'u3', 'timestamp': '2025-11-02', 'status': 'pending'},
    {'userId': 'u1', 'timestamp': '2025-11-04', 'status': 'shipped'},
]


@pytest.mark.parametrize('projection, attributes', [
    ({'ProjectionType': 'ALL'}, {'userId', 'timestamp', 'status', 'email', 'name', 'totalAmount'}),
    ({'ProjectionType': 'KEYS_ONLY'}, {'userId', 'timestamp', 'status'}),
    ({'ProjectionType': 'INCLUDE', 'NonKeyAttributes': ['email', 'name', 'totalAmount']},
     {'userId', 'timestamp', 'status', 'email', 'name', 'totalAmount'}),
])
def test_orders_by_status_with_what_the_index_projects(client, resource, projection, attributes):
    client.create_table(**orders_table({'Projection': projection}))
    table = resource.Table('Orders')
    put_all(table, ORDERS)

    response = table.query(
        IndexName='StatusIndex',
        KeyConditionExpression=Key('status').eq('pending')
    )
    assert [item['userId'] for item in response['Items']] == ['u1', 'u3', 'u2']
    assert set(response['Items'][0]) == attributes
    assert ('note' in response['Items'][2]) == (projection['ProjectionType'] == 'ALL')


def sparse_table(client, key_type):
    client.create_table(
        TableName='Users',
        KeySchema=[{'AttributeName': 'userId', 'KeyType': 'HASH'}],
        AttributeDefinitions=[
            {'AttributeName': 'userId', 'AttributeType': 'S'},
            {'AttributeName': 'emailVerified', 'AttributeType': key_type},
            {'AttributeName': 'timestamp', 'AttributeType': 'S'},
        ],
        GlobalSecondaryIndexes=[{
            'IndexName': 'VerifiedIndex',
            'KeySchema': [
                {'AttributeName': 'emailVerified', 'KeyType': 'HASH'},
                {'AttributeName': 'timestamp', 'KeyType': 'RANGE'},
            ],
            'Projection': {'ProjectionType': 'ALL'},
        }],
        BillingMode='PAY_PER_REQUEST',
    )
    return boto3.resource('dynamodb').Table('Users')


def test_a_sparse_index_holds_only_items_with_its_keys(client):
    table = sparse_table(client, 'S')
    table.put_item(Item={
        'userId': 'user123',
        'email': 'user@example.com',
        'emailVerified': 'true',  # This item appears in GSI
        'timestamp': '2025-11-28T10:00:00Z'
    })
    table.put_item(Item={
        'userId': 'user456',
        'email': 'other@example.com',
        # No emailVerified - this item NOT in GSI
        'timestamp': '2025-11-28T11:00:00Z'
    })
    assert [item['userId'] for item in table.scan(IndexName='VerifiedIndex')['Items']] == ['user123']
    assert table.scan()['Count'] == 2


def test_the_guides_boolean_cannot_be_an_index_key(client, refused):
    table = sparse_table(client, 'S')
    with refused(
        'ValidationException',
        'One or more parameter values were invalid: Type mismatch for Index Key emailVerified Expected: S Actual: BOOL '
        'IndexName: VerifiedIndex',
    ):
        table.put_item(Item={'userId': 'user123', 'emailVerified': True, 'timestamp': '2025-11-28T10:00:00Z'})


# Queries

def test_query_and_scan_find_the_same_user(app_data):
    put_all(app_data, [
        {'PK': 'USER#12345', 'SK': 'METADATA', 'email': 'user@example.com'},
        {'PK': 'USER#67890', 'SK': 'METADATA', 'email': 'other@example.com'},
    ])
    # GOOD: Query (efficient, uses index)
    queried = app_data.query(
        KeyConditionExpression=Key('PK').eq('USER#12345')
    )
    # BAD: Scan (reads entire table, expensive!)
    scanned = app_data.scan(
        FilterExpression=Attr('email').eq('user@example.com')
    )
    assert queried['Items'] == scanned['Items'] != []
    assert (queried['ScannedCount'], scanned['ScannedCount']) == (1, 2)


@pytest.mark.parametrize('condition, days', [
    (Key('timestamp').eq('2025-11-01'), ['2025-11-01']),
    (Key('timestamp').lt('2025-11-01'), ['2025-10-31']),
    (Key('timestamp').lte('2025-11-01'), ['2025-10-31', '2025-11-01']),
    (Key('timestamp').gt('2025-11-30'), ['2025-12-01']),
    (Key('timestamp').gte('2025-11-01'), ['2025-11-01', '2025-11-15', '2025-11-30', '2025-12-01']),
    (Key('timestamp').between('2025-11-01', '2025-11-30'), ['2025-11-01', '2025-11-15', '2025-11-30']),
    (Key('timestamp').begins_with('2025-11-1'), ['2025-11-15']),
])
def test_operators_on_the_sort_key(create_table, condition, days):
    table = create_table('Orders', 'userId', 'timestamp')
    put_all(table, [{'userId': 'u1', 'timestamp': day} for day in
                    ('2025-10-31', '2025-11-01', '2025-11-15', '2025-11-30', '2025-12-01')])
    response = table.query(KeyConditionExpression=Key('userId').eq('u1') & condition)
    assert [item['timestamp'] for item in response['Items']] == days


def test_a_filter_counts_what_it_dropped(app_data):
    put_all(app_data, [{'PK': 'USER#12345', 'SK': f'{age}', 'status': status, 'age': age}
                       for age, status in ((17, 'active'), (18, 'active'), (30, 'gone'), (44, 'active'))])
    response = app_data.query(
        KeyConditionExpression=Key('PK').eq('USER#12345'),
        FilterExpression=Attr('status').eq('active') & Attr('age').gte(18)
    )
    assert sort_keys(response) == ['18', '44']
    assert (response['Count'], response['ScannedCount']) == (2, 4)


def test_pages_of_a_megabyte_follow_each_other(app_data):
    # Four of these items are more than a page.
    put_all(app_data, [{'PK': 'USER#12345', 'SK': f'{i:02d}', 'text': 'x' * 300_000} for i in range(10)])
    table = app_data
    seen, pages = [], 0

    last_evaluated_key = None

    while True:
        if last_evaluated_key:
            response = table.query(
                KeyConditionExpression=Key('PK').eq('USER#12345'),
                ExclusiveStartKey=last_evaluated_key
            )
        else:
            response = table.query(
                KeyConditionExpression=Key('PK').eq('USER#12345')
            )

        items = response['Items']
        seen += [item['SK'] for item in items]
        pages += 1

        last_evaluated_key = response.get('LastEvaluatedKey')
        if not last_evaluated_key:
            break

    assert seen == [f'{i:02d}' for i in range(10)]
    assert pages == 3


def test_a_tenants_users_cannot_be_found_by_the_beginning_of_a_partition_key(app_data, refused):
    # The guide asks for this under "Multi-Tenant Architecture"; a partition key is compared for equality only.
    with refused('ValidationException', 'Query key condition not supported'):
        app_data.query(
            KeyConditionExpression=Key('PK').begins_with('TENANT#abc#USER#')
        )


def test_readings_of_one_day(app_data):
    put_all(app_data, [{'PK': 'SENSOR#sensor123', 'SK': at} for at in (
        '2025-11-27T23:59:59.999Z', '2025-11-28T10:30:45.123Z', '2025-11-28T23:59:58Z', '2025-11-29T00:00:00Z')])
    response = app_data.query(
        KeyConditionExpression=Key('PK').eq('SENSOR#sensor123') &
                              Key('SK').between('2025-11-28T00:00:00Z', '2025-11-28T23:59:59Z')
    )
    assert sort_keys(response) == ['2025-11-28T10:30:45.123Z', '2025-11-28T23:59:58Z']


def test_the_latest_version_is_the_first_backwards(app_data):
    put_all(app_data, [{'PK': 'DOC#doc123', 'SK': f'VERSION#{i:03d}'} for i in (1, 2, 3)])
    response = app_data.query(
        KeyConditionExpression=Key('PK').eq('DOC#doc123'),
        ScanIndexForward=False,  # Descending order
        Limit=1
    )
    assert sort_keys(response) == ['VERSION#003']
    assert response['LastEvaluatedKey'] == {'PK': 'DOC#doc123', 'SK': 'VERSION#003'}


def test_adjacent_items_come_in_one_query(app_data):
    expected = ['A#METADATA', 'B#ADDRESS#001', 'B#ADDRESS#002', 'C#ORDER#2025-11-27#002', 'C#ORDER#2025-11-28#001']
    put_all(app_data, [{'PK': 'USER#12345', 'SK': sort_key} for sort_key in reversed(expected)])
    response = app_data.query(
        KeyConditionExpression=Key('PK').eq('USER#12345')
    )
    assert sort_keys(response) == expected


@pytest.mark.parametrize('prefix, count', [
    ('COUNTRY#USA', 4), ('COUNTRY#USA#STATE#MA', 3), ('COUNTRY#USA#STATE#MA#CITY#Boston', 1)])
def test_a_hierarchy_in_the_sort_key(app_data, prefix, count):
    put_all(app_data, [{'PK': 'PLACES', 'SK': sort_key} for sort_key in (
        'COUNTRY#USA#STATE#MA#CITY#Boston', 'COUNTRY#USA#STATE#MA#CITY#Salem', 'COUNTRY#USA#STATE#MA',
        'COUNTRY#USA#STATE#NY#CITY#Albany', 'COUNTRY#UK#CITY#Boston')])
    response = app_data.query(KeyConditionExpression=Key('PK').eq('PLACES') & Key('SK').begins_with(prefix))
    assert response['Count'] == count


# Updates

def test_set_an_attribute_whose_name_is_reserved(users):
    users.put_item(Item={'userId': 'user123', 'name': 'Jane Doe'})
    users.update_item(
        Key={'userId': 'user123'},
        UpdateExpression='SET #name = :name',
        ExpressionAttributeNames={'#name': 'name'},
        ExpressionAttributeValues={':name': 'Jane Smith'}
    )
    assert users.get_item(Key={'userId': 'user123'})['Item'] == {'userId': 'user123', 'name': 'Jane Smith'}


def test_a_reserved_name_in_an_expression_is_refused(users, refused):
    with refused('ValidationException', '1 validation error detected: Invalid UpdateExpression: Attribute name is a '
                                        'reserved keyword; reserved keyword: name'):
        users.update_item(Key={'userId': 'user123'}, UpdateExpression='SET name = :name',
                          ExpressionAttributeValues={':name': 'Jane Smith'})


def count_login(users):
    users.update_item(
        Key={'userId': 'user123'},
        UpdateExpression='SET loginCount = loginCount + :inc',
        ExpressionAttributeValues={':inc': 1}
    )


def test_a_counter_that_exists_is_incremented(users):
    users.put_item(Item={'userId': 'user123', 'loginCount': 41})
    count_login(users)
    assert users.get_item(Key={'userId': 'user123'})['Item']['loginCount'] == 42


def test_a_counter_that_does_not_exist_cannot_be_incremented_so(users, refused):
    users.put_item(Item={'userId': 'user123'})
    with refused('ValidationException', ATTRIBUTE_MISSING):
        count_login(users)


def append_tag(users):
    users.update_item(
        Key={'userId': 'user123'},
        UpdateExpression='SET tags = list_append(tags, :tag)',
        ExpressionAttributeValues={':tag': ['new-tag']}
    )


def test_append_to_a_list(users, refused):
    users.put_item(Item={'userId': 'user123'})
    with refused('ValidationException', ATTRIBUTE_MISSING):
        append_tag(users)
    users.put_item(Item={'userId': 'user123', 'tags': ['old-tag']})
    append_tag(users)
    assert users.get_item(Key={'userId': 'user123'})['Item']['tags'] == ['old-tag', 'new-tag']


def test_add_to_a_set_twice_and_it_is_there_once(users):
    for _ in range(2):
        users.update_item(
            Key={'userId': 'user123'},
            UpdateExpression='ADD emailSet :email',
            ExpressionAttributeValues={':email': {'user@example.com'}}
        )
    assert users.get_item(Key={'userId': 'user123'})['Item']['emailSet'] == {'user@example.com'}


def test_remove_an_attribute_that_is_there_or_not(users):
    users.put_item(Item={'userId': 'user123', 'deprecated_field': 1, 'kept': 2})
    for _ in range(2):
        users.update_item(
            Key={'userId': 'user123'},
            UpdateExpression='REMOVE deprecated_field'
        )
    assert users.get_item(Key={'userId': 'user123'})['Item'] == {'userId': 'user123', 'kept': 2}


def withdraw(table):
    """As in the guide, but for the print."""
    try:
        table.update_item(
            Key={'userId': 'user123'},
            UpdateExpression='SET balance = balance - :amount',
            ConditionExpression='balance >= :amount',
            ExpressionAttributeValues={':amount': 100}
        )
    except ClientError as e:
        if e.response['Error']['Code'] == 'ConditionalCheckFailedException':
            return "Insufficient balance"
        raise
    return None


def test_a_balance_is_not_overdrawn(users):
    users.put_item(Item={'userId': 'user123', 'balance': 150})
    assert withdraw(users) is None
    assert withdraw(users) == "Insufficient balance"
    assert users.get_item(Key={'userId': 'user123'})['Item']['balance'] == 50


def test_an_atomic_counter_starts_by_itself(create_table):
    table = create_table('Posts', 'postId')
    for expected in (1, 2, 3):
        response = table.update_item(
            Key={'postId': 'post123'},
            UpdateExpression='SET viewCount = if_not_exists(viewCount, :start) + :inc',
            ExpressionAttributeValues={':start': 0, ':inc': 1},
            ReturnValues='UPDATED_NEW'
        )
        assert response['Attributes'] == {'viewCount': expected}


# Batches and projections

def test_batches_of_a_resource_take_plain_values(users):
    dynamodb = boto3.resource('dynamodb')
    written = dynamodb.batch_write_item(
        RequestItems={
            'Users': [
                {'PutRequest': {'Item': {'userId': 'user1', 'name': 'User 1'}}},
                {'PutRequest': {'Item': {'userId': 'user2', 'name': 'User 2'}}}
            ]
        }
    )
    assert written['UnprocessedItems'] == {}
    response = dynamodb.batch_get_item(
        RequestItems={
            'Users': {
                'Keys': [
                    {'userId': 'user1'},
                    {'userId': 'user2'},
                    {'userId': 'user3'}
                ]
            }
        }
    )
    assert sorted(item['name'] for item in response['Responses']['Users']) == ['User 1', 'User 2']
    assert response['UnprocessedKeys'] == {}


def test_batches_of_a_client_do_not(users, client):
    # The guide's `dynamodb` is a resource at its top and a client further down.
    with pytest.raises(ParamValidationError, match='Invalid type for parameter RequestItems.Users.Keys.0..userId'):
        client.batch_get_item(RequestItems={'Users': {'Keys': [{'userId': 'user1'}]}})


def test_a_projection_returns_what_it_names(app_data):
    app_data.put_item(Item={'PK': 'USER#12345', 'SK': 'METADATA', 'email': 'user@example.com', 'name': 'Jane Doe',
                            'createdAt': '2025-01-15T10:00:00Z', 'address': 'somewhere'})
    response = app_data.query(
        KeyConditionExpression=Key('PK').eq('USER#12345'),
        ProjectionExpression='email, #name, createdAt',
        ExpressionAttributeNames={'#name': 'name'}
    )
    assert response['Items'] == [
        {'email': 'user@example.com', 'name': 'Jane Doe', 'createdAt': '2025-01-15T10:00:00Z'}]


def test_an_eventually_consistent_read_costs_half(users):
    users.put_item(Item={'userId': 'user123'})
    costs = [
        users.get_item(
            Key={'userId': 'user123'},
            ConsistentRead=consistent,
            ReturnConsumedCapacity='TOTAL',
        )['ConsumedCapacity']
        for consistent in (False, True)
    ]
    assert costs == [{'TableName': 'Users', 'CapacityUnits': 0.5}, {'TableName': 'Users', 'CapacityUnits': 1.0}]


def test_a_session_carries_its_expiry(create_table):
    table = create_table('Sessions', 'sessionId')
    updated = table.meta.client.update_time_to_live(
        TableName='Sessions',
        TimeToLiveSpecification={
            'Enabled': True,
            'AttributeName': 'ttl'
        }
    )
    assert updated['TimeToLiveSpecification'] == {'Enabled': True, 'AttributeName': 'ttl'}

    ttl_value = int(time.time()) + 86400  # Expire in 24 hours
    table.put_item(Item={
        'sessionId': 'session123',
        'ttl': ttl_value
    })
    assert table.get_item(Key={'sessionId': 'session123'})['Item']['ttl'] == ttl_value


def test_a_table_is_created_with_a_stream(client):
    created = client.create_table(
        TableName='Orders',
        KeySchema=[{'AttributeName': 'userId', 'KeyType': 'HASH'}],
        AttributeDefinitions=[{'AttributeName': 'userId', 'AttributeType': 'S'}],
        BillingMode='PAY_PER_REQUEST',
        StreamSpecification={
            'StreamEnabled': True,
            'StreamViewType': 'NEW_AND_OLD_IMAGES'  # Full document before/after
        }
    )['TableDescription']
    assert created['StreamSpecification'] == {'StreamEnabled': True, 'StreamViewType': 'NEW_AND_OLD_IMAGES'}
    assert created['LatestStreamArn'].startswith(created['TableArn'] + '/stream/')


# As in the guide, which does not say what send_email is.
def lambda_handler(event, context):
    for record in event['Records']:
        if record['eventName'] == 'INSERT':
            new_item = record['dynamodb']['NewImage']
            print(f"New order: {new_item}")

            # Send notification
            send_email(new_item['email']['S'], "Order Confirmed")

        elif record['eventName'] == 'MODIFY':
            old_item = record['dynamodb']['OldImage']
            new_item = record['dynamodb']['NewImage']

            # Check if status changed
            if old_item['status']['S'] != new_item['status']['S']:
                print(f"Status changed: {old_item['status']['S']} -> {new_item['status']['S']}")

        elif record['eventName'] == 'REMOVE':
            old_item = record['dynamodb']['OldImage']
            print(f"Order deleted: {old_item}")


def send_email(address, subject):
    print(f'{subject} to {address}')


def test_the_function_sees_an_order_come_change_and_go(client, resource, streams, capsys):
    test_a_table_is_created_with_a_stream(client)
    table = resource.Table('Orders')
    key = {'userId': 'user123'}
    table.put_item(Item={**key, 'email': 'user@example.com', 'status': 'pending'})
    table.update_item(Key=key, UpdateExpression='SET #status = :s', ExpressionAttributeNames={'#status': 'status'},
                      ExpressionAttributeValues={':s': 'shipped'})
    table.delete_item(Key=key)
    records = streams('Orders')
    capsys.readouterr()
    lambda_handler({'Records': records}, None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith('New order: ') and "'pending'" in lines[0]
    assert lines[1:3] == ['Order Confirmed to user@example.com', 'Status changed: pending -> shipped']
    assert lines[3].startswith('Order deleted: ') and "'shipped'" in lines[3]
    assert len(lines) == 4
