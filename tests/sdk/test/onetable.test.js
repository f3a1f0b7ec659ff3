// OneTable: it creates its own table from a schema of several models.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { Table } from 'dynamodb-onetable';
import { Dynamo } from 'dynamodb-onetable/Dynamo';
import { client } from './support.js';

const table = new Table({
  name: 'one',
  client: new Dynamo({ client }),
  partial: true,
  schema: {
    format: 'onetable:1.1.0',
    version: '0.0.1',
    indexes: {
      primary: { hash: 'pk', sort: 'sk' },
      gs1: { hash: 'gs1pk', sort: 'gs1sk', project: 'all' },
    },
    models: {
      Account: {
        pk: { type: String, value: 'account#${id}' },
        sk: { type: String, value: 'account#' },
        id: { type: String, generate: 'ulid' },
        name: { type: String, required: true, unique: true },
        balance: { type: Number, default: 0 },
      },
      User: {
        pk: { type: String, value: 'account#${accountId}' },
        sk: { type: String, value: 'user#${email}' },
        gs1pk: { type: String, value: 'user#' },
        gs1sk: { type: String, value: 'user#${email}' },
        accountId: { type: String, required: true },
        email: { type: String, required: true },
        role: { type: String, enum: ['user', 'admin'], default: 'user' },
        registered: { type: Date },
        tags: { type: Set },
        address: { type: Object, schema: { city: { type: String }, zip: { type: String } } },
      },
    },
    params: { isoDates: true, timestamps: true },
  },
});
const Account = table.getModel('Account');
const User = table.getModel('User');

before(() => table.createTable());

test('the table has the keys and the index of the schema', async () => {
  const { Table: described } = await table.describeTable();
  assert.equal(described.TableStatus, 'ACTIVE');
  assert.deepEqual(described.GlobalSecondaryIndexes.map(({ IndexName }) => IndexName), ['gs1']);
});

test('a unique attribute is kept unique by a transaction', async () => {
  const account = await Account.create({ name: 'Acme' });
  assert.match(account.id, /^[0-9A-Z]{26}$/);
  await assert.rejects(Account.create({ name: 'Acme' }), /unique|exists/i);
  await Account.remove({ id: account.id });
  await Account.create({ name: 'Acme' });
});

test('a model is created once, read, updated and removed', async () => {
  const values = {
    accountId: '42', email: 'jane@example.com', registered: new Date(1_700_000_000_000), tags: new Set(['a']),
    address: { city: 'Praha', zip: '11000' },
  };
  await User.create(values);
  await assert.rejects(User.create(values), /Conditional|exists/);
  const key = { accountId: '42', email: 'jane@example.com' };
  const read = await User.get(key);
  for (const name of Object.keys(values)) assert.deepEqual(read[name], values[name]);
  assert.equal(read.role, 'user');

  const updated = await User.update({ ...key, role: 'admin', address: { city: 'Brno' } });
  assert.equal(updated.role, 'admin');
  assert.deepEqual(updated.address, { city: 'Brno', zip: '11000' });
  await User.remove(key);
  assert.equal(await User.get(key), undefined);
});

test('numbers are added, and updates have conditions', async () => {
  const { id } = await Account.create({ name: 'Counter', balance: 10 });
  assert.equal((await Account.update({ id }, { add: { balance: 5 } })).balance, 15);
  await assert.rejects(
    Account.update({ id }, { add: { balance: -100 }, where: '${balance} >= {100}' }), /Conditional/);
  assert.equal((await Account.get({ id })).balance, 15);
});

test('find by keys, by index and page by page', async () => {
  const emails = ['a@x', 'b@x', 'c@x', 'd@x', 'e@x'];
  const batch = {};
  for (const email of emails) await User.create({ accountId: '77', email }, { batch });
  await table.batchWrite(batch);
  const all = await User.find({ accountId: '77' });
  assert.deepEqual(all.map(({ email }) => email), emails);
  const some = await User.find({ accountId: '77', sk: { between: ['user#b@x', 'user#d@x'] } });
  assert.deepEqual(some.map(({ email }) => email), ['b@x', 'c@x', 'd@x']);
  const byIndex = await User.find({ email: 'c@x' }, { index: 'gs1' });
  assert.deepEqual(byIndex.map(({ accountId }) => accountId), ['77']);

  const paged = [];
  let next;
  do {
    const page = await User.find({ accountId: '77' }, { limit: 2, next });
    paged.push(...page.map(({ email }) => email));
    next = page.next;
  } while (next);
  assert.deepEqual(paged, emails);
  assert.ok((await User.scan({ accountId: '77' })).length === 5);
});

test('a transaction over two models', async () => {
  const transaction = {};
  await Account.create({ id: 'tx', name: 'Transacted' }, { transaction });
  await User.create({ accountId: 'tx', email: 'kim@x' }, { transaction });
  assert.equal(await User.get({ accountId: 'tx', email: 'kim@x' }), undefined);
  await table.transact('write', transaction);
  const items = await table.fetch(['Account', 'User'], { pk: 'account#tx' });
  assert.equal(items.Account[0].name, 'Transacted');
  assert.equal(items.User[0].email, 'kim@x');
});
