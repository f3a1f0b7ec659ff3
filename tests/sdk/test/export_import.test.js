// Exports and imports with the SDK's own commands and error classes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DescribeExportCommand, DescribeImportCommand, DescribeTableCommand, ExportConflictException,
  ExportNotFoundException, ExportTableToPointInTimeCommand, ImportConflictException, ImportNotFoundException,
  ImportTableCommand, InvalidExportTimeException, ListExportsCommand, ListImportsCommand,
  PointInTimeRecoveryUnavailableException, PutItemCommand, ResourceInUseException, ScanCommand,
  TableNotFoundException, UpdateContinuousBackupsCommand,
} from '@aws-sdk/client-dynamodb';
import { client, createTable } from './support.js';

const send = (Command, input) => client.send(new Command(input));

const parameters = (TableName) => ({
  TableName,
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'PK', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'PK', KeyType: 'HASH' }],
});

async function ended(describe, status) {
  for (let i = 0; i < 3000; i++) {
    const description = await describe();
    if (description[status] !== 'IN_PROGRESS') return description;
    await sleep(10);
  }
  throw new Error('still in progress');
}
const exportEnded = (ExportArn) =>
  ended(async () => (await send(DescribeExportCommand, { ExportArn })).ExportDescription, 'ExportStatus');
const importEnded = (ImportArn) =>
  ended(async () => (await send(DescribeImportCommand, { ImportArn })).ImportTableDescription, 'ImportStatus');

await createTable('Exported', ['PK']);
const TableArn = (await send(DescribeTableCommand, { TableName: 'Exported' })).Table.TableArn;

test('an export needs recovery, a table and a moment that is over', async () => {
  await assert.rejects(send(ExportTableToPointInTimeCommand, { TableArn, S3Bucket: 'bucket' }),
    PointInTimeRecoveryUnavailableException);
  await assert.rejects(
    send(ExportTableToPointInTimeCommand, { TableArn: TableArn.replace('Exported', 'Nothing'), S3Bucket: 'bucket' }),
    TableNotFoundException);
  await send(UpdateContinuousBackupsCommand, {
    TableName: 'Exported', PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
  });
  await assert.rejects(
    send(ExportTableToPointInTimeCommand,
      { TableArn, S3Bucket: 'bucket', ExportTime: new Date(Date.now() + 3_600_000) }),
    InvalidExportTimeException);
  await assert.rejects(
    send(ExportTableToPointInTimeCommand, {
      TableArn, S3Bucket: 'bucket', ExportType: 'INCREMENTAL_EXPORT',
      IncrementalExportSpecification: { ExportFromTime: new Date(Date.now() - 3_600_000) },
    }),
    InvalidExportTimeException);
});

test('a table goes out and comes back', async () => {
  for (let i = 0; i < 30; i++) {
    await send(PutItemCommand, { TableName: 'Exported', Item: { PK: { S: `${i}` }, B: { B: new Uint8Array([i, 255]) } } });
  }
  const request = { TableArn, S3Bucket: 'bucket', S3Prefix: 'out', ClientToken: 'token' };
  const begun = (await send(ExportTableToPointInTimeCommand, request)).ExportDescription;
  assert.equal(begun.ExportFormat, 'DYNAMODB_JSON');
  assert.ok(begun.StartTime instanceof Date);
  assert.equal((await send(ExportTableToPointInTimeCommand, request)).ExportDescription.ExportArn, begun.ExportArn);
  await assert.rejects(send(ExportTableToPointInTimeCommand, { ...request, S3Prefix: 'other' }),
    ExportConflictException);
  const exported = await exportEnded(begun.ExportArn);
  assert.equal(exported.ExportStatus, 'COMPLETED');
  assert.equal(exported.ItemCount, 30);
  const listed = await send(ListExportsCommand, { TableArn });
  assert.deepEqual(listed.ExportSummaries,
    [{ ExportArn: begun.ExportArn, ExportStatus: 'COMPLETED', ExportType: 'FULL_EXPORT' }]);

  const importing = (await send(ImportTableCommand, {
    ClientToken: 'import',
    S3BucketSource: { S3Bucket: 'bucket', S3KeyPrefix: exported.ExportManifest.replace('manifest-summary.json', 'data/') },
    InputFormat: 'DYNAMODB_JSON',
    InputCompressionType: 'GZIP',
    TableCreationParameters: parameters('Imported'),
  })).ImportTableDescription;
  assert.equal(importing.ImportStatus, 'IN_PROGRESS');
  const imported = await importEnded(importing.ImportArn);
  assert.equal(imported.ImportStatus, 'COMPLETED');
  assert.equal(imported.ImportedItemCount, 30);
  assert.equal(imported.ErrorCount, 0);
  assert.deepEqual(imported.TableCreationParameters, parameters('Imported'));
  const summaries = (await send(ListImportsCommand, { TableArn: imported.TableArn })).ImportSummaryList;
  assert.deepEqual(summaries.map((one) => [one.ImportArn, one.ImportStatus]), [[importing.ImportArn, 'COMPLETED']]);

  const items = async (TableName) => (await send(ScanCommand, { TableName })).Items.sort((a, b) => a.PK.S - b.PK.S);
  assert.deepEqual(await items('Imported'), await items('Exported'));
  await assert.rejects(
    send(ImportTableCommand, {
      S3BucketSource: { S3Bucket: 'bucket' }, InputFormat: 'CSV', TableCreationParameters: parameters('Imported'),
    }),
    ResourceInUseException);
});

test('an import without a bucket fails and makes no table', async () => {
  const request = {
    ClientToken: 'nobody', S3BucketSource: { S3Bucket: 'nobody' }, InputFormat: 'CSV',
    InputFormatOptions: { Csv: { Delimiter: ';', HeaderList: ['PK', 'x'] } },
    TableCreationParameters: parameters('Missing'),
  };
  const { ImportArn } = (await send(ImportTableCommand, request)).ImportTableDescription;
  const failed = await importEnded(ImportArn);
  assert.equal(failed.ImportStatus, 'FAILED');
  assert.equal(failed.FailureCode, 'S3NoSuchBucket');
  assert.deepEqual(failed.InputFormatOptions, request.InputFormatOptions);
  await assert.rejects(
    send(ImportTableCommand, { ...request, TableCreationParameters: parameters('Another') }), ImportConflictException);
});

test('what is not there is not found', async () => {
  await assert.rejects(send(DescribeExportCommand, { ExportArn: `${TableArn}/export/01658528578619-c4d4e311` }),
    ExportNotFoundException);
  await assert.rejects(send(DescribeImportCommand, { ImportArn: `${TableArn}/import/01658528578619-c4d4e311` }),
    ImportNotFoundException);
});

test('lists are paged', async () => {
  for (let i = 0; i < 3; i++) {
    await send(ExportTableToPointInTimeCommand, { TableArn, S3Bucket: 'bucket' });
    await send(ImportTableCommand, {
      S3BucketSource: { S3Bucket: 'nobody' }, InputFormat: 'CSV', TableCreationParameters: parameters(`Paged${i}`),
    });
  }
  const all = async (Command, size, list, arn) => {
    const seen = [];
    let NextToken;
    do {
      const page = await send(Command, { ...size, NextToken });
      assert.equal(page[list].length <= 2, true);
      seen.push(...page[list].map((one) => one[arn]));
      NextToken = page.NextToken;
    } while (NextToken);
    assert.equal(new Set(seen).size, seen.length);
    return seen;
  };
  const exports = await all(ListExportsCommand, { MaxResults: 2 }, 'ExportSummaries', 'ExportArn');
  assert.equal(exports.length, 4);
  assert.deepEqual(exports, [...exports].sort().reverse());
  const imports = await all(ListImportsCommand, { PageSize: 2 }, 'ImportSummaryList', 'ImportArn');
  assert.equal(imports.length, 5);
});
