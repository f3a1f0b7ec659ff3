// The JavaScript of the fourth document, on cloud services: its setup, used for the table that the rest of it speaks of.
// Its Python and shell commands are in tests/seeds/test_seed_cloud_services.py.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, PutCommand, QueryCommand } from "@aws-sdk/lib-dynamodb";
import { createTable } from './support.js';

before(() => createTable('Orders', ['PK', 'SK']));

test('a document client from a client with nothing but a region', async () => {
  const client = new DynamoDBClient({ region: "us-east-1" });
  const ddb = DynamoDBDocumentClient.from(client);
  await ddb.send(new PutCommand({ TableName: 'Orders', Item: { PK: 'USER#alice', SK: 'ORDER#1', total: 59.99 } }));
  const { Items } = await ddb.send(new QueryCommand({
    TableName: 'Orders', KeyConditionExpression: 'PK = :pk', ExpressionAttributeValues: { ':pk': 'USER#alice' },
  }));
  assert.deepEqual(Items, [{ PK: 'USER#alice', SK: 'ORDER#1', total: 59.99 }]);
});
