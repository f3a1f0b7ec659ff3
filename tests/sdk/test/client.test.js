// The low-level client: every operation on data, its paginators, waiters and error classes.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  BatchExecuteStatementCommand, BatchGetItemCommand, BatchWriteItemCommand, ConditionalCheckFailedException,
  CreateTableCommand, DeleteItemCommand, DeleteTableCommand, DescribeTableCommand, DuplicateItemException,
  DynamoDBServiceException, ExecuteStatementCommand, ExecuteTransactionCommand, GetItemCommand, ListTablesCommand,
  PutItemCommand, QueryCommand, ResourceInUseException, ResourceNotFoundException, ScanCommand,
  TransactGetItemsCommand, TransactWriteItemsCommand, TransactionCanceledException, UpdateItemCommand,
  UpdateTableCommand, paginateListTables, paginateQuery, paginateScan, waitUntilTableExists, waitUntilTableNotExists,
} from '@aws-sdk/client-dynamodb';
import { client, createTable } from './support.js';

const TableName = 'Things';
const S = (value) => ({ S: value });
const N = (value) => ({ N: String(value) });
const key = (pk, sk = 'x') => ({ PK: S(pk), SK: S(sk) });
const send = (Command, input) => client.send(new Command(input));
const bare = ({ $metadata, ...answer }) => answer;

before(() => createTable(TableName, ['PK', 'SK'], { GSI1: ['GSI1PK', 'GSI1SK'] }));

test('an item is put, read, replaced and deleted', async () => {
  const item = { ...key('crud'), n: N(1) };
  assert.deepEqual(bare(await send(PutItemCommand, { TableName, Item: item })), {});
  assert.deepEqual((await send(GetItemCommand, { TableName, Key: key('crud') })).Item, item);
  const replaced = await send(PutItemCommand, { TableName, Item: key('crud'), ReturnValues: 'ALL_OLD' });
  assert.deepEqual(replaced.Attributes, item);
  const deleted = await send(DeleteItemCommand, { TableName, Key: key('crud'), ReturnValues: 'ALL_OLD' });
  assert.deepEqual(deleted.Attributes, key('crud'));
  assert.deepEqual(bare(await send(GetItemCommand, { TableName, Key: key('crud') })), {});
});

test('every answer has a request id and a status', async () => {
  const { $metadata } = await send(GetItemCommand, { TableName, Key: key('nobody') });
  assert.equal($metadata.httpStatusCode, 200);
  assert.match($metadata.requestId, /^[A-Z0-9]{52}$/);
});

test('a read says what it cost', async () => {
  await send(PutItemCommand, { TableName, Item: key('cost') });
  const read = (ConsistentRead) =>
    send(GetItemCommand, { TableName, Key: key('cost'), ConsistentRead, ReturnConsumedCapacity: 'TOTAL' });
  assert.deepEqual((await read(false)).ConsumedCapacity, { TableName, CapacityUnits: 0.5 });
  assert.deepEqual((await read(true)).ConsumedCapacity, { TableName, CapacityUnits: 1 });
});

test('an update sets, adds, removes and deletes in one expression', async () => {
  await send(PutItemCommand, {
    TableName,
    Item: { ...key('update'), n: N(5), gone: S('x'), tags: { SS: ['a', 'b', 'c'] }, list: { L: [S('1')] } },
  });
  const answer = await send(UpdateItemCommand, {
    TableName,
    Key: key('update'),
    UpdateExpression:
      'SET #l = list_append(#l, :more), m = :map, kept = if_not_exists(kept, :one) ADD n :one REMOVE gone DELETE tags :b',
    ExpressionAttributeNames: { '#l': 'list' },
    ExpressionAttributeValues: {
      ':more': { L: [S('2')] }, ':map': { M: { a: { NULL: true } } }, ':one': N(1), ':b': { SS: ['b'] },
    },
    ReturnValues: 'ALL_NEW',
  });
  assert.deepEqual(answer.Attributes, {
    ...key('update'), n: N(6), tags: { SS: ['a', 'c'] }, list: { L: [S('1'), S('2')] },
    m: { M: { a: { NULL: true } } }, kept: N(1),
  });
});

test('a query returns a partition in the order of its sort keys', async () => {
  for (const sk of ['b', 'a', 'c', 'á']) await send(PutItemCommand, { TableName, Item: key('query', sk) });
  const query = (more) => send(QueryCommand, {
    TableName, KeyConditionExpression: 'PK = :pk', ExpressionAttributeValues: { ':pk': S('query') }, ...more,
  });
  const order = ({ Items }) => Items.map((item) => item.SK.S).join('');
  assert.equal(order(await query()), 'abcá');
  assert.equal(order(await query({ ScanIndexForward: false })), 'ácba');
  const first = await query({ Limit: 2 });
  assert.deepEqual(first.LastEvaluatedKey, key('query', 'b'));
  assert.equal(order(await query({ ExclusiveStartKey: first.LastEvaluatedKey })), 'cá');
  assert.deepEqual(bare(await query({ Select: 'COUNT' })), { Count: 4, ScannedCount: 4 });
});

test('an index holds the items that have its keys', async () => {
  await send(PutItemCommand, { TableName, Item: { ...key('gsi', '1'), GSI1PK: S('g'), GSI1SK: S('2') } });
  await send(PutItemCommand, { TableName, Item: { ...key('gsi', '2'), GSI1PK: S('g'), GSI1SK: S('1') } });
  await send(PutItemCommand, { TableName, Item: { ...key('gsi', '3'), GSI1PK: S('g') } });
  const { Items } = await send(QueryCommand, {
    TableName, IndexName: 'GSI1', KeyConditionExpression: 'GSI1PK = :g', ExpressionAttributeValues: { ':g': S('g') },
  });
  assert.deepEqual(Items.map((item) => item.SK.S), ['2', '1']);
});

test('batches write and read up to their limits', async () => {
  const keys = Array.from({ length: 25 }, (_, i) => key('batch', `${i}`));
  const written = await send(BatchWriteItemCommand, {
    RequestItems: { [TableName]: keys.map((Item) => ({ PutRequest: { Item } })) },
  });
  assert.deepEqual(written.UnprocessedItems, {});
  const read = await send(BatchGetItemCommand, {
    RequestItems: { [TableName]: { Keys: [...keys, key('batch', 'absent')], ProjectionExpression: 'SK' } },
  });
  assert.equal(read.Responses[TableName].length, 25);
  assert.deepEqual(read.UnprocessedKeys, {});
  await send(BatchWriteItemCommand, {
    RequestItems: { [TableName]: keys.map((Key) => ({ DeleteRequest: { Key } })) },
  });
  const after = await send(BatchGetItemCommand, { RequestItems: { [TableName]: { Keys: keys } } });
  assert.deepEqual(after.Responses[TableName], []);
  await assert.rejects(
    send(BatchWriteItemCommand, {
      RequestItems: { [TableName]: Array.from({ length: 26 }, (_, i) => ({ PutRequest: { Item: key('b', `${i}`) } })) },
    }),
    { name: 'ValidationException' });
});

test('paginators visit every item once', async () => {
  await createTable('Pages', ['PK', 'SK']);
  for (let i = 0; i < 30; i += 1) await send(PutItemCommand, { TableName: 'Pages', Item: key(`${i % 3}`, `${i}`) });
  const collect = async (pages) => {
    const found = [];
    let count = 0;
    for await (const page of pages) {
      found.push(...page.Items.map((item) => Number(item.SK.S)));
      count += 1;
    }
    return { found: found.sort((a, b) => a - b), count };
  };
  const scanned = await collect(paginateScan({ client, pageSize: 7 }, { TableName: 'Pages' }));
  assert.deepEqual(scanned.found, Array.from({ length: 30 }, (_, i) => i));
  assert.equal(scanned.count, 5);
  const queried = await collect(paginateQuery({ client, pageSize: 4 }, {
    TableName: 'Pages', KeyConditionExpression: 'PK = :pk', ExpressionAttributeValues: { ':pk': S('0') },
  }));
  assert.deepEqual(queried.found, [0, 3, 6, 9, 12, 15, 18, 21, 24, 27]);
  const segments = await Promise.all([0, 1, 2].map((Segment) =>
    send(ScanCommand, { TableName: 'Pages', Segment, TotalSegments: 3 })));
  assert.equal(segments.reduce((sum, { Count }) => sum + Count, 0), 30);
});

test('tables come and go, and waiters see it', async () => {
  const created = await send(CreateTableCommand, {
    TableName: 'Brief',
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
    ProvisionedThroughput: { ReadCapacityUnits: 1, WriteCapacityUnits: 1 },
  });
  assert.ok(created.TableDescription.CreationDateTime instanceof Date);
  assert.ok(Math.abs(Date.now() - created.TableDescription.CreationDateTime) < 60_000);
  const quick = { client, maxWaitTime: 30, minDelay: 1 };
  assert.equal((await waitUntilTableExists(quick, { TableName: 'Brief' })).state, 'SUCCESS');
  const { Table } = await send(DescribeTableCommand, { TableName: 'Brief' });
  assert.equal(Table.TableStatus, 'ACTIVE');
  assert.equal(Table.ItemCount, 0);
  const updated = await send(UpdateTableCommand, {
    TableName: 'Brief', ProvisionedThroughput: { ReadCapacityUnits: 2, WriteCapacityUnits: 3 },
  });
  assert.equal(updated.TableDescription.TableName, 'Brief');
  const names = [];
  for await (const page of paginateListTables({ client, pageSize: 1 }, {})) names.push(...page.TableNames);
  assert.deepEqual(names, [...names].sort());
  assert.ok(names.includes('Brief'));
  assert.ok((await send(ListTablesCommand, {})).TableNames.includes('Brief'));
  await send(DeleteTableCommand, { TableName: 'Brief' });
  assert.equal((await waitUntilTableNotExists(quick, { TableName: 'Brief' })).state, 'SUCCESS');
});

test('errors are of the classes that the client exports', async () => {
  await assert.rejects(send(GetItemCommand, { TableName: 'nothing', Key: key('x') }), (error) => {
    assert.ok(error instanceof ResourceNotFoundException);
    assert.ok(error instanceof DynamoDBServiceException);
    assert.equal(error.name, 'ResourceNotFoundException');
    assert.equal(error.message, 'Requested resource not found');
    assert.equal(error.$fault, 'client');
    assert.equal(error.$metadata.httpStatusCode, 400);
    assert.ok(error.$metadata.requestId);
    return true;
  });
  await assert.rejects(createTable(TableName, ['PK']), (error) => {
    assert.ok(error instanceof ResourceInUseException);
    assert.equal(error.message, `Table already exists: ${TableName}`);
    return true;
  });
  await assert.rejects(send(PutItemCommand, { TableName, Item: { PK: S('no sort key') } }), (error) => {
    assert.ok(error instanceof DynamoDBServiceException);
    assert.equal(error.name, 'ValidationException');
    assert.equal(error.message, 'One or more parameter values were invalid: Missing the key SK in the item');
    return true;
  });
});

test('a failed condition returns the item that failed it if asked to', async () => {
  const item = { ...key('condition'), v: N(7) };
  await send(PutItemCommand, { TableName, Item: item });
  const put = (ReturnValuesOnConditionCheckFailure) => send(PutItemCommand, {
    TableName, Item: key('condition'), ConditionExpression: 'attribute_not_exists(PK)',
    ReturnValuesOnConditionCheckFailure,
  });
  await assert.rejects(put('ALL_OLD'), (error) => {
    assert.ok(error instanceof ConditionalCheckFailedException);
    assert.equal(error.message, 'The conditional request failed');
    assert.deepEqual(error.Item, item);
    return true;
  });
  await assert.rejects(put('NONE'), (error) => {
    assert.equal(error.Item, undefined);
    return true;
  });
});

test('a transaction writes all of its items or none', async () => {
  await send(TransactWriteItemsCommand, {
    TransactItems: [
      { Put: { TableName, Item: { ...key('tx', '1'), n: N(1) } } },
      { Put: { TableName, Item: { ...key('tx', '2'), n: N(2) } } },
    ],
  });
  const failing = send(TransactWriteItemsCommand, {
    TransactItems: [
      { Update: {
        TableName, Key: key('tx', '1'), UpdateExpression: 'SET n = :n', ExpressionAttributeValues: { ':n': N(10) },
      } },
      { ConditionCheck: {
        TableName, Key: key('tx', '2'), ConditionExpression: 'n = :n', ExpressionAttributeValues: { ':n': N(3) },
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      } },
      { Delete: { TableName, Key: key('tx', '3') } },
    ],
  });
  await assert.rejects(failing, (error) => {
    assert.ok(error instanceof TransactionCanceledException);
    assert.equal(error.message, 'Transaction cancelled, please refer cancellation reasons for specific reasons ' +
      '[None, ConditionalCheckFailed, None]');
    assert.deepEqual(error.CancellationReasons.map(({ Code }) => Code), ['None', 'ConditionalCheckFailed', 'None']);
    assert.deepEqual(error.CancellationReasons[1].Item, { ...key('tx', '2'), n: N(2) });
    return true;
  });
  const { Responses } = await send(TransactGetItemsCommand, {
    TransactItems: ['1', '2', '3'].map((sk) => ({ Get: { TableName, Key: key('tx', sk) } })),
  });
  assert.deepEqual(Responses.map(({ Item }) => Item?.n), [N(1), N(2), undefined]);
});

test('a transaction repeated with its token happens once', async () => {
  const add = () => send(TransactWriteItemsCommand, {
    ClientRequestToken: 'the same token',
    TransactItems: [{ Update: {
      TableName, Key: key('token'), UpdateExpression: 'ADD n :one', ExpressionAttributeValues: { ':one': N(1) },
    } }],
  });
  await add();
  await add();
  assert.deepEqual((await send(GetItemCommand, { TableName, Key: key('token') })).Item.n, N(1));
});

test('many requests at once, each answered with its own item', async () => {
  const numbers = Array.from({ length: 200 }, (_, i) => i);
  await Promise.all(numbers.map((i) => send(PutItemCommand, { TableName, Item: { ...key(`many ${i}`), n: N(i) } })));
  const answers = await Promise.all(numbers.map((i) => send(GetItemCommand, { TableName, Key: key(`many ${i}`) })));
  assert.deepEqual(answers.map(({ Item }) => Number(Item.n.N)), numbers);
});

test('statements write and read items', async () => {
  const insert = () => send(ExecuteStatementCommand, {
    Statement: `INSERT INTO "${TableName}" VALUE {'PK': ?, 'SK': ?, 'n': ?}`, Parameters: [S('sql'), S('1'), N(1)],
  });
  await insert();
  await assert.rejects(insert(), DuplicateItemException);
  await send(ExecuteStatementCommand, {
    Statement: `UPDATE "${TableName}" SET n = n + 1 WHERE PK = 'sql' AND SK = '1'`,
  });
  const selected = await send(ExecuteStatementCommand, {
    Statement: `SELECT SK, n FROM "${TableName}" WHERE PK = ?`, Parameters: [S('sql')],
  });
  assert.deepEqual(selected.Items, [{ SK: S('1'), n: N(2) }]);

  const batch = await send(BatchExecuteStatementCommand, {
    Statements: [
      { Statement: `SELECT * FROM "${TableName}" WHERE PK = 'sql' AND SK = '1'` },
      { Statement: `SELECT * FROM "nothing" WHERE PK = 'sql' AND SK = '1'` },
    ],
  });
  assert.deepEqual(batch.Responses[0].Item, { ...key('sql', '1'), n: N(2) });
  assert.equal(batch.Responses[1].Error.Code, 'ResourceNotFound');

  await send(ExecuteTransactionCommand, {
    TransactStatements: [
      { Statement: `DELETE FROM "${TableName}" WHERE PK = 'sql' AND SK = '1'` },
      { Statement: `INSERT INTO "${TableName}" VALUE {'PK': 'sql', 'SK': '2'}` },
    ],
  });
  const { Items } = await send(QueryCommand, {
    TableName, KeyConditionExpression: 'PK = :pk', ExpressionAttributeValues: { ':pk': S('sql') },
  });
  assert.deepEqual(Items, [key('sql', '2')]);
});
