import { WorkflowFailedError } from '@temporalio/client'
import { ApplicationFailure } from '@temporalio/common'
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { modelServerRunName } from '../../src/domain/identifiers.ts'
import { searchAttributes } from '../../workflows/contract.ts'
import { startRig, type Rig } from '../inference/support/model-server-rig.ts'
import { until } from '../support/eventually.ts'

const hourMs = 60 * 60 * 1000

describe('the workflow of a model server', () => {
  let rig: Rig
  let stopWorkers: () => Promise<void>
  /** Of the row, which all tests share as a real installation would. */
  const generation = () => rig.rows.get(rig.baseModel)?.generation ?? 0
  const state = () => rig.rows.get(rig.baseModel)?.state
  const isAlive = (pid: number) =>
    existsSync(`/proc/${pid}/stat`) && !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')

  before(async () => {
    rig = await startRig()
    stopWorkers = await rig.startWorkers()
  })
  after(async () => {
    await stopWorkers()
    await rig.close()
  })
  afterEach(async () => {
    const handle = rig.client.workflow.getHandle(`model-server-${rig.baseModel}`)
    await handle.cancel().catch(() => undefined)
    await handle.result().catch(() => undefined)
    rmSync(join(rig.home, 'exit'), { force: true })
  })

  async function startServer(idleTimeoutMs = hourMs) {
    const next = generation() + 1
    const handle = await rig.wake(rig.baseModel, idleTimeoutMs)
    await rig.reportReady(rig.baseModel, next)
    return { handle, generation: next, pid: rig.pid(rig.baseModel, next) }
  }

  it('starts a killed server again, with a new token, saying why it was away', async () => {
    const first = await startServer()
    process.kill(first.pid, 'SIGKILL')
    await until('the end is recorded', () => rig.rows.get(rig.baseModel)?.reason === 'killed')
    assert.equal(rig.rows.get(rig.baseModel)?.state, 'starting')
    assert.match(rig.rows.get(rig.baseModel)?.message ?? '', /SIGKILL/)
    await rig.reportReady(rig.baseModel, first.generation + 1)
    assert.notEqual(rig.pid(rig.baseModel, first.generation + 1), first.pid)
    assert.equal((await first.handle.describe()).status.name, 'RUNNING')
  })

  it('stops an idle server and completes; the next wake starts the server again', async () => {
    const { handle, pid, generation: served } = await startServer(700)
    assert.match(String(await handle.result()), /stopped: not used/)
    assert.ok(!isAlive(pid))
    assert.equal(state(), 'stopped')
    const folder = join(rig.home, 'runs', modelServerRunName(rig.baseModel, served))
    assert.ok(existsSync(join(folder, 'exit')), 'its end can still be looked up')
    await startServer()
  })

  it('keeps a server that is in use', async () => {
    const { pid } = await startServer(1000)
    const leave = rig.rows.use()
    const looksBefore = rig.rows.looks()
    await until('the workflow has looked at its last use', () => rig.rows.looks() > looksBefore + 3)
    leave()
    assert.equal(state(), 'ready')
    assert.ok(isAlive(pid))
  })

  it('loses no wake that comes while it stops', async () => {
    const { handle, generation: first } = await startServer(700)
    await until('it is stopping', () => state() === 'stopping')
    await rig.wake(rig.baseModel, 700)
    await rig.reportReady(rig.baseModel, first + 1)
    assert.match(String(await handle.result()), /stopped: not used/)
  })

  it('fails with the reason when the weights are missing, and tries again at the next wake', async () => {
    writeFileSync(join(rig.home, 'exit'), '69')
    const handle = await rig.wake(rig.baseModel, hourMs)
    await assert.rejects(handle.result(), (error) => {
      assert.ok(error instanceof WorkflowFailedError && error.cause instanceof ApplicationFailure)
      assert.equal(error.cause.type, 'model_unavailable')
      return true
    })
    assert.equal(state(), 'failed')
    assert.match(
      rig.rows.get(rig.baseModel)?.message ?? '',
      /^The weights of the model cannot be found or loaded\.\n[^]*the last words$/,
    )
    rmSync(join(rig.home, 'exit'))
    await startServer()
  })

  it('ends the server when the workflow is cancelled', async () => {
    const { handle, pid } = await startServer()
    await handle.cancel()
    await assert.rejects(handle.result(), WorkflowFailedError)
    assert.equal((await handle.describe()).status.name, 'CANCELLED')
    assert.ok(!isAlive(pid))
    assert.equal(state(), 'stopped')
  })

  it('leaves a living server alone when workers restart or its workflow is terminated', async () => {
    const { handle, pid, generation: first } = await startServer()
    await stopWorkers()
    assert.ok(isAlive(pid))
    stopWorkers = await rig.startWorkers()
    await handle.terminate('a test')
    const second = await rig.wake(rig.baseModel, hourMs)
    await until('the new run serves', () => isAlive(pid))
    await second.query('__temporal_workflow_metadata')
    assert.equal(rig.pid(rig.baseModel, first), pid)
    assert.equal(generation(), first)
    process.kill(pid, 'SIGKILL')
    await rig.reportReady(rig.baseModel, first + 1)
  })

  it('shows its state in the Temporal UI', async () => {
    const { handle, generation: launched } = await startServer()
    const statusOf = async () => (await handle.describe()).typedSearchAttributes.get(searchAttributes.status)
    await until('the status is shown', async () => (await statusOf()) === 'ready')
    const metadata = await handle.query<{ currentDetails: string }, []>('__temporal_workflow_metadata')
    assert.equal(metadata.currentDetails, `**ready** · generation ${launched}`)
    const { events } = await handle.fetchHistory()
    const summaries = events?.flatMap(({ userMetadata }) => userMetadata?.summary?.data?.toString() ?? [])
    assert.deepEqual(summaries, ['"open a generation"', '"launch"', '"wait until it is ready"', '"serve"'])
  })
})
