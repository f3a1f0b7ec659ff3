// A provisioned table that runs out of read units: what the client sees, and that it tries again by itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CreateTableCommand, DynamoDBClient, GetItemCommand, ProvisionedThroughputExceededException, PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { client } from './support.js';

const TableName = 'Throttled';
const savedUnits = 300;
const largeUnits = 50;

const read = (reader, pk) =>
  reader.send(new GetItemCommand({
    TableName, Key: { pk: { S: pk } }, ConsistentRead: true, ReturnConsumedCapacity: 'TOTAL',
  }));

// Reads until the table refuses. Large steps first: what is below nothing at the end has to come in again.
async function useUp(saved) {
  let used = 0;
  while (used < 2 * savedUnits) {
    try {
      const answer = await read(client, used + largeUnits < saved ? 'large' : 'small');
      used += answer.ConsumedCapacity.CapacityUnits;
    } catch (refusal) {
      return { used, refusal };
    }
  }
  throw new Error(`${used} units were read from a table of one`);
}

test('a table of one read unit refuses when its burst is used up, and a client tries again until it is served', async () => {
  await client.send(new CreateTableCommand({
    TableName,
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1000 },
  }));
  const filler = { S: 'x'.repeat(largeUnits * 4096 - 200) };
  await client.send(new PutItemCommand({ TableName, Item: { pk: { S: 'large' }, filler } }));
  await client.send(new PutItemCommand({ TableName, Item: { pk: { S: 'small' } } }));

  const { used, refusal } = await useUp(savedUnits);
  assert.ok(used >= savedUnits, `refused after ${used} units`);
  assert.ok(refusal instanceof ProvisionedThroughputExceededException, refusal);
  assert.equal(refusal.$metadata.httpStatusCode, 400);
  assert.deepEqual(refusal.ThrottlingReasons, [{
    reason: 'TableReadProvisionedThroughputExceeded',
    resource: `arn:aws:dynamodb:us-east-1:123456789012:table/${TableName}`,
  }]);

  for (const retryMode of ['standard', 'adaptive']) {
    await useUp(0);
    const patient = new DynamoDBClient({ maxAttempts: 20, retryMode });
    try {
      const answer = await read(patient, 'small');
      assert.deepEqual(answer.Item, { pk: { S: 'small' } });
      assert.ok(answer.$metadata.attempts > 1, `served at attempt ${answer.$metadata.attempts}`);
    } finally {
      patient.destroy();
    }
  }
});
