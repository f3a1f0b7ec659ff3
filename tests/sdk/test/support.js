// What the tests share: a server of their own for each test file, and tables to work on.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import readline from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CreateTableCommand, DynamoDBClient, waitUntilTableExists } from '@aws-sdk/client-dynamodb';

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..');
const START_TIMEOUT_MS = 30_000;

// Starts an in-memory server, ended with the test file. Sets the environment so that a client configured with a region
// alone, as documents write it, reaches the server.
async function startStator() {
  const binary = process.env.STATOR_BINARY ?? path.join(ROOT, 'build/stator');
  const child = spawn(binary, ['--in-memory', '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const failed = once(child, 'error').then(([error]) => {
    throw error;
  });
  process.on('exit', () => child.kill());
  after(async () => {
    if (child.exitCode !== null) throw new Error(`the server ended during the tests with code ${child.exitCode}`);
    const closed = once(child, 'exit');
    child.kill();
    await closed;
  });

  const timeout = setTimeout(() => child.kill(), START_TIMEOUT_MS);
  const ready = (async () => {
    for await (const line of readline.createInterface({ input: child.stdout })) {
      const found = /is ready: https?:\/\/[^\s/]+:(\d+)/.exec(line);
      if (found) return `http://127.0.0.1:${found[1]}`;
    }
    throw new Error('the server ended without a ready line');
  })();
  const endpoint = await Promise.race([ready, failed]);
  clearTimeout(timeout);
  return endpoint;
}

for (const name of ['AWS_PROFILE', 'AWS_SESSION_TOKEN', 'AWS_ENDPOINT_URL']) delete process.env[name];
export const endpoint = await startStator();
Object.assign(process.env, {
  AWS_ACCESS_KEY_ID: 'AKIAIOSFODNN7EXAMPLE',
  AWS_SECRET_ACCESS_KEY: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  AWS_REGION: 'us-east-1',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_ENDPOINT_URL_DYNAMODB: endpoint,
});

// One attempt for each request: a retry would hide an error that is not a client's fault.
export const client = new DynamoDBClient({ maxAttempts: 1 });
after(() => client.destroy());

// createTable('Orders', ['PK', 'SK'], { GSI1: ['GSI1PK', 'GSI1SK'] }): string keys, on demand, ready when it returns.
export async function createTable(name, keys, indexes = {}) {
  const schema = (names) =>
    names.map((AttributeName, i) => ({ AttributeName, KeyType: i === 0 ? 'HASH' : 'RANGE' }));
  const attributes = new Set([...keys, ...Object.values(indexes).flat()]);
  await client.send(new CreateTableCommand({
    TableName: name,
    KeySchema: schema(keys),
    AttributeDefinitions: [...attributes].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    ...(Object.keys(indexes).length > 0 && {
      GlobalSecondaryIndexes: Object.entries(indexes).map(([IndexName, names]) => ({
        IndexName, KeySchema: schema(names), Projection: { ProjectionType: 'ALL' },
      })),
    }),
    BillingMode: 'PAY_PER_REQUEST',
  }));
  await waitUntilTableExists({ client, maxWaitTime: 30, minDelay: 1 }, { TableName: name });
}
