// The TypeScript of the third document, a complete guide, without its types and otherwise as it stands there. Its Python
// is in tests/seeds/test_seed_complete_guide.py.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  DynamoDBClient,
  PutItemCommand,
  GetItemCommand,
  QueryCommand,
  UpdateItemCommand
} from '@aws-sdk/client-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { createTable } from './support.js';

// Told apart by the environment variable AWS_ENDPOINT_URL_DYNAMODB only.
const client = new DynamoDBClient({ region: 'us-east-1' });

before(async () => {
  await createTable('Users', ['userId']);
  await createTable('Orders', ['PK', 'SK']);
});

test('the low-level client with marshalled values', async () => {
  // Put item
  await client.send(new PutItemCommand({
    TableName: 'Users',
    Item: marshall({
      userId: 'user123',
      email: 'user@example.com',
      name: 'Jane Doe',
      createdAt: new Date().toISOString()
    })
  }));

  // Get item
  const response = await client.send(new GetItemCommand({
    TableName: 'Users',
    Key: marshall({ userId: 'user123' })
  }));
  const user = unmarshall(response.Item);
  assert.equal(user.name, 'Jane Doe');

  // Query
  await client.send(new PutItemCommand({ TableName: 'Orders', Item: marshall({ PK: 'USER#12345', SK: 'ORDER#1' }) }));
  const queryResponse = await client.send(new QueryCommand({
    TableName: 'Orders',
    KeyConditionExpression: 'PK = :pk',
    ExpressionAttributeValues: marshall({
      ':pk': 'USER#12345'
    })
  }));
  const items = queryResponse.Items.map(item => unmarshall(item));
  assert.deepEqual(items, [{ PK: 'USER#12345', SK: 'ORDER#1' }]);

  // Update
  await client.send(new UpdateItemCommand({
    TableName: 'Users',
    Key: marshall({ userId: 'user123' }),
    UpdateExpression: 'SET #name = :name',
    ExpressionAttributeNames: { '#name': 'name' },
    ExpressionAttributeValues: marshall({ ':name': 'Jane Smith' })
  }));
  const updated = await client.send(new GetItemCommand({ TableName: 'Users', Key: marshall({ userId: 'user123' }) }));
  assert.deepEqual(unmarshall(updated.Item), { ...user, name: 'Jane Smith' });
});
