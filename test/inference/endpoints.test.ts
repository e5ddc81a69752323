import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createEndpoints as createBareEndpoints, type EndpointDependencies } from '../../src/inference/endpoints.ts'
import { createReplicas } from '../../src/inference/replicas.ts'
import { createFakeServers, replicaAt, tokenOf } from './support/fake-servers.ts'

const never = new AbortController().signal
const baseModel = 'anneal-tiny'
const createEndpoints = (dependencies: EndpointDependencies) => createBareEndpoints(dependencies, createReplicas())
const ready = { baseModel, state: 'ready', endpoint: 'http://127.0.0.1:1', generation: 3 } as const

describe('endpoints', () => {
  it('read a warm model once a second, without a wake-up', async () => {
    const servers = createFakeServers()
    const replicas = [replicaAt('http://127.0.0.1:1'), replicaAt('http://127.0.0.1:2', { isReporting: false })]
    servers.set({ ...ready, replicas })
    const endpoints = createEndpoints(servers.dependencies())
    for (let count = 0; count < 50; count++)
      assert.deepEqual(
        await endpoints.ready(baseModel, never),
        replicas.map(({ seenAt, ...replica }) => {
          return { baseModel, generation: 3, token: tokenOf(baseModel, 3), seenAtMs: seenAt.getTime(), ...replica }
        }),
      )
    assert.equal(servers.finds.length, 1)
    assert.equal(servers.wakes.length, 0)
    servers.set({ ...ready, generation: 4 })
    assert.equal((await endpoints.ready(baseModel, never))[0]?.generation, 4, 'a change is seen at once')
  })

  it('read a model in use again before the second is over, while no request waits', async ({ mock }) => {
    let nowMs = performance.now()
    mock.method(performance, 'now', () => nowMs)
    const servers = createFakeServers()
    servers.set(ready)
    const endpoints = createEndpoints(servers.dependencies())
    const generation = async () => (await endpoints.ready(baseModel, never))[0]?.generation
    assert.equal(await generation(), 3)
    servers.setSilently({ ...(servers.rows.get(baseModel) ?? assert.fail()), generation: 4 })
    nowMs += 600
    assert.equal(await generation(), 3)
    await new Promise(setImmediate)
    assert.equal(await generation(), 4)
    assert.equal(servers.finds.length, 2)
  })

  it('wake a cold model once for all waiting requests, and answer when it is ready', async () => {
    const servers = createFakeServers()
    const endpoints = createEndpoints(servers.dependencies())
    const waiting = Promise.all(Array.from({ length: 50 }, () => endpoints.ready(baseModel, never)))
    setTimeout(() => servers.set({ baseModel, state: 'starting' }), 20)
    setTimeout(() => servers.set(ready), 60)
    assert.equal((await waiting).length, 50)
    assert.deepEqual(servers.wakes, [
      { workflowId: 'model-server-anneal-tiny', kind: 'wake-model-server', generation: 0, payload: { baseModel } },
    ])
    assert.ok(servers.touches.length > 0, 'whoever wakes it also says that it is in use')
  })

  it('find a server that is ready though its notification was lost', async () => {
    const servers = createFakeServers((name) =>
      servers.setSilently({
        baseModel: name,
        state: 'ready',
        generation: 3,
        replicas: [replicaAt('http://127.0.0.1:1')],
        reason: null,
        message: null,
        lastUsedAt: new Date(),
      }),
    )
    assert.equal((await createEndpoints(servers.dependencies()).ready(baseModel, never)).length, 1)
  })

  it('wait for the first replica of a server that has lost all of them', async () => {
    const servers = createFakeServers(() => setTimeout(() => servers.set(ready), 20))
    servers.set({ ...ready, endpoint: undefined, replicas: [] })
    const endpoints = createEndpoints(servers.dependencies())
    assert.equal((await endpoints.ready(baseModel, never))[0]?.url, ready.endpoint)
    assert.equal(servers.wakes.length, 1)
  })

  it('give up after the cold start timeout, saying when to come back', async () => {
    const endpoints = createEndpoints(createFakeServers().dependencies({ coldStartTimeoutMs: 100 }))
    await assert.rejects(endpoints.ready(baseModel, never), {
      code: 'unavailable',
      message: /still starting/,
      retryAfterSeconds: 5,
    })
  })

  it('report the reason of a wait, and the end of the previous start', async () => {
    const servers = createFakeServers()
    const endpoints = createEndpoints(servers.dependencies({ coldStartTimeoutMs: 20 }))
    const refusal = async (reason: string, message: string) => {
      servers.set({ baseModel, state: 'starting', reason, message })
      return endpoints.ready(baseModel, never).then(
        () => assert.fail('it is not ready'),
        (error: Error) => error.message,
      )
    }
    assert.match(await refusal('unschedulable', 'No node has room.'), /in a moment\. No node has room\.$/)
    assert.match(await refusal('loading_model', 'Fetching x: 3 of 9 MB.'), /in a moment\. Fetching x: 3 of 9 MB\.$/)
    assert.match(await refusal('killed', 'Ended.\nlog'), /in a moment\. The last start failed: Ended\.$/)
  })

  it('tell why a server cannot start, without its log, and do not start it again for each caller', async () => {
    const failed = {
      baseModel,
      state: 'failed',
      reason: 'model_unavailable',
      message: 'Its weights cannot be found or loaded.\nTraceback /secret/path',
    } as const
    const servers = createFakeServers((name) => {
      setTimeout(() => servers.set({ baseModel: name, generation: 8, state: 'starting' }), 10)
      setTimeout(() => servers.set({ ...failed, generation: 8 }), 30)
    })
    servers.set({ ...failed, generation: 7 })
    const endpoints = createEndpoints(servers.dependencies())
    for (let count = 0; count < 3; count++)
      await assert.rejects(endpoints.ready(baseModel, never), {
        code: 'unavailable',
        message: 'The model anneal-tiny cannot be served. Its weights cannot be found or loaded.',
      })
    assert.equal(servers.wakes.length, 1)
  })

  it('let a caller leave without ending the others', async () => {
    const servers = createFakeServers()
    const endpoints = createEndpoints(servers.dependencies())
    const leaving = new AbortController()
    const left = endpoints.ready(baseModel, leaving.signal)
    const stayed = endpoints.ready(baseModel, never)
    leaving.abort(new Error('left'))
    await assert.rejects(left, /left/)
    servers.set(ready)
    assert.equal((await stayed)[0]?.generation, 3)
  })
})
