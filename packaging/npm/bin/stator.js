#!/usr/bin/env node
// `npx stator-local [flags]`: the server's own command line.
import { run } from '../index.js';

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  console.error(`stator: ${error.message}`);
  process.exitCode = 1;
}
