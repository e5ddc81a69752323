// Two workers and one model server: what the first goes on with, after the second took over, touches no newer launch.
import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createModelServerActivities, type ModelServerActivities } from '../../activities/model-servers.ts'
import type { ModelServerCompute } from '../../src/compute/model-servers.ts'
import { parseCatalogue } from '../../src/domain/catalogue.ts'
import { modelServerName } from '../../src/domain/identifiers.ts'
import { root } from '../../tools/paths.mjs'
import { shellModelServers, testHome } from '../compute/local/support.ts'
import { createRows } from '../inference/support/model-server-rig.ts'

const catalogue = parseCatalogue(JSON.parse(readFileSync(join(root, 'models.json'), 'utf8')))
const baseModel = catalogue.defaultCompletionModel.name
const settings = { secret: 'a secret', internalUrl: 'http://internal', terminationGraceMs: 1000 }

type Rows = ReturnType<typeof createRows>

const workerOn =
  ({ repository, notifications }: Rows) =>
  (modelServers: ModelServerCompute): ModelServerActivities =>
    createModelServerActivities({
      database: { modelServers: repository, now: async () => new Date() },
      notifications,
      modelServers,
      catalogue,
      settings,
    })

function world(t: TestContext) {
  const waiting = ['/bin/sh', '-c', 'exec sleep 600']
  const compute = shellModelServers(testHome(t), { programs: { trainer: waiting, 'model-server': waiting } })
  const rows = createRows()
  const living = async () =>
    (await compute.list({ server: modelServerName(baseModel) }))
      .filter(({ state }) => state.state === 'running')
      .map(({ labels }) => Number(labels['launch']))
  return { compute, rows, worker: workerOn(rows), living }
}

const run = <T>(activity: () => Promise<T>) => new MockActivityEnvironment().run(activity) as Promise<T>

async function launchNext(worker: ModelServerActivities) {
  const server = { baseModel, ...(await run(() => worker.openModelServer({ baseModel }))) }
  await run(() => worker.launchModelServer(server))
  return server
}

/** A compute whose next list is held, before it is asked or after, until it is let go. */
function held(compute: ModelServerCompute, isAsked: boolean) {
  const reached = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const list: ModelServerCompute['list'] = async (labels) => {
    const before = isAsked ? await compute.list(labels) : null
    reached.resolve()
    await gate.promise
    return before ?? compute.list(labels)
  }
  return { compute: { ...compute, list }, reached: reached.promise, letGo: gate.resolve }
}

type Late = (worker: ModelServerActivities, first: { baseModel: string; generation: number }) => Promise<unknown>

/** What the first worker does with the first launch is held; meanwhile the second ends that and opens the next. */
async function overtaken(t: TestContext, isAsked: boolean, late: Late) {
  const { compute, rows, worker, living } = world(t)
  const second = worker(compute)
  const first = await launchNext(second)
  const pause = held(compute, isAsked)
  const doing = run(() => late(worker(pause.compute), first))
  await pause.reached
  await run(() => second.stopModelServer({ ...first, idleTimeoutMs: null }))
  const next = await launchNext(second)
  pause.letGo()
  await doing
  return { rows, living, next }
}

for (const isAsked of [false, true]) {
  const when = isAsked ? 'after' : 'before'

  test(`a stop that is held ${when} its list ends no newer launch`, async (t) => {
    const { rows, living, next } = await overtaken(t, isAsked, (worker, first) =>
      worker.stopModelServer({ ...first, idleTimeoutMs: null }),
    )
    assert.deepEqual(await living(), [next.generation])
    assert.equal(rows.get(baseModel)?.state, 'starting')
  })

  test(`a launch that is held ${when} its list ends no newer one, and starts nothing beside it`, async (t) => {
    const { living, next } = await overtaken(t, isAsked, (worker, first) => worker.launchModelServer(first))
    assert.deepEqual(await living(), [next.generation])
  })
}

test('a launch that begins after a newer one was opened is refused', async (t) => {
  const { compute, worker, living } = world(t)
  const first = await launchNext(worker(compute))
  await run(() => worker(compute).stopModelServer({ ...first, idleTimeoutMs: null }))
  const { generation } = await run(() => worker(compute).openModelServer({ baseModel }))
  assert.equal(generation, first.generation + 1)
  await assert.rejects(
    run(() => worker(compute).launchModelServer(first)),
    { type: 'fenced', nonRetryable: true },
  )
  assert.deepEqual(await living(), [])
})

test('a row that a restore took back opens a launch that never ran', async (t) => {
  const { compute, worker, living } = world(t)
  for (let launches = 0; launches < 2; launches++) {
    const server = await launchNext(worker(compute))
    await run(() => worker(compute).stopModelServer({ ...server, idleTimeoutMs: null }))
  }
  assert.deepEqual(await living(), [])
  const restored = workerOn(createRows())(compute)
  assert.deepEqual(await run(() => restored.openModelServer({ baseModel })), { generation: 3 })
})
