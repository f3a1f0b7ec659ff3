// The package against the server that STATOR_BINARY names (build/stator by default).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findBinary, start } from '../index.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
process.env.STATOR_BINARY ??= path.resolve(HERE, '../../../build/stator');
const COMMAND = path.resolve(HERE, '../bin/stator.js');

const ready = async (server) => (await fetch(`${server.endpoint}/_stator/ready`)).status;

test('a server starts in memory on a free port and stops', async () => {
  const [one, other] = await Promise.all([start(), start()]);
  assert.notEqual(one.port, other.port);
  assert.deepEqual([await ready(one), await ready(other)], [200, 200]);
  assert.equal(one.clientConfig.endpoint, one.endpoint);
  assert.equal(await one.stop(), 0);
  assert.equal(await other.stop(), 0);
  await assert.rejects(ready(one));
});

test('data in a directory outlives the server', async () => {
  const dataDir = fs.mkdtempSync(path.join(os.tmpdir(), 'stator-npm-'));
  try {
    for (let run = 0; run < 2; ++run) {
      const server = await start({ dataDir });
      assert.equal(await ready(server), 200);
      await server.stop();
    }
    assert.ok(fs.existsSync(path.join(dataDir, 'FORMAT')));
  } finally {
    fs.rmSync(dataDir, { recursive: true });
  }
});

test('a server that cannot start says why', async () => {
  await assert.rejects(start({ args: ['--prot', '1'] }), /ended with code 2 .*did you mean --port/s);
  await assert.rejects(start({ binary: '/no/such/stator' }), { code: 'ENOENT' });
});

test('the binary is found by its variable, then on the path', () => {
  const found = findBinary({ STATOR_BINARY: process.env.STATOR_BINARY });
  assert.equal(found, process.env.STATOR_BINARY);
  assert.throws(() => findBinary({ STATOR_BINARY: '/no/such/stator' }), /is no program/);
  const directory = path.dirname(process.env.STATOR_BINARY);
  assert.equal(findBinary({ PATH: `/no/such:${directory}` }), path.join(directory, 'stator'));
  assert.throws(() => findBinary({ PATH: '/no/such' }), /no stator binary/);
});

test('the command hands its arguments and signals on', async () => {
  const version = spawn(process.execPath, [COMMAND, '--version'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [text] = await once(version.stdout, 'data');
  assert.match(String(text), /^Stator \d/);
  const [code] = await once(version, 'exit');
  assert.equal(code, 0);

  const server = spawn(process.execPath, [COMMAND, '--in-memory', '--port', '0'], { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(server.stdout, 'data');
  server.kill('SIGTERM');
  assert.deepEqual(await once(server, 'exit'), [0, null]);
});
