// The document client: JavaScript values in, the same values out.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  BatchGetCommand, BatchWriteCommand, DeleteCommand, DynamoDBDocumentClient, GetCommand, NumberValue, PutCommand,
  QueryCommand, ScanCommand, TransactGetCommand, TransactWriteCommand, UpdateCommand, paginateQuery,
} from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import { client, createTable } from './support.js';

const TableName = 'Documents';
const documents = DynamoDBDocumentClient.from(client);
const send = (Command, input) => documents.send(new Command(input));

before(() => createTable(TableName, ['PK', 'SK']));

async function roundTrip(item, through = documents) {
  const Key = { PK: item.PK, SK: item.SK };
  await through.send(new PutCommand({ TableName, Item: item }));
  return (await through.send(new GetCommand({ TableName, Key, ConsistentRead: true }))).Item;
}

test('every kind of value is read back as written', async () => {
  const item = {
    PK: 'types', SK: '1', string: 'žluťoučký kůň 🐎', empty: '', integer: 42, fraction: -0.1, zero: 0, yes: true,
    no: false, nothing: null, list: ['a', 1, [null, { deep: [] }]], map: { a: { b: {} }, 'with space': 1 },
    binary: new Uint8Array([0, 1, 254, 255]), noBytes: new Uint8Array(),
    strings: new Set(['x', 'y']), numbers: new Set([1, 2.5, -3]),
    binaries: new Set([new Uint8Array([1]), new Uint8Array([2])]),
  };
  assert.deepEqual(await roundTrip(item), item);
});

test('numbers keep all of their 38 digits', async () => {
  const exact = DynamoDBDocumentClient.from(client, { unmarshallOptions: { wrapNumbers: NumberValue.from } });
  const digits = {
    long: '12345678901234567890123456789012345678', small: '0.00000000000000000000000000000000000001',
    negative: '-99999999999999999999999999999999999999',
  };
  const item = { PK: 'digits', SK: '1' };
  for (const [name, value] of Object.entries(digits)) item[name] = NumberValue.from(value);
  const read = await roundTrip(item, exact);
  for (const [name, value] of Object.entries(digits)) assert.equal(String(read[name].value), value);
  const big = await roundTrip({ PK: 'digits', SK: '2', n: 9007199254740993n }, exact);
  assert.equal(String(big.n.value), '9007199254740993');
});

test('a number of 39 digits is refused', async () => {
  await assert.rejects(
    roundTrip({ PK: 'digits', SK: '3', n: NumberValue.from('1'.repeat(39)) }),
    {
      name: 'ValidationException',
      message: '1 validation error detected: Attempting to store more than 38 significant digits in a Number',
    });
});

test('options decide about undefined and class instances', async () => {
  class Point {
    constructor(x, y) {
      this.x = x;
      this.y = y;
    }
  }
  const tolerant = DynamoDBDocumentClient.from(client, {
    marshallOptions: { removeUndefinedValues: true, convertClassInstanceToMap: true, convertEmptyValues: true },
  });
  const read = await roundTrip({ PK: 'options', SK: '1', gone: undefined, point: new Point(1, 2), empty: '' }, tolerant);
  assert.deepEqual(read, { PK: 'options', SK: '1', point: { x: 1, y: 2 }, empty: null });
});

test('marshall and unmarshall agree with the document client', async () => {
  const item = { PK: 'marshall', SK: '1', list: [1, 'two', { three: 3 }] };
  assert.deepEqual(unmarshall(marshall(item)), await roundTrip(item));
});

test('each command of the document client', async () => {
  const put = (SK, more) => send(PutCommand, { TableName, Item: { PK: 'each', SK, ...more } });
  await put('1', { n: 1 });
  const updated = await send(UpdateCommand, {
    TableName, Key: { PK: 'each', SK: '1' }, UpdateExpression: 'SET #n = #n + :one, tags = :tags',
    ExpressionAttributeNames: { '#n': 'n' }, ExpressionAttributeValues: { ':one': 1, ':tags': new Set(['a']) },
    ReturnValues: 'UPDATED_NEW',
  });
  assert.deepEqual(updated.Attributes, { n: 2, tags: new Set(['a']) });

  const written = await send(BatchWriteCommand, {
    RequestItems: { [TableName]: ['2', '3', '4'].map((SK) => ({ PutRequest: { Item: { PK: 'each', SK } } })) },
  });
  assert.deepEqual(written.UnprocessedItems, {});
  const read = await send(BatchGetCommand, {
    RequestItems: { [TableName]: { Keys: ['2', '3', '9'].map((SK) => ({ PK: 'each', SK })) } },
  });
  assert.deepEqual(read.Responses[TableName].map(({ SK }) => SK).sort(), ['2', '3']);

  const queried = await send(QueryCommand, {
    TableName, KeyConditionExpression: 'PK = :pk AND SK BETWEEN :a AND :b', FilterExpression: 'attribute_not_exists(n)',
    ExpressionAttributeValues: { ':pk': 'each', ':a': '1', ':b': '3' },
  });
  assert.deepEqual(queried.Items.map(({ SK }) => SK), ['2', '3']);
  assert.equal(queried.ScannedCount, 3);

  const pages = [];
  const query = { TableName, KeyConditionExpression: 'PK = :pk', ExpressionAttributeValues: { ':pk': 'each' } };
  for await (const page of paginateQuery({ client: documents, pageSize: 3 }, query)) pages.push(page.Count);
  assert.deepEqual(pages, [3, 1]);

  const scanned = await send(ScanCommand, {
    TableName, FilterExpression: 'PK = :pk', ExpressionAttributeValues: { ':pk': 'each' },
  });
  assert.equal(scanned.Count, 4);
  const deleted = await send(DeleteCommand, { TableName, Key: { PK: 'each', SK: '1' }, ReturnValues: 'ALL_OLD' });
  assert.equal(deleted.Attributes.n, 2);
});

test('transactions of the document client', async () => {
  await send(TransactWriteCommand, {
    TransactItems: [
      { Put: { TableName, Item: { PK: 'transact', SK: '1', n: 1 } } },
      { Update: {
        TableName, Key: { PK: 'transact', SK: '2' }, UpdateExpression: 'SET n = :n',
        ExpressionAttributeValues: { ':n': 2 },
      } },
    ],
  });
  const { Responses } = await send(TransactGetCommand, {
    TransactItems: ['1', '2', '3'].map((SK) => ({ Get: { TableName, Key: { PK: 'transact', SK } } })),
  });
  assert.deepEqual(Responses.map(({ Item }) => Item?.n), [1, 2, undefined]);
});
