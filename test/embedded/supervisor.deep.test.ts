// What the supervisor goes on after: the deaths, the taken ports and the interrupted starts that npm test leaves out.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { processId } from '../../src/embedded/connection.ts'
import { stopStack } from '../../src/embedded/stop.ts'
import { identify } from '../../tools/pid-lock.mjs'
import {
  answers,
  isRunning,
  makeHome,
  processesOf,
  query,
  startStack,
  suiteStack,
  whenReady,
} from './support/stack-process.ts'
import { eventually } from '../support/eventually.ts'

describe('the supervisor that was struck', () => {
  const { dir, current, connection, startAgain } = suiteStack()

  for (const name of ['api', 'worker', 's3', 'temporal', 'postgres'] as const) {
    test(`starts ${name} again after kill -9, under a pid that connection.json then has`, async () => {
      const before = connection()
      const killed = processId(before, name)
      process.kill(killed, 'SIGKILL')
      const now = await eventually(() => {
        const found = connection()
        const pid = found.processes[name]
        return pid !== undefined && pid !== killed && isRunning(pid) && found
      })
      assert.ok(!isRunning(killed))
      assert.deepEqual({ ...now, processes: null }, { ...before, processes: null })
      await eventually(() => answers(`${now.apiUrl}/readyz`))
    })
  }

  test('after kill -9 of the supervisor alone, the next start ends its processes and goes on', async () => {
    const before = connection()
    current().process.kill('SIGKILL')
    await current().exited
    const now = await startAgain()
    assert.match(current().output(), /ending the processes of a killed supervisor/)
    for (const pid of Object.values(before.processes)) assert.ok(!isRunning(pid))
    assert.deepEqual({ ...now, processes: null }, { ...before, processes: null })
  })

  test('after kill -9 of everything, the next start has all data', async () => {
    const { databaseUrl, processes } = connection()
    await query(databaseUrl, 'CREATE TABLE kept AS SELECT 42 AS answer')
    current().process.kill('SIGKILL')
    for (const pid of Object.values(processes)) process.kill(pid, 'SIGKILL')
    await current().exited
    await startAgain()
    assert.deepEqual(await query(databaseUrl, 'SELECT answer FROM kept'), [{ answer: 42 }])
  })

  test("takes a new port when another program has the server's port", async () => {
    const kept = JSON.parse(readFileSync(join(dir, 'ports.json'), 'utf8')) as { s3: number; internal: number }
    assert.ok(await stopStack(dir, () => {}))
    const stranger = createServer().listen(kept.s3, '127.0.0.1')
    await once(stranger, 'listening')
    const now = await startAgain()
    stranger.close()
    assert.match(current().output(), new RegExp(`port ${kept.s3} \\(s3\\) is in use`))
    assert.notEqual(now.s3.endpoint, `http://127.0.0.1:${kept.s3}`)
    assert.equal(now.internalUrl, `http://127.0.0.1:${kept.internal}`)
  })

  test('a lock of a process that is gone, even one whose pid another process has now, holds nothing up', async () => {
    assert.ok(await stopStack(dir, () => {}))
    const reused = { ...identify(process.pid), startTime: 'an earlier boot 1' }
    writeFileSync(join(dir, 'anneal.lock'), JSON.stringify(reused))
    await startAgain()
  })
})

describe('a start that cannot succeed at first', () => {
  test('says that the port is in use, exits 1, and leaves nothing that the next start trips over', async () => {
    const home = makeHome()
    const stranger = createServer().listen(0, '127.0.0.1')
    await once(stranger, 'listening')
    const { port } = stranger.address() as { port: number }
    const refused = startStack(home.dir, port)
    assert.equal(await refused.exited, 1)
    assert.match(refused.output(), new RegExp(`Port ${port} is in use`))
    assert.deepEqual(processesOf(home.dir), [])
    stranger.close()
    await once(stranger, 'close')
    const stack = startStack(home.dir, port)
    await whenReady(home.dir, stack)
    stack.process.kill('SIGINT')
    assert.equal(await stack.exited, 0)
    home.remove()
  })

  test('interrupted in the middle of its first start, it ends everything and can start again', async () => {
    const home = makeHome()
    const interrupted = startStack(home.dir)
    await eventually(() => existsSync(join(home.dir, 'postgres.tmp')) || existsSync(join(home.dir, 'postgres')))
    interrupted.process.kill('SIGTERM')
    assert.equal(await interrupted.exited, 0)
    assert.deepEqual(processesOf(home.dir), [])
    const stack = startStack(home.dir)
    await whenReady(home.dir, stack)
    stack.process.kill('SIGTERM')
    assert.equal(await stack.exited, 0)
    home.remove()
  })
})
