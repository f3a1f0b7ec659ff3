// Starts a Stator server from a JavaScript test suite and ends it again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 30_000;
const READY = /is ready: (https?):\/\/(\[[^\]]+\]|[^\s/:]+):(\d+)/;

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

// The binary: what STATOR_BINARY names, else one beside this package (bin/stator), else the first on the PATH.
export function findBinary(env = process.env) {
  if (env.STATOR_BINARY) {
    if (!isProgram(env.STATOR_BINARY)) throw new Error(`STATOR_BINARY is no program: ${env.STATOR_BINARY}`);
    return path.resolve(env.STATOR_BINARY);
  }
  const beside = path.join(HERE, 'bin', 'stator');
  if (isProgram(beside)) return beside;
  for (const directory of (env.PATH ?? '').split(path.delimiter)) {
    const file = path.join(directory, 'stator');
    // npm puts the command of this package on the PATH of scripts: it is not the server.
    if (directory && isProgram(file) && fs.realpathSync(file) !== path.join(HERE, 'bin', 'stator.js')) return file;
  }
  throw new Error('no stator binary: install the Debian package, set STATOR_BINARY, or put it on the PATH');
}

function argumentsOf({ port = 0, host, inMemory, dataDir, args = [] }) {
  const given = ['--port', String(port)];
  if (host) given.push('--host', host);
  if (dataDir) given.push('--data-dir', dataDir);
  if (inMemory ?? !dataDir) given.push('--in-memory');
  return [...given, ...args];
}

// Starts a server, on a free port and in memory unless told otherwise; resolves when it takes requests.
export async function start(options = {}) {
  const binary = options.binary ?? findBinary();
  const log = [];
  const child = spawn(binary, argumentsOf(options), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
  });
  // The last lines of its log, for the message of a failed start; all of it goes on if asked.
  readline.createInterface({ input: child.stderr }).on('line', (line) => {
    log.push(line);
    if (log.length > 50) log.shift();
    if (options.log) process.stderr.write(`${line}\n`);
  });
  const killAtExit = () => child.kill('SIGKILL');
  process.once('exit', killAtExit);

  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }));
  ended.catch(() => {});
  let timer;
  try {
    const { origin, port } = await Promise.race([
      new Promise((resolve) => {
        readline.createInterface({ input: child.stdout }).on('line', (line) => {
          const found = READY.exec(line);
          if (!found) return;
          const name = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }[found[2]] ?? found[2];
          resolve({ origin: `${found[1]}://${name}`, port: Number(found[3]) });
        });
      }),
      once(child, 'error').then(([error]) => {
        throw error;
      }),
      ended.then(({ code }) => {
        throw new Error(`stator ended with code ${code} before it was ready:\n${log.join('\n')}`);
      }),
      new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`stator was not ready in time:\n${log.join('\n')}`)),
          options.startTimeoutMs ?? START_TIMEOUT_MS);
      }),
    ]);
    return new Server(child, ended, killAtExit, `${origin}:${port}`, port);
  } catch (error) {
    child.kill('SIGKILL');
    process.removeListener('exit', killAtExit);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

class Server {
  #child;
  #ended;
  #killAtExit;

  constructor(child, ended, killAtExit, endpoint, port) {
    this.#child = child;
    this.#ended = ended;
    this.#killAtExit = killAtExit;
    this.endpoint = endpoint;
    this.port = port;
    this.pid = child.pid;
  }

  // What a client of the AWS SDK needs: new DynamoDBClient(server.clientConfig).
  get clientConfig() {
    return {
      endpoint: this.endpoint,
      region: 'us-east-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    };
  }

  // Ends the server after the requests under way and resolves with its exit code.
  async stop() {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    const { code } = await this.#ended;
    clearTimeout(timer);
    process.removeListener('exit', this.#killAtExit);
    return code;
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    await this.stop();
  }
}

// Runs the command line: the binary with these arguments, signals handed on. Resolves with the exit code.
export async function run(args) {
  const child = spawn(findBinary(), args, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const [code, signal] = await Promise.race([
    once(child, 'exit'),
    once(child, 'error').then(([error]) => {
      throw error;
    }),
  ]);
  return code ?? 128 + (os.constants.signals[signal] ?? 0);
}
