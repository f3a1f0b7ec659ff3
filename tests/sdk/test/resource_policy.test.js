// Resource policies, which Debian's boto3 does not know yet.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DeleteResourcePolicyCommand, DescribeTableCommand, GetResourcePolicyCommand, PolicyNotFoundException,
  PutResourcePolicyCommand,
} from '@aws-sdk/client-dynamodb';
import { client, createTable } from './support.js';

const send = (Command, input) => client.send(new Command(input));

test('a policy is attached, changed at its revision and removed', async () => {
  await createTable('Guarded', ['PK']);
  const ResourceArn = (await send(DescribeTableCommand, { TableName: 'Guarded' })).Table.TableArn;
  const policy = (action) => JSON.stringify({
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Principal: { AWS: '123456789012' }, Action: [action], Resource: '*' }],
  });
  const first = (await send(PutResourcePolicyCommand, { ResourceArn, Policy: policy('dynamodb:*') })).RevisionId;
  const again = (await send(PutResourcePolicyCommand, { ResourceArn, Policy: policy('dynamodb:*') })).RevisionId;
  assert.equal(again, first);
  const second = (await send(PutResourcePolicyCommand, {
    ResourceArn, Policy: policy('dynamodb:GetItem'), ExpectedRevisionId: first,
  })).RevisionId;
  assert.notEqual(second, first);
  assert.match((await send(GetResourcePolicyCommand, { ResourceArn })).Policy, /GetItem/);
  const removed = await send(DeleteResourcePolicyCommand, { ResourceArn, ExpectedRevisionId: second });
  assert.equal(removed.RevisionId, second);
  await assert.rejects(send(GetResourcePolicyCommand, { ResourceArn }), PolicyNotFoundException);
});
