// The TypeScript of the first document, which teaches one table for a shop, without its types and otherwise as it stands
// there. Its Python and shell commands are in tests/seeds/test_seed_ecommerce.py.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand, BatchWriteCommand, DeleteCommand, DynamoDBDocumentClient, GetCommand, PutCommand, QueryCommand,
  TransactWriteCommand, UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { createTable, endpoint } from './support.js';

process.env.DYNAMODB_LOCAL = 'yes';

const client = new DynamoDBClient({
  region: process.env.AWS_REGION || 'us-east-1',
  // For local development with DynamoDB Local
  ...(process.env.DYNAMODB_LOCAL && {
    endpoint, // the document: 'http://localhost:8000'
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' }
  })
});

// Document client for simplified operations
const docClient = DynamoDBDocumentClient.from(client, {
  marshallOptions: {
    removeUndefinedValues: true,  // Important: match v2 behavior
    convertClassInstanceToMap: true
  },
  unmarshallOptions: {
    wrapNumbers: false
  }
});

const TABLE_NAME = process.env.DYNAMODB_TABLE || 'MyTable';

// Key builders
const keys = {
  user: (userId) => ({
    PK: `USER#${userId}`,
    SK: 'PROFILE'
  }),
  userOrders: (userId) => ({
    PK: `USER#${userId}`,
    SKPrefix: 'ORDER#'
  }),
  order: (userId, orderId) => ({
    PK: `USER#${userId}`,
    SK: `ORDER#${orderId}`,
    GSI1PK: `ORDER#${orderId}`,
    GSI1SK: 'ORDER'
  })
};

async function createUser(userId, data) {
  const now = new Date().toISOString();
  const item = {
    ...keys.user(userId),
    EntityType: 'User',
    userId,
    email: data.email,
    name: data.name,
    createdAt: now,
    updatedAt: now
  };

  await docClient.send(new PutCommand({
    TableName: TABLE_NAME,
    Item: item,
    ConditionExpression: 'attribute_not_exists(PK)'  // Prevent overwrite
  }));

  return item;
}

async function getUser(userId) {
  const result = await docClient.send(new GetCommand({
    TableName: TABLE_NAME,
    Key: keys.user(userId)
  }));

  return result.Item || null;
}

// Get all orders for a user
async function getUserOrders(userId) {
  const result = await docClient.send(new QueryCommand({
    TableName: TABLE_NAME,
    KeyConditionExpression: 'PK = :pk AND begins_with(SK, :sk)',
    ExpressionAttributeValues: {
      ':pk': `USER#${userId}`,
      ':sk': 'ORDER#'
    },
    ScanIndexForward: false  // Newest first
  }));

  return result.Items || [];
}

// Query GSI by order ID
async function getOrderById(orderId) {
  const result = await docClient.send(new QueryCommand({
    TableName: TABLE_NAME,
    IndexName: 'GSI1',
    KeyConditionExpression: 'GSI1PK = :pk',
    ExpressionAttributeValues: {
      ':pk': `ORDER#${orderId}`
    }
  }));

  return result.Items?.[0] || null;
}

// Paginated query
async function getUserOrdersPaginated(userId, pageSize = 20, lastKey) {
  const result = await docClient.send(new QueryCommand({
    TableName: TABLE_NAME,
    KeyConditionExpression: 'PK = :pk AND begins_with(SK, :sk)',
    ExpressionAttributeValues: {
      ':pk': `USER#${userId}`,
      ':sk': 'ORDER#'
    },
    Limit: pageSize,
    ExclusiveStartKey: lastKey
  }));

  return {
    items: result.Items || [],
    lastKey: result.LastEvaluatedKey
  };
}

async function updateUser(userId, updates) {
  // Build update expression dynamically
  const updateParts = ['#updatedAt = :updatedAt'];
  const names = { '#updatedAt': 'updatedAt' };
  const values = { ':updatedAt': new Date().toISOString() };

  if (updates.name !== undefined) {
    updateParts.push('#name = :name');
    names['#name'] = 'name';
    values[':name'] = updates.name;
  }

  if (updates.email !== undefined) {
    updateParts.push('#email = :email');
    names['#email'] = 'email';
    values[':email'] = updates.email;
  }

  const result = await docClient.send(new UpdateCommand({
    TableName: TABLE_NAME,
    Key: keys.user(userId),
    UpdateExpression: `SET ${updateParts.join(', ')}`,
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
    ReturnValues: 'ALL_NEW',
    ConditionExpression: 'attribute_exists(PK)'  // Must exist
  }));

  return result.Attributes;
}

// Atomic counter increment
async function incrementOrderCount(userId) {
  await docClient.send(new UpdateCommand({
    TableName: TABLE_NAME,
    Key: keys.user(userId),
    UpdateExpression: 'SET orderCount = if_not_exists(orderCount, :zero) + :inc',
    ExpressionAttributeValues: {
      ':zero': 0,
      ':inc': 1
    }
  }));
}

async function deleteUser(userId) {
  await docClient.send(new DeleteCommand({
    TableName: TABLE_NAME,
    Key: keys.user(userId),
    ConditionExpression: 'attribute_exists(PK)'
  }));
}

async function batchCreateItems(items) {
  // DynamoDB allows max 25 items per batch
  const chunks = [];
  for (let i = 0; i < items.length; i += 25) {
    chunks.push(items.slice(i, i + 25));
  }

  for (const chunk of chunks) {
    await docClient.send(new BatchWriteCommand({
      RequestItems: {
        [TABLE_NAME]: chunk.map(item => ({
          PutRequest: { Item: item }
        }))
      }
    }));
  }
}

async function batchGetUsers(userIds) {
  const result = await docClient.send(new BatchGetCommand({
    RequestItems: {
      [TABLE_NAME]: {
        Keys: userIds.map(id => keys.user(id))
      }
    }
  }));

  return result.Responses?.[TABLE_NAME] || [];
}

async function createOrderWithItems(userId, orderId, orderData, items) {
  const now = new Date().toISOString();

  const transactItems = [
    // Create order
    {
      Put: {
        TableName: TABLE_NAME,
        Item: {
          ...keys.order(userId, orderId),
          EntityType: 'Order',
          orderId,
          userId,
          total: orderData.total,
          status: 'pending',
          createdAt: now,
          updatedAt: now
        },
        ConditionExpression: 'attribute_not_exists(PK)'
      }
    },
    // Update user's order count
    {
      Update: {
        TableName: TABLE_NAME,
        Key: keys.user(userId),
        UpdateExpression: 'SET orderCount = if_not_exists(orderCount, :zero) + :inc',
        ExpressionAttributeValues: { ':zero': 0, ':inc': 1 }
      }
    },
    // Add order items
    ...items.map((item, index) => ({
      Put: {
        TableName: TABLE_NAME,
        Item: {
          PK: `ORDER#${orderId}`,
          SK: `ITEM#${index}`,
          GSI1PK: `ORDER#${orderId}`,
          GSI1SK: `ITEM#${index}`,
          EntityType: 'OrderItem',
          productId: item.productId,
          quantity: item.quantity,
          createdAt: now
        }
      }
    }))
  ];

  await docClient.send(new TransactWriteCommand({
    TransactItems: transactItems
  }));
}

before(() => createTable(TABLE_NAME, ['PK', 'SK'], { GSI1: ['GSI1PK', 'GSI1SK'] }));

const JOHN = { email: 'john@test.com', name: 'John' };
const conditionFailed = { name: 'ConditionalCheckFailedException', message: 'The conditional request failed' };

test('a user is created once and read back', async () => {
  const created = await createUser('create', JOHN);
  assert.deepEqual(await getUser('create'), created);
  await assert.rejects(createUser('create', { email: 'x', name: 'y' }), conditionFailed);
  assert.deepEqual(await getUser('create'), created);
  assert.equal(await getUser('nobody'), null);
});

test('a user is updated if there is one', async () => {
  const created = await createUser('update', JOHN);
  const updated = await updateUser('update', { name: 'Johnny' });
  assert.deepEqual(updated, { ...created, name: 'Johnny', updatedAt: updated.updatedAt });
  await assert.rejects(updateUser('nobody', { name: 'Johnny' }), conditionFailed);
});

test('orders are counted from nothing', async () => {
  await createUser('count', JOHN);
  await incrementOrderCount('count');
  await incrementOrderCount('count');
  assert.equal((await getUser('count')).orderCount, 2);
});

test('a user is deleted if there is one', async () => {
  await createUser('delete', JOHN);
  await deleteUser('delete');
  assert.equal(await getUser('delete'), null);
  await assert.rejects(deleteUser('delete'), conditionFailed);
});

test('a user has orders, newest first, in pages, and by number', async () => {
  const order = (n) => ({
    ...keys.order('orders', `2024-${String(n).padStart(3, '0')}`), EntityType: 'Order', total: n + 0.99,
  });
  const orders = Array.from({ length: 60 }, (_, i) => order(i + 1));
  await batchCreateItems([...orders, { ...keys.user('orders'), EntityType: 'User' }]);
  assert.deepEqual(await getUserOrders('orders'), [...orders].reverse());

  const pages = [];
  let lastKey;
  do {
    const page = await getUserOrdersPaginated('orders', 25, lastKey);
    pages.push(page.items);
    lastKey = page.lastKey;
  } while (lastKey);
  assert.deepEqual(pages.map((page) => page.length), [25, 25, 10]);
  assert.deepEqual(pages.flat(), orders);
  assert.deepEqual(await getOrderById('2024-007'), orders[6]);
  assert.equal(await getOrderById('2024-999'), null);
});

test('users are read in a batch', async () => {
  for (const id of ['b1', 'b2', 'b3']) await createUser(id, JOHN);
  const users = await batchGetUsers(['b1', 'b2', 'b3', 'b4']);
  assert.deepEqual(users.map(({ userId }) => userId).sort(), ['b1', 'b2', 'b3']);
});

test('an order with its items is one transaction', async () => {
  await createUser('buyer', JOHN);
  const buy = () => createOrderWithItems('buyer', '2024-777', { total: 59.98 }, [
    { productId: 'PROD#456', quantity: 2 }, { productId: 'PROD#457', quantity: 1 },
  ]);
  await buy();
  await assert.rejects(buy(), (error) => {
    assert.equal(error.name, 'TransactionCanceledException');
    assert.equal(error.CancellationReasons[0].Code, 'ConditionalCheckFailed');
    return true;
  });
  assert.equal((await getUser('buyer')).orderCount, 1);
  const { Items } = await docClient.send(new QueryCommand({
    TableName: TABLE_NAME, IndexName: 'GSI1', KeyConditionExpression: 'GSI1PK = :pk',
    ExpressionAttributeValues: { ':pk': 'ORDER#2024-777' },
  }));
  assert.deepEqual(Items.map(({ GSI1SK }) => GSI1SK), ['ITEM#0', 'ITEM#1', 'ORDER']);
});

test('a sparse index and an inverted index', async () => {
  await batchCreateItems([
    { PK: 'PROD#1', SK: 'PRODUCT', GSI1PK: 'FEATURED', GSI1SK: 'PROD#1' },  // In index
    { PK: 'PROD#2', SK: 'PRODUCT' },  // Not in index (no GSI1PK)
    { PK: 'USER#123', SK: 'ORDER#001', GSI1PK: 'STATUS#pending', GSI1SK: 'ORDER#001' },
    { PK: 'USER#456', SK: 'ORDER#002', GSI1PK: 'STATUS#shipped', GSI1SK: 'ORDER#002' },
  ]);

  // Query featured products
  const featured = await docClient.send(new QueryCommand({
    TableName: TABLE_NAME,
    IndexName: 'GSI1',
    KeyConditionExpression: 'GSI1PK = :pk',
    ExpressionAttributeValues: { ':pk': 'FEATURED' }
  }));
  assert.deepEqual(featured.Items.map(({ PK }) => PK), ['PROD#1']);

  // Get all pending orders across all users
  const pending = await docClient.send(new QueryCommand({
    TableName: TABLE_NAME,
    IndexName: 'GSI1',
    KeyConditionExpression: 'GSI1PK = :pk',
    ExpressionAttributeValues: { ':pk': 'STATUS#pending' }
  }));
  assert.deepEqual(pending.Items.map(({ PK }) => PK), ['USER#123']);
});

test('the schema of the shop answers its six access patterns', async () => {
  const schema = [
    // Users
    { PK: 'USER#123', SK: 'PROFILE', EntityType: 'User', name: 'John', email: 'john@test.com' },
    { PK: 'USER#123', SK: 'ADDRESS#1', EntityType: 'Address', street: '123 Main', city: 'NYC' },

    // Orders for user (1:N relationship); the document writes the first of them twice, without and with its index keys
    { PK: 'USER#123', SK: 'ORDER#2024-001', GSI1PK: 'ORDER#2024-001', GSI1SK: 'ORDER', EntityType: 'Order', total: 99.99, status: 'shipped' },
    { PK: 'USER#123', SK: 'ORDER#2024-002', EntityType: 'Order', total: 49.99, status: 'pending' },

    // Order details (query by order ID using GSI)
    { PK: 'ORDER#2024-001', SK: 'ITEM#1', GSI1PK: 'ORDER#2024-001', GSI1SK: 'ITEM#1', productId: 'PROD#456', qty: 2 },

    // Products
    { PK: 'PROD#456', SK: 'PRODUCT', EntityType: 'Product', name: 'Widget', price: 29.99 },
  ];
  await createTable('Shop', ['PK', 'SK'], { GSI1: ['GSI1PK', 'GSI1SK'] });
  for (const Item of schema) await docClient.send(new PutCommand({ TableName: 'Shop', Item }));

  const query = async (KeyConditionExpression, values, IndexName) => {
    const ExpressionAttributeValues = Object.fromEntries(values.map((value, i) => [`:v${i}`, value]));
    const input = { TableName: 'Shop', IndexName, KeyConditionExpression, ExpressionAttributeValues };
    return (await docClient.send(new QueryCommand(input))).Items;
  };
  assert.deepEqual(await query('PK = :v0 AND SK = :v1', ['USER#123', 'PROFILE']), [schema[0]]);
  assert.deepEqual(await query('PK = :v0 AND begins_with(SK, :v1)', ['USER#123', 'ADDRESS']), [schema[1]]);
  assert.deepEqual(await query('PK = :v0 AND begins_with(SK, :v1)', ['USER#123', 'ORDER']), [schema[2], schema[3]]);
  assert.deepEqual(await query('GSI1PK = :v0', ['ORDER#2024-001'], 'GSI1'), [schema[4], schema[2]]);
  assert.deepEqual(await query('PK = :v0 AND SK = :v1', ['PROD#456', 'PRODUCT']), [schema[5]]);
});

// Table definition (IaC)
const table = {
  AttributeDefinitions: [
    { AttributeName: 'tournament', AttributeType: 'S' },
    { AttributeName: 'region', AttributeType: 'S' },
    { AttributeName: 'score', AttributeType: 'N' }
  ],
  GlobalSecondaryIndexes: [{
    IndexName: 'TournamentRegionIndex',
    KeySchema: [
      { AttributeName: 'tournament', KeyType: 'HASH' },  // Composite PK part 1
      { AttributeName: 'region', KeyType: 'HASH' },      // Composite PK part 2
      { AttributeName: 'score', KeyType: 'RANGE' }
    ]
  }]
};

test('an index with a composite partition key', async () => {
  // The document's definition is a part: it has no table name, no key of the table and no projection.
  await assert.rejects(client.send(new CreateTableCommand(table)), { name: 'ValidationException' });
  const { TableDescription } = await client.send(new CreateTableCommand({
    ...table,
    TableName: 'Matches',
    KeySchema: [{ AttributeName: 'tournament', KeyType: 'HASH' }, { AttributeName: 'score', KeyType: 'RANGE' }],
    GlobalSecondaryIndexes: [{ ...table.GlobalSecondaryIndexes[0], Projection: { ProjectionType: 'ALL' } }],
    BillingMode: 'PAY_PER_REQUEST',
  }));
  assert.deepEqual(TableDescription.GlobalSecondaryIndexes[0].KeySchema, table.GlobalSecondaryIndexes[0].KeySchema);
  const match = { tournament: 'WINTER2024', region: 'NA-EAST', score: 90 };
  await docClient.send(new PutCommand({ TableName: 'Matches', Item: match }));
  const { Items } = await docClient.send(new QueryCommand({
    TableName: 'Matches',
    IndexName: 'TournamentRegionIndex',
    KeyConditionExpression: 'tournament = :t AND #region = :r',
    ExpressionAttributeNames: { '#region': 'region' },
    ExpressionAttributeValues: { ':t': 'WINTER2024', ':r': 'NA-EAST' },
  }));
  assert.deepEqual(Items, [match]);
});
