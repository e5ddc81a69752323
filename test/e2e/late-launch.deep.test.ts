// A worker that is paused in the middle of a launch goes on after everything was released: what it starts then does nothing.
import { Client, Connection } from '@temporalio/client'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, suite, test } from 'node:test'
import { processId } from '../../src/embedded/connection.ts'
import { attemptRunName } from '../../src/domain/identifiers.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { root } from '../../tools/paths.mjs'
import { reaperWorkflowId, setPausedSignal } from '../../workflows/contract.ts'
import { isStopped, livingInGroup, livingTrainers, pidOf } from '../support/processes.ts'
import { sampleRows, shortRun } from '../support/rows.ts'
import { connection, openAccount, runFolder } from '../support/stack.ts'
import { launchSleeper } from './support/sleeper.ts'
import { eventually } from '../support/eventually.ts'

suite('a launch that goes on after its release', async () => {
  const api = await openAccount()
  const temporal = await Connection.connect({ address: connection().temporalAddress })
  const reaper = new Client({ connection: temporal }).workflow.getHandle(reaperWorkflowId)
  const database = connectDatabase(connection().databaseUrl, { poolSize: 1 })
  const worker = startWorker()
  after(async () => {
    worker.process.kill('SIGKILL')
    await reaper.signal(setPausedSignal, false)
    await temporal.close()
    await database.close()
  })

  /** Either worker may get the launch; only that of the second is paused. */
  async function pausedLaunch(): Promise<number> {
    for (let tries = 0; tries < 20; tries++) {
      const id = await api.train({ data: sampleRows, finetune_args: shortRun })
      const where = await eventually(() => {
        if (isStopped(worker.process.pid ?? assert.fail())) return 'paused'
        return pidOf(attemptRunName(id, 1)) !== null && 'elsewhere'
      })
      if (where === 'paused') return id
      await api.post(`/v1/train/jobs/${id}/cancel`)
      await api.untilStatus(id, 'CANCELLED')
    }
    return assert.fail('the second worker was never given a launch')
  }

  test('is refused at its claim; without a claim the reaper ends the run', async () => {
    await worker.ready
    const id = await pausedLaunch()
    const name = attemptRunName(id, 1)
    // It must not come before the claim.
    await reaper.signal(setPausedSignal, true)
    await api.post(`/v1/train/jobs/${id}/cancel`)
    const cancelled = await api.untilStatus(id, 'CANCELLED')
    const released = await database.attempts.get({ jobId: id, number: 1 })
    assert.ok(released.releasedAt)
    assert.deepEqual(livingTrainers(id), [])

    // The release has taken the name, so a launch on this machine would end here. After a day the folder is removed, and
    // on a cluster there never was one: the launch succeeds.
    rmSync(runFolder(name), { recursive: true })
    worker.process.kill('SIGCONT')
    const exit = join(runFolder(name), 'exit')
    await eventually(() => existsSync(exit))
    assert.equal(readFileSync(exit, 'utf8'), '77')
    assert.match(readFileSync(join(runFolder(name), 'log'), 'utf8'), / Fenced: /)
    assert.deepEqual(livingTrainers(id), [])
    const { runUid: _runUid, ...after } = await database.attempts.get({ jobId: id, number: 1 })
    assert.deepEqual({ ...after, runUid: released.runUid }, released)
    assert.deepEqual(await api.job(id), cancelled)

    const silent = attemptRunName(id, 2)
    await launchSleeper(silent, 'trainer', { job: String(id), attempt: '1', account: 'none' })
    const pid = await eventually(() => pidOf(silent))
    await reaper.signal(setPausedSignal, false)
    await eventually(() => livingInGroup(pid).length === 0)
    assert.deepEqual(await api.job(id), cancelled)
  })
})

/** A second one like that of the stack, which stops itself in the middle of its first launch of a trainer. */
function startWorker() {
  const own = readFileSync(`/proc/${processId(connection(), 'worker')}/environ`, 'utf8')
    .split('\0')
    .filter(Boolean)
  const env = Object.fromEntries(
    own.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  const preload = new URL('support/stop-at-launch.ts', import.meta.url).href
  const child = spawn(process.execPath, ['--import', preload, join(root, 'src/worker.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const lines = createInterface(child.stdout)
  const ready = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      if (line.includes('worker ready')) resolve()
    })
  })
  const ended = once(child, 'exit').then(([code]) => assert.fail(`the second worker ended with ${code}`))
  return { process: child, ready: Promise.race([ready, ended]) }
}
