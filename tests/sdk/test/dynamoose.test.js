// Dynamoose: it creates its own table, and models share it.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import dynamoose from 'dynamoose';
import { endpoint } from './support.js';

dynamoose.aws.ddb.local(endpoint);

const schema = new dynamoose.Schema({
  pk: { type: String, hashKey: true },
  sk: { type: String, rangeKey: true },
  status: { type: String, index: { name: 'byStatus', type: 'global', rangeKey: 'total' } },
  total: Number,
  name: String,
  tags: { type: Set, schema: [String] },
  address: { type: Object, schema: { city: String, lines: { type: Array, schema: [String] } } },
  photo: Buffer,
  placed: Date,
}, { timestamps: true });

const Shop = dynamoose.model('ShopItem', schema);
const table = new dynamoose.Table('shop', [Shop], {
  initialize: false, waitForActive: { enabled: true, check: { timeout: 30_000, frequency: 50 } },
});

before(() => table.initialize());

test('the table has the keys and the index of the schema', async () => {
  const { Table } = await dynamoose.aws.ddb().describeTable({ TableName: 'shop' });
  assert.deepEqual(Table.KeySchema.map(({ AttributeName }) => AttributeName), ['pk', 'sk']);
  assert.deepEqual(Table.GlobalSecondaryIndexes.map(({ IndexName }) => IndexName), ['byStatus']);
});

test('a model is created once, read, updated and deleted', async () => {
  const values = {
    pk: 'USER#1', sk: 'PROFILE', name: 'Jane', tags: new Set(['a', 'b']),
    address: { city: 'Praha', lines: ['1'] }, photo: Buffer.from([0, 255]), placed: new Date(1_700_000_000_000),
  };
  await Shop.create(values);
  await assert.rejects(Shop.create(values), { name: 'ConditionalCheckFailedException' });
  const read = await Shop.get({ pk: 'USER#1', sk: 'PROFILE' });
  for (const name of ['name', 'tags', 'address', 'placed']) assert.deepEqual(read[name], values[name]);
  assert.deepEqual([...read.photo], [0, 255]);
  assert.ok(read.createdAt instanceof Date || typeof read.createdAt === 'number');

  const updated = await Shop.update({ pk: 'USER#1', sk: 'PROFILE' }, { $SET: { name: 'Joan' }, $ADD: { total: 5 } });
  assert.equal(updated.name, 'Joan');
  assert.equal(updated.total, 5);
  await Shop.delete({ pk: 'USER#1', sk: 'PROFILE' });
  assert.equal(await Shop.get({ pk: 'USER#1', sk: 'PROFILE' }), undefined);
});

test('queries, an index, a scan and batches', async () => {
  const orders = Array.from({ length: 10 }, (_, i) => ({
    pk: 'USER#2', sk: `ORDER#${i}`, status: i % 2 ? 'shipped' : 'pending', total: 100 - i,
  }));
  await Shop.batchPut(orders);
  const mine = await Shop.query('pk').eq('USER#2').where('sk').beginsWith('ORDER#').sort('descending').limit(3).exec();
  assert.deepEqual(mine.map(({ sk }) => sk), ['ORDER#9', 'ORDER#8', 'ORDER#7']);
  assert.deepEqual(mine.lastKey, { pk: 'USER#2', sk: 'ORDER#7' });
  const pending = await Shop.query('status').eq('pending').where('total').gt(95).using('byStatus').exec();
  assert.deepEqual(pending.map(({ total }) => total), [96, 98, 100]);
  const scanned = await Shop.scan('total').lt(93).exec();
  assert.deepEqual(scanned.map(({ total }) => total).sort(), [91, 92]);
  const got = await Shop.batchGet([{ pk: 'USER#2', sk: 'ORDER#1' }, { pk: 'USER#2', sk: 'ORDER#2' }]);
  assert.equal(got.length, 2);
  assert.equal((await Shop.query('pk').eq('USER#2').count().exec()).count, 10);
});

test('a transaction', async () => {
  const write = () => dynamoose.transaction([
    Shop.transaction.create({ pk: 'USER#3', sk: 'PROFILE', name: 'Kim' }),
    Shop.transaction.update({ pk: 'USER#3', sk: 'COUNT' }, { $ADD: { total: 1 } }),
  ]);
  await write();
  await assert.rejects(write(), { name: 'TransactionCanceledException' });
  assert.equal((await Shop.get({ pk: 'USER#3', sk: 'COUNT' })).total, 1);
});
