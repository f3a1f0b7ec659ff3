// Indexes whose keys have up to four attributes each.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { CreateTableCommand, DescribeTableCommand, waitUntilTableExists } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { client } from './support.js';

const TableName = 'TournamentMatches';
const documents = DynamoDBDocumentClient.from(client);

// The document shows the part of a table definition that is new; the table's own key is added here.
const table = {
  TableName,
  KeySchema: [{ AttributeName: 'matchId', KeyType: 'HASH' }],
  AttributeDefinitions: [
    { AttributeName: 'matchId', AttributeType: 'S' },
    { AttributeName: 'tournament', AttributeType: 'S' },
    { AttributeName: 'region', AttributeType: 'S' },
    { AttributeName: 'round', AttributeType: 'S' },
    { AttributeName: 'score', AttributeType: 'N' },
  ],
  GlobalSecondaryIndexes: [
    {
      IndexName: 'TournamentRegionIndex',
      KeySchema: [
        { AttributeName: 'tournament', KeyType: 'HASH' }, // Composite PK part 1
        { AttributeName: 'region', KeyType: 'HASH' }, // Composite PK part 2
        { AttributeName: 'score', KeyType: 'RANGE' },
      ],
      Projection: { ProjectionType: 'ALL' },
    },
    {
      IndexName: 'RoundScoreIndex',
      KeySchema: [
        { AttributeName: 'tournament', KeyType: 'HASH' },
        { AttributeName: 'round', KeyType: 'RANGE' },
        { AttributeName: 'score', KeyType: 'RANGE' },
      ],
      Projection: { ProjectionType: 'KEYS_ONLY' },
    },
  ],
  BillingMode: 'PAY_PER_REQUEST',
};

const MATCHES = [
  ['m1', 'WINTER2024', 'NA-EAST', 'FINAL', 90],
  ['m2', 'WINTER2024', 'NA-EAST', 'SEMI', 70],
  ['m3', 'WINTER2024', 'NA-EAST', 'SEMI', 9],
  ['m4', 'WINTER2024', 'NA-WEST', 'SEMI', 80],
  ['m5', 'SUMMER2024', 'NA-EAST', 'FINAL', 85],
].map(([matchId, tournament, region, round, score]) => ({ matchId, tournament, region, round, score }));

before(async () => {
  await client.send(new CreateTableCommand(table));
  await waitUntilTableExists({ client, maxWaitTime: 30, minDelay: 1 }, { TableName });
  for (const Item of MATCHES) await documents.send(new PutCommand({ TableName, Item }));
});

const query = async (IndexName, KeyConditionExpression, values, more = {}) => {
  const ExpressionAttributeValues = Object.fromEntries(Object.entries(values).map(([k, v]) => [`:${k}`, v]));
  const names = KeyConditionExpression.includes('#region') && { ExpressionAttributeNames: { '#region': 'region' } };
  const input = { TableName, IndexName, KeyConditionExpression, ExpressionAttributeValues, ...names, ...more };
  return documents.send(new QueryCommand(input));
};
const ids = ({ Items }) => Items.map(({ matchId }) => matchId);

test('the table describes its keys in the order they were given', async () => {
  const { Table } = await client.send(new DescribeTableCommand({ TableName }));
  for (const index of table.GlobalSecondaryIndexes) {
    const described = Table.GlobalSecondaryIndexes.find(({ IndexName }) => IndexName === index.IndexName);
    assert.deepEqual(described.KeySchema, index.KeySchema);
  }
});

test('a partition is all of its attributes', async () => {
  const found = await query('TournamentRegionIndex', 'tournament = :t AND #region = :r',
    { t: 'WINTER2024', r: 'NA-EAST' });
  assert.deepEqual(ids(found), ['m3', 'm2', 'm1']);
  const high = await query('TournamentRegionIndex', 'tournament = :t AND #region = :r AND score > :s',
    { t: 'WINTER2024', r: 'NA-EAST', s: 50 });
  assert.deepEqual(ids(high), ['m2', 'm1']);
});

test('sort attributes are given from the left, the last of them as a range', async () => {
  const whole = await query('RoundScoreIndex', 'tournament = :t', { t: 'WINTER2024' });
  assert.deepEqual(ids(whole), ['m1', 'm3', 'm2', 'm4']);
  const round = await query('RoundScoreIndex', 'tournament = :t AND round = :r', { t: 'WINTER2024', r: 'SEMI' });
  assert.deepEqual(ids(round), ['m3', 'm2', 'm4']);
  const range = await query('RoundScoreIndex', 'tournament = :t AND round = :r AND score BETWEEN :a AND :b',
    { t: 'WINTER2024', r: 'SEMI', a: 10, b: 75 });
  assert.deepEqual(ids(range), ['m2']);
});

test('pages carry every key attribute', async () => {
  const values = { t: 'WINTER2024', r: 'NA-EAST' };
  const condition = 'tournament = :t AND #region = :r';
  const first = await query('TournamentRegionIndex', condition, values, { Limit: 1 });
  assert.deepEqual(first.LastEvaluatedKey, {
    matchId: 'm3', tournament: 'WINTER2024', region: 'NA-EAST', score: 9,
  });
  const rest = await query('TournamentRegionIndex', condition, values, { ExclusiveStartKey: first.LastEvaluatedKey });
  assert.deepEqual(ids(rest), ['m2', 'm1']);
});

test('a partition attribute cannot be left out, nor a sort attribute skipped', async () => {
  await assert.rejects(query('TournamentRegionIndex', 'tournament = :t', { t: 'WINTER2024' }),
    { name: 'ValidationException' });
  await assert.rejects(query('RoundScoreIndex', 'tournament = :t AND score > :s', { t: 'WINTER2024', s: 1 }),
    { name: 'ValidationException' });
});

test('an item that lacks one of the attributes is not in the index', async () => {
  await documents.send(new PutCommand({
    TableName, Item: { matchId: 'm9', tournament: 'SPRING2025', region: 'EU' },
  }));
  assert.deepEqual(ids(await query('TournamentRegionIndex', 'tournament = :t AND #region = :r',
    { t: 'SPRING2025', r: 'EU' })), []);
});
