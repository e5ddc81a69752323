// The behaviour that every backend for model servers must show: locally, on the small API server, and on the real cluster.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { ModelServerCompute, ModelServerSpec, ModelServerState } from '../../../src/compute/model-servers.ts'
import type { RunRef } from '../../../src/compute/run.ts'
import { until, patienceMs } from '../../support/eventually.ts'

type ModelServerBackend = {
  compute: ModelServerCompute
  /** The compute of another worker on the same machine or cluster. */
  another: ModelServerCompute
  /** This launch of the model server `server`, whose program is this shell script. */
  run: (server: string, launch: number, script: string) => ModelServerSpec
}

const serves = 'echo serving; while :; do sleep 0.1; done'

/** @param open is called for each test and cleans up after it; every test uses names of its own */
export function modelServersConform(open: (t: TestContext) => ModelServerBackend | Promise<ModelServerBackend>): void {
  test('a model server runs until it is terminated, and a repeated launch adopts it', async (t) => {
    const { compute, another, run } = await open(t)
    const spec = run('model-server-one', 1, serves)
    const { name } = spec
    const { uid, adopted } = await compute.launch(spec)
    assert(!adopted)
    const { end, running } = observe(t, compute, { name, uid })
    await running()
    assert.deepEqual(await another.launch(spec), { uid, adopted: true })
    assert.deepEqual(
      (await another.list({ server: 'model-server-one' })).map((each) => [each.name, each.labels['launch'], each.uid]),
      [[name, '1', uid]],
    )
    assert.deepEqual(await compute.list({ server: 'model-server-other' }), [])
    await until('it says so', async () => (await compute.readLogTail({ name }, 100)) === 'serving\n')
    await another.terminate({ name, uid }, { graceMs: 1_000 })
    assert(['failed', 'gone'].includes((await end).state))
    assert(['failed', 'gone'].includes((await compute.probe({ name, uid })).state))
    await compute.terminate({ name, uid }, { graceMs: 1_000 })
  })

  test('another run of the name is gone, and terminate leaves it alone', async (t) => {
    const { compute, run } = await open(t)
    const spec = run('model-server-two', 1, serves)
    const { uid } = await compute.launch(spec)
    await observe(t, compute, { name: spec.name, uid }).running()
    const other = { name: spec.name, uid: 'another' }
    assert.deepEqual(await compute.probe(other), { state: 'gone' })
    await compute.terminate(other, { graceMs: 0 })
    assert.equal((await compute.probe({ name: spec.name, uid })).state, 'running')
  })

  test('the next launch starts once the previous launch is terminated', async (t) => {
    const { compute, run } = await open(t)
    const [first, second] = [run('model-server-three', 1, serves), run('model-server-three', 2, serves)]
    const launched = await compute.launch(first)
    await compute.terminate({ name: first.name, uid: launched.uid }, { graceMs: 1_000 })
    const { uid } = await compute.launch(second)
    await observe(t, compute, { name: second.name, uid }).running()
    assert.notEqual(uid, launched.uid)
    assert(['failed', 'gone'].includes((await compute.probe({ name: first.name, uid: launched.uid })).state))
  })

  test('a program that cannot live is a failed run with its exit code, and its last words can be read', async (t) => {
    const { compute, run } = await open(t)
    const spec = run('model-server-four', 1, 'echo no such folder; exit 69')
    const { uid } = await compute.launch(spec)
    const ended = await observe(t, compute, { name: spec.name, uid }).end
    assert.partialDeepStrictEqual(ended, { state: 'failed', uid, reason: 'exited', exitCode: 69 })
    assert.match((await compute.readLogTail({ name: spec.name }, 100)) ?? '', /no such folder\n$/)
  })

  test('a name that is no DNS label is refused by every verb', async (t) => {
    const { compute, run } = await open(t)
    const spec = { ...run('model-server-five', 1, serves), name: '../escape' }
    const { name } = spec
    const invalid = { code: 'invalid' }
    await assert.rejects(compute.launch(spec), invalid)
    await assert.rejects(compute.probe({ name }), invalid)
    await assert.rejects(compute.watch({ name }, { signal: t.signal }), invalid)
    await assert.rejects(compute.readLogTail({ name }, 1), invalid)
    await assert.rejects(compute.terminate({ name }, { graceMs: 0 }), invalid)
  })
}

function observe(t: TestContext, compute: ModelServerCompute, run: RunRef) {
  const states: ModelServerState[] = []
  const signal = AbortSignal.any([t.signal, AbortSignal.timeout(patienceMs)])
  const end = compute.watch(run, { signal, onState: (state) => void states.push(state) })
  end.catch(() => undefined)
  // A Deployment without a running replica also counts as running, with no instances.
  const runs = (state: ModelServerState) => state.state === 'running' && state.instances?.length !== 0
  return { end, running: () => until('it runs', () => states.some(runs)) }
}
