// Point-in-time recovery and backups: every operation and its error classes.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import {
  BackupNotFoundException, CreateBackupCommand, DeleteBackupCommand, DeleteItemCommand, DeleteTableCommand,
  DescribeBackupCommand, DescribeContinuousBackupsCommand, DescribeTableCommand, InvalidRestoreTimeException,
  ListBackupsCommand, PointInTimeRecoveryUnavailableException, PutItemCommand, QueryCommand,
  RestoreTableFromBackupCommand, RestoreTableToPointInTimeCommand, ScanCommand, TableAlreadyExistsException,
  TableNotFoundException, UpdateContinuousBackupsCommand, waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { client, createTable } from './support.js';

const send = (Command, input) => client.send(new Command(input));
const item = (pk, more = {}) => ({ PK: { S: pk }, SK: { S: 'x' }, ...more });
const isActive = (TableName) => waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1, maxDelay: 1 }, { TableName });
const keysOf = async (TableName) => (await send(ScanCommand, { TableName })).Items.map((one) => one.PK.S).sort();

// Resolves in the next second, when everything answered so far is in the past.
async function nextSecond() {
  const begun = Math.floor(Date.now() / 1000);
  while (Math.floor(Date.now() / 1000) === begun) await new Promise((done) => { setTimeout(done, 20); });
  return new Date((begun + 1) * 1000);
}

before(async () => {
  await createTable('Plain', ['PK', 'SK']);
  await createTable('Kept', ['PK', 'SK'], { GSI1: ['G', 'SK'] });
});

test('recovery is enabled, shown and disabled', async () => {
  const off = await send(DescribeContinuousBackupsCommand, { TableName: 'Plain' });
  assert.deepEqual(off.ContinuousBackupsDescription, {
    ContinuousBackupsStatus: 'ENABLED', PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: 'DISABLED' },
  });
  const on = await send(UpdateContinuousBackupsCommand, {
    TableName: 'Plain', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true, RecoveryPeriodInDays: 5 },
  });
  const recovery = on.ContinuousBackupsDescription.PointInTimeRecoveryDescription;
  assert.equal(recovery.PointInTimeRecoveryStatus, 'ENABLED');
  assert.equal(recovery.RecoveryPeriodInDays, 5);
  assert.ok(recovery.EarliestRestorableDateTime instanceof Date);
  assert.ok(recovery.EarliestRestorableDateTime <= recovery.LatestRestorableDateTime);
  assert.ok(Date.now() - recovery.LatestRestorableDateTime < 60_000);
  const again = await send(UpdateContinuousBackupsCommand, {
    TableName: 'Plain', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: false },
  });
  assert.equal(again.ContinuousBackupsDescription.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus, 'DISABLED');
});

test('what was deleted comes back', async () => {
  await send(UpdateContinuousBackupsCommand, {
    TableName: 'Kept', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
  });
  await send(PutItemCommand, { TableName: 'Kept', Item: item('a', { G: { S: 'g' }, v: { N: '1' } }) });
  await send(PutItemCommand, { TableName: 'Kept', Item: item('b', { G: { S: 'g' } }) });
  const before = await nextSecond();
  await send(DeleteItemCommand, { TableName: 'Kept', Key: item('a') });
  await send(PutItemCommand, { TableName: 'Kept', Item: item('b', { G: { S: 'other' } }) });
  await send(PutItemCommand, { TableName: 'Kept', Item: item('c') });
  const answer = await send(RestoreTableToPointInTimeCommand, {
    SourceTableName: 'Kept', TargetTableName: 'Before', RestoreDateTime: before,
  });
  assert.equal(answer.TableDescription.TableStatus, 'CREATING');
  assert.deepEqual(answer.TableDescription.RestoreSummary.RestoreDateTime, before);
  assert.equal(answer.TableDescription.RestoreSummary.RestoreInProgress, true);
  await isActive('Before');
  assert.deepEqual(await keysOf('Before'), ['a', 'b']);
  const byIndex = await send(QueryCommand, {
    TableName: 'Before', IndexName: 'GSI1', KeyConditionExpression: 'G = :g',
    ExpressionAttributeValues: { ':g': { S: 'g' } },
  });
  assert.equal(byIndex.Count, 2);

  await send(RestoreTableToPointInTimeCommand, {
    SourceTableArn: (await send(DescribeTableCommand, { TableName: 'Kept' })).Table.TableArn,
    TargetTableName: 'Latest', UseLatestRestorableTime: true, GlobalSecondaryIndexOverride: [],
  });
  await isActive('Latest');
  assert.deepEqual(await keysOf('Latest'), ['b', 'c']);
  assert.equal((await send(DescribeTableCommand, { TableName: 'Latest' })).Table.GlobalSecondaryIndexes, undefined);
});

test('restores that cannot be are refused by class', async () => {
  const restore = (input) => send(RestoreTableToPointInTimeCommand, { TargetTableName: 'New', ...input });
  await assert.rejects(restore({ SourceTableName: 'Plain', UseLatestRestorableTime: true }),
    PointInTimeRecoveryUnavailableException);
  await assert.rejects(restore({ SourceTableName: 'Missing', UseLatestRestorableTime: true }), TableNotFoundException);
  await assert.rejects(restore({ SourceTableName: 'Kept', RestoreDateTime: new Date(0) }), InvalidRestoreTimeException);
  await assert.rejects(restore({ SourceTableName: 'Kept', UseLatestRestorableTime: true, TargetTableName: 'Plain' }),
    TableAlreadyExistsException);
  await assert.rejects(send(DescribeContinuousBackupsCommand, { TableName: 'Missing' }), TableNotFoundException);
});

test('a backup is made, shown, listed, restored and deleted', async () => {
  await createTable('Backed', ['PK', 'SK'], { GSI1: ['G', 'SK'] });
  await send(PutItemCommand, { TableName: 'Backed', Item: item('a', { G: { S: 'g' } }) });
  const { BackupDetails } = await send(CreateBackupCommand, { TableName: 'Backed', BackupName: 'nightly' });
  assert.match(BackupDetails.BackupArn, /:table\/Backed\/backup\/\d{14}-[0-9a-f]{8}$/);
  assert.ok(BackupDetails.BackupCreationDateTime instanceof Date);
  const { BackupArn } = BackupDetails;
  await send(PutItemCommand, { TableName: 'Backed', Item: item('later') });

  const { BackupDescription } = await send(DescribeBackupCommand, { BackupArn });
  assert.equal(BackupDescription.BackupDetails.BackupStatus, 'AVAILABLE');
  assert.equal(BackupDescription.SourceTableDetails.ItemCount, 1);
  assert.equal(BackupDescription.SourceTableDetails.BillingMode, 'PAY_PER_REQUEST');
  assert.equal(BackupDescription.SourceTableFeatureDetails.GlobalSecondaryIndexes[0].IndexName, 'GSI1');
  const listed = await send(ListBackupsCommand, {
    TableName: 'Backed', TimeRangeLowerBound: new Date(Date.now() - 60_000), TimeRangeUpperBound: new Date(Date.now() + 60_000),
  });
  assert.deepEqual(listed.BackupSummaries.map((one) => one.BackupArn), [BackupArn]);

  await send(DeleteTableCommand, { TableName: 'Backed' });
  await assert.rejects(send(RestoreTableFromBackupCommand, { BackupArn, TargetTableName: 'Kept' }),
    TableAlreadyExistsException);
  const restored = await send(RestoreTableFromBackupCommand, { BackupArn, TargetTableName: 'Backed' });
  assert.equal(restored.TableDescription.RestoreSummary.SourceBackupArn, BackupArn);
  await isActive('Backed');
  assert.deepEqual(await keysOf('Backed'), ['a']);

  const deleted = await send(DeleteBackupCommand, { BackupArn });
  assert.equal(deleted.BackupDescription.BackupDetails.BackupStatus, 'DELETED');
  await assert.rejects(send(DescribeBackupCommand, { BackupArn }), BackupNotFoundException);
  await assert.rejects(send(DeleteBackupCommand, { BackupArn }), BackupNotFoundException);
  await assert.rejects(send(CreateBackupCommand, { TableName: 'Missing', BackupName: 'nightly' }), TableNotFoundException);
});

test('a deleted table with recovery leaves a backup of the system', async () => {
  await createTable('Doomed', ['PK', 'SK']);
  await send(UpdateContinuousBackupsCommand, {
    TableName: 'Doomed', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
  });
  await send(PutItemCommand, { TableName: 'Doomed', Item: item('a') });
  await send(DeleteTableCommand, { TableName: 'Doomed' });
  const { BackupSummaries } = await send(ListBackupsCommand, { TableName: 'Doomed', BackupType: 'SYSTEM' });
  assert.equal(BackupSummaries.length, 1);
  assert.equal(BackupSummaries[0].BackupName, 'Doomed$DeletedTableBackup');
  assert.ok(BackupSummaries[0].BackupExpiryDateTime instanceof Date);
  await send(RestoreTableFromBackupCommand, { BackupArn: BackupSummaries[0].BackupArn, TargetTableName: 'Doomed' });
  await isActive('Doomed');
  assert.deepEqual(await keysOf('Doomed'), ['a']);
});
