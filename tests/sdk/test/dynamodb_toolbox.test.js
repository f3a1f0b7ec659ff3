// DynamoDB-Toolbox: entities with computed keys in one table.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import {
  $add, $append, $remove, BatchGetCommand, BatchGetRequest, BatchPutRequest, BatchWriteCommand, DeleteItemCommand,
  Entity, EntityRepository, GetItemCommand, PutItemCommand, PutTransaction, QueryCommand, ScanCommand, Table,
  UpdateItemCommand, UpdateTransaction, executeBatchGet, executeBatchWrite, executeTransactWrite, item, list, map,
  number, prefix, set, string,
} from 'dynamodb-toolbox';
import { client, createTable } from './support.js';

const table = new Table({
  name: 'toolbox',
  documentClient: DynamoDBDocumentClient.from(client, { marshallOptions: { removeUndefinedValues: true } }),
  partitionKey: { name: 'PK', type: 'string' },
  sortKey: { name: 'SK', type: 'string' },
  indexes: {
    byStatus: {
      type: 'global',
      partitionKey: { name: 'status', type: 'string' },
      sortKey: { name: 'placed', type: 'string' },
    },
  },
});

const Customer = new Entity({
  name: 'CUSTOMER',
  table,
  schema: item({
    customerId: string().key().transform(prefix('CUSTOMER')).savedAs('PK'),
    profile: string().key().default('PROFILE').savedAs('SK'),
    name: string(),
    orders: number().default(0),
    tags: set(string()).optional(),
    address: map({ city: string(), lines: list(string()) }).optional(),
  }),
});

const Order = new Entity({
  name: 'ORDER',
  table,
  schema: item({
    customerId: string().key().transform(prefix('CUSTOMER')).savedAs('PK'),
    orderId: string().key().transform(prefix('ORDER')).savedAs('SK'),
    status: string().enum('pending', 'shipped').default('pending'),
    placed: string(),
    total: number(),
  }),
});

before(() => createTable('toolbox', ['PK', 'SK'], { byStatus: ['status', 'placed'] }));

const without = ({ created, modified, entity, ...rest }) => rest;

test('an entity is put, read, updated and deleted', async () => {
  const customer = {
    customerId: '1', name: 'Jane', tags: new Set(['a', 'b']), address: { city: 'Praha', lines: ['Na Příkopě 1'] },
  };
  await Customer.build(PutItemCommand).item(customer).options({
    condition: { attr: 'customerId', exists: false },
  }).send();
  await assert.rejects(
    Customer.build(PutItemCommand).item(customer).options({ condition: { attr: 'customerId', exists: false } }).send(),
    { name: 'ConditionalCheckFailedException' });
  const read = await Customer.build(GetItemCommand).key({ customerId: '1' }).options({ consistent: true }).send();
  assert.deepEqual(without(read.Item), { ...customer, profile: 'PROFILE', orders: 0 });

  const updated = await Customer.build(UpdateItemCommand).item({
    customerId: '1', orders: $add(3), address: { lines: $append(['patro 2']) }, tags: $remove(),
  }).options({ returnValues: 'ALL_NEW' }).send();
  assert.equal(updated.Attributes.orders, 3);
  assert.deepEqual(updated.Attributes.address.lines, ['Na Příkopě 1', 'patro 2']);
  assert.equal(updated.Attributes.tags, undefined);

  await Customer.build(DeleteItemCommand).key({ customerId: '1' }).send();
  assert.equal((await Customer.build(GetItemCommand).key({ customerId: '1' }).send()).Item, undefined);
});

test('queries return entities of a partition and of an index', async () => {
  await Customer.build(PutItemCommand).item({ customerId: '2', name: 'Joe' }).send();
  const orders = [['a', 'pending', '2024-01-02'], ['b', 'shipped', '2024-01-01'], ['c', 'pending', '2024-01-01']];
  const puts = orders.map(([orderId, status, placed]) =>
    Order.build(BatchPutRequest).item({ customerId: '2', orderId, status, placed, total: 9.5 }));
  await executeBatchWrite(table.build(BatchWriteCommand).requests(...puts));

  const partition = await table.build(QueryCommand)
    .query({ partition: 'CUSTOMER#2', range: { beginsWith: 'ORDER#' } }).entities(Order)
    .options({ reverse: true }).send();
  assert.deepEqual(partition.Items.map(({ orderId }) => orderId), ['c', 'b', 'a']);
  const pending = await table.build(QueryCommand)
    .query({ index: 'byStatus', partition: 'pending', range: { gte: '2024-01-01' } }).entities(Order)
    .options({ filters: { ORDER: { attr: 'total', gt: 9 } } }).send();
  assert.deepEqual(pending.Items.map(({ orderId }) => orderId), ['c', 'a']);

  const got = await executeBatchGet(table.build(BatchGetCommand).requests(
    Order.build(BatchGetRequest).key({ customerId: '2', orderId: 'a' }),
    Customer.build(BatchGetRequest).key({ customerId: '2' })));
  assert.deepEqual(got.Responses[0].map((entity) => entity.name ?? entity.orderId), ['a', 'Joe']);
  const scanned = await table.build(ScanCommand).entities(Order, Customer).options({ maxPages: Infinity }).send();
  assert.equal(scanned.Items.filter(({ customerId }) => customerId === '2').length, 4);
});

test('a repository does the same in one word each', async () => {
  const customers = Customer.build(EntityRepository);
  await customers.put({ customerId: '4', name: 'Kim' });
  await customers.update({ customerId: '4', orders: $add(1) });
  assert.equal((await customers.get({ customerId: '4' })).Item.orders, 1);
  await customers.delete({ customerId: '4' });
});

test('a transaction over two entities', async () => {
  const place = () => executeTransactWrite(
    Order.build(PutTransaction).item({ customerId: '3', orderId: 'x', placed: '2024-05-05', total: 1 })
      .options({ condition: { attr: 'orderId', exists: false } }),
    Customer.build(UpdateTransaction).item({ customerId: '3', name: 'Eve', orders: $add(1) }));
  await place();
  await assert.rejects(place(), { name: 'TransactionCanceledException' });
  const { Item } = await Customer.build(GetItemCommand).key({ customerId: '3' }).send();
  assert.equal(Item.orders, 1);
});
