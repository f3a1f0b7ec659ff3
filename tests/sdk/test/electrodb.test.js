// ElectroDB: two entities of one service in one table, met in a collection.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { Entity, Service } from 'electrodb';
import { client, createTable } from './support.js';

const table = 'electro';

const employees = new Entity({
  model: { entity: 'employee', version: '1', service: 'taskapp' },
  attributes: {
    employeeId: { type: 'string', required: true },
    team: { type: 'string', required: true },
    name: { type: 'string', required: true },
    salary: { type: 'number' },
    skills: { type: 'set', items: 'string' },
    address: { type: 'map', properties: { city: { type: 'string' }, zip: { type: 'string' } } },
  },
  indexes: {
    employee: {
      collection: 'workload',
      pk: { field: 'pk', composite: ['employeeId'] },
      sk: { field: 'sk', composite: [] },
    },
    team: {
      index: 'gsi1',
      pk: { field: 'gsi1pk', composite: ['team'] },
      sk: { field: 'gsi1sk', composite: ['name'] },
    },
  },
}, { client, table });

const tasks = new Entity({
  model: { entity: 'task', version: '1', service: 'taskapp' },
  attributes: {
    taskId: { type: 'string', required: true },
    employeeId: { type: 'string', required: true },
    status: { type: ['open', 'done'], default: 'open' },
    points: { type: 'number', default: 0 },
    comments: { type: 'list', items: { type: 'string' } },
  },
  indexes: {
    assigned: {
      collection: 'workload',
      pk: { field: 'pk', composite: ['employeeId'] },
      sk: { field: 'sk', composite: ['taskId'] },
    },
  },
}, { client, table });

const app = new Service({ employees, tasks }, { client, table });

before(() => createTable(table, ['pk', 'sk'], { gsi1: ['gsi1pk', 'gsi1sk'] }));

const JANE = {
  employeeId: 'e1', team: 'platform', name: 'jane', salary: 100, skills: ['c++', 'sql'],
  address: { city: 'Praha', zip: '11000' },
};

test('an entity is created once, read, patched and removed', async () => {
  assert.deepEqual((await employees.create(JANE).go()).data, JANE);
  await assert.rejects(employees.create(JANE).go(), /conditional request failed/);
  assert.deepEqual((await employees.get({ employeeId: 'e1' }).go()).data, JANE);

  const patched = await employees.patch({ employeeId: 'e1' })
    .set({ address: { city: 'Brno' } }).add({ salary: 5, skills: ['go'] }).go({ response: 'all_new' });
  // A set has no order.
  assert.deepEqual({ ...patched.data, skills: patched.data.skills.sort() }, {
    ...JANE, salary: 105, skills: ['c++', 'go', 'sql'], address: { city: 'Brno' },
  });
  await assert.rejects(employees.patch({ employeeId: 'nobody' }).set({ name: 'x' }).go(), /conditional request failed/);

  await employees.remove({ employeeId: 'e1' }).go();
  assert.equal((await employees.get({ employeeId: 'e1' }).go()).data, null);
});

test('an index, a filter, and pages', async () => {
  const team = ['ann', 'bob', 'cid', 'dan', 'eve'].map((name, i) =>
    ({ employeeId: `t${i}`, team: 'data', name, salary: i * 10 }));
  assert.deepEqual((await employees.put(team).go()).unprocessed, []);
  const all = await employees.query.team({ team: 'data' }).go();
  assert.deepEqual(all.data.map(({ name }) => name), ['ann', 'bob', 'cid', 'dan', 'eve']);
  const rich = await employees.query.team({ team: 'data' })
    .where(({ salary }, { gte }) => gte(salary, 30)).go();
  assert.deepEqual(rich.data.map(({ name }) => name), ['dan', 'eve']);
  const between = await employees.query.team({ team: 'data' }).between({ name: 'b' }, { name: 'd' }).go();
  assert.deepEqual(between.data.map(({ name }) => name), ['bob', 'cid']);

  const paged = [];
  let cursor = null;
  do {
    const page = await employees.query.team({ team: 'data' }).go({ cursor, limit: 2 });
    paged.push(...page.data.map(({ name }) => name));
    cursor = page.cursor;
  } while (cursor !== null);
  assert.deepEqual(paged, ['ann', 'bob', 'cid', 'dan', 'eve']);

  const got = await employees.get([{ employeeId: 't0' }, { employeeId: 't3' }, { employeeId: 'none' }]).go();
  assert.deepEqual(got.data.map(({ name }) => name).sort(), ['ann', 'dan']);
});

test('a collection holds both entities', async () => {
  await employees.create({ employeeId: 'e2', team: 'core', name: 'joe' }).go();
  await tasks.create({ taskId: 'b', employeeId: 'e2', points: 3 }).go();
  await tasks.create({ taskId: 'a', employeeId: 'e2', comments: ['first'] }).go();
  const { data } = await app.collections.workload({ employeeId: 'e2' }).go();
  assert.deepEqual(data.employees.map(({ name }) => name), ['joe']);
  assert.deepEqual(data.tasks.map(({ taskId, status }) => [taskId, status]), [['a', 'open'], ['b', 'open']]);
  const appended = await tasks.update({ employeeId: 'e2', taskId: 'a' })
    .append({ comments: ['second'] }).set({ status: 'done' }).go({ response: 'all_new' });
  assert.deepEqual(appended.data.comments, ['first', 'second']);
});

test('a transaction over two entities', async () => {
  const write = () => app.transaction.write(({ employees, tasks }) => [
    employees.create({ employeeId: 'e3', team: 'core', name: 'kim' }).commit(),
    tasks.create({ taskId: 't', employeeId: 'e3' }).commit(),
  ]).go();
  assert.equal((await write()).canceled, false);
  const again = await write();
  assert.equal(again.canceled, true);
  assert.deepEqual(again.data.map(({ code }) => code), ['ConditionalCheckFailed', 'ConditionalCheckFailed']);
  const read = await app.transaction.get(({ employees, tasks }) => [
    employees.get({ employeeId: 'e3' }).commit(),
    tasks.get({ employeeId: 'e3', taskId: 't' }).commit(),
  ]).go();
  assert.deepEqual(read.data.map(({ item }) => item?.name ?? item?.taskId), ['kim', 't']);
});
