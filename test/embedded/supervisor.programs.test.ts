// The promises of the embedded stack, checked from outside.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { stopStack } from '../../src/embedded/stop.ts'
import { identify } from '../../tools/pid-lock.mjs'
import {
  answers,
  isRunning,
  makeHome,
  processesOf,
  query,
  readConnection,
  startStack,
  suiteStack,
} from './support/stack-process.ts'

describe('the supervisor', () => {
  const { dir, current, connection } = suiteStack()

  test('is ready with a private connection.json that names every address and process', async () => {
    assert.deepEqual(Object.keys(connection()), [
      ...['apiUrl', 'internalUrl', 'adminUrl', 'apiKey', 'operatorToken', 'baseModel'],
      ...['temporalAddress', 'temporalUiUrl', 'databaseUrl', 's3', 'processes'],
    ])
    assert.equal(statSync(join(dir, 'connection.json')).mode & 0o777, 0o600)
    assert.match(connection().apiKey, /^ank_[0-9a-f]{16}_[A-Za-z0-9_-]{43}$/)
    assert.ok(await answers(`${connection().apiUrl}/readyz`))
    for (const pid of Object.values(connection().processes)) assert.ok(isRunning(pid))
  })

  test('has a database with the schema of the migrations and pgvector, behind a password', async () => {
    const url = connection().databaseUrl
    const [row] = await query<{ distance: number }>(url, `SELECT '[1,0]'::vector <-> '[0,0]'::vector AS distance`)
    assert.equal(row?.distance, 1)
    assert.equal((await query(url, 'SELECT FROM training_jobs')).length, 0)
    const wrong = Object.assign(new URL(url), { password: 'wrong' }).href
    await assert.rejects(query(wrong, 'SELECT 1'), /password authentication failed/)
  })

  test('registers the search attributes of the workflows', async () => {
    const response = await fetch(`${connection().temporalUiUrl}/api/v1/namespaces/default/search-attributes`)
    const { customAttributes } = (await response.json()) as { customAttributes: Record<string, string> }
    for (const name of ['AnnealAccount', 'AnnealBaseModel', 'AnnealStatus', 'AnnealReason', 'AnnealAttempt']) {
      assert.ok(name in customAttributes, name)
    }
  })

  test('keeps the workflows of ended jobs for a month', async () => {
    const response = await fetch(`${connection().temporalUiUrl}/api/v1/namespaces/default`)
    const { config } = (await response.json()) as { config: { workflowExecutionRetentionTtl: string } }
    assert.equal(config.workflowExecutionRetentionTtl, `${30 * 86_400}s`)
  })

  test('a second start on the same home names the addresses and exits 0', async () => {
    const second = startStack(dir)
    assert.equal(await second.exited, 0)
    assert.match(second.output(), /already runs/)
    assert.ok(second.output().includes(connection().apiUrl))
  })

  test('SIGTERM ends every process, runs included, and removes connection.json', async () => {
    const run = await startRun(dir)
    const exited = once(run, 'exit')
    current().process.kill('SIGTERM')
    assert.equal(await current().exited, 0)
    assert.deepEqual(await exited, [143, null])
    assert.equal(readConnection(dir), null)
    assert.deepEqual(processesOf(dir), [])
    for (const file of ['anneal.lock', 'children.json']) assert.ok(!existsSync(join(dir, file)), file)
  })
})

describe('a start that cannot succeed', () => {
  test('says that the data directory cannot be used', async () => {
    const home = makeHome()
    const file = join(home.dir, 'a-file')
    writeFileSync(file, '')
    const refused = startStack(join(file, 'home'))
    assert.equal(await refused.exited, 1)
    assert.match(refused.output(), /data directory .* cannot be used/)
    assert.equal(refused.output().trim().split('\n').length, 1)
    home.remove()
  })
})

test('npm stop on a home where nothing runs says so', async () => {
  const home = makeHome()
  assert.equal(await stopStack(home.dir, () => {}), false)
  assert.equal(await stopStack(join(home.dir, 'never-made'), () => {}), false)
  home.remove()
})

/** As src/compute/local leaves one: a process that leads its group, with its files in HOME/runs/<name>. */
async function startRun(home: string) {
  const folder = join(home, 'runs/ft-1-a1')
  await mkdir(folder, { recursive: true })
  const checkpointing = `trap 'exit 143' TERM; echo ready; while :; do sleep 0.05; done`
  const run = spawn('sh', ['-c', checkpointing], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
  await once(run.stdout, 'data')
  const { pid, startTime } = identify(run.pid ?? 0)
  writeFileSync(join(folder, 'pid'), String(pid))
  writeFileSync(join(folder, 'pid.started'), startTime)
  return run
}
