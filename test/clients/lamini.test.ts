// The lamini SDK from PyPI, as programs written years ago use it: two environment variables, nothing else.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { suite, test } from 'node:test'
import { root } from '../../tools/paths.mjs'
import { clientEnv } from '../../tools/setup/client-env.mjs'
import { connection, openAccount } from '../support/stack.ts'

/** Some of these clients wait for ever. */
const clientTimeoutMs = 240_000
const folder = join(root, 'test/clients/lamini')

for (const [version, script] of [
  ['3.2.22', 'newest.py'],
  ['3.0.5', 'older.py'],
  ['2.5.4', 'older.py'],
  ['2.1.2', 'older.py'],
] as const)
  suite(`lamini ${version}`, async () => {
    const results = await runChecks(version, script)
    for (const { check, error } of results) test(check, () => void (error !== null && assert.fail(error)))
    test('ran all its checks', () => assert.ok(results.length >= 6))
  })

/** What a script said about each of its checks. */
async function runChecks(version: string, script: string) {
  const [env, { apiKey }] = [await clientEnv(join(folder, `requirements-${version}.txt`)), await openAccount()]
  const client = spawn(join(env, 'bin/python'), [join(folder, script)], {
    env: {
      PATH: process.env['PATH'],
      HOME: env,
      LAMINI_API_URL: connection().apiUrl,
      LAMINI_API_KEY: apiKey,
      BASE_MODEL: connection().baseModel,
      SAMPLE_FILE: join(root, 'models/samples/products.jsonl'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: clientTimeoutMs,
  })
  let chatter = ''
  client.stderr.on('data', (chunk) => (chatter += String(chunk)))
  const results: { check: string; error: string | null }[] = []
  for await (const line of createInterface(client.stdout)) results.push(JSON.parse(line))
  assert.ok(results.length > 0, chatter)
  return results
}
