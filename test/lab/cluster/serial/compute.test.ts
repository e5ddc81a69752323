// The compute alone on the real cluster, without Temporal and trainers. Shell scripts stand for programs.
import assert from 'node:assert/strict'
import { after, afterEach, describe, test } from 'node:test'
import { parsePodTemplates } from '../../../../src/compute/kubernetes/pods/pod-template-file.ts'
import { trainersConform } from '../../../compute/conformance/trainers.ts'
import { observe, openCompute, shellRun, workerToken } from '../support/compute.ts'
import { api, control, openNamespace, until } from '../support/cluster.ts'

const namespace = await openNamespace()
const token = await workerToken(namespace)
const { compute } = openCompute(namespace, token)
after(async () => {
  compute.close()
  await namespace.remove()
})
afterEach(() => control.setFaults({}))

const jobs = `${namespace.inGroup('batch/v1')}/jobs`
const everythingOf = async (name: string) => {
  const objects = [jobs, `${namespace.path}/pods`, `${namespace.path}/secrets`].map((path) =>
    api.list(`${path}?labelSelector=${encodeURIComponent(`anneal.dev/run=${name}`)}`),
  )
  return (await Promise.all(objects)).flat().map(({ metadata }) => metadata.name)
}
const waits = 'trap "echo saved; exit 143" TERM; echo ready; while :; do sleep 0.1; done'

describe('trainers on the cluster', () =>
  trainersConform((t) => {
    const another = openCompute(namespace, token).compute
    t.after(() => another.close())
    return {
      compute,
      another,
      run: shellRun,
      async cutOff() {
        await control.setFaults({ status: 503, cutWatches: 1, cutAfterMs: 100 })
        return { restore: async () => void (await control.setFaults({})) }
      },
    }
  }))

describe('a run', () => {
  test('is not even created with a template that the namespace refuses', async (t) => {
    const templates = parsePodTemplates({
      trainer: { spec: { hostNetwork: true, containers: [{ name: 'trainer', image: 'x:1' }] } },
      'model-server': {},
    })
    const root = openCompute(namespace, token, { templates })
    t.after(() => root.compute.close())
    await assert.rejects(root.compute.launch(shellRun('ft-14-a1', '')), {
      code: 'invalid',
      message: /violates PodSecurity "restricted.*hostNetwork=true/,
    })
    assert.deepEqual(await everythingOf('ft-14-a1'), [])
  })
})

describe('trouble', () => {
  test('a lost answer to the create makes no second Job', async () => {
    const name = 'ft-21-a1'
    await control.setFaults({ methods: ['POST'], path: '/jobs$', status: 500, late: true })
    const launching = compute.launch(shellRun(name, waits))
    await until('the Job', async () => (await everythingOf(name)).length > 0)
    await control.setFaults({})
    const { uid, adopted } = await launching
    assert(adopted)
    const list = await api.list(jobs)
    assert.deepEqual(
      list.filter(({ metadata }) => metadata.name === name).map(({ metadata }) => metadata.uid),
      [uid],
    )
    await compute.terminate({ name }, { graceMs: 0 })
  })

  test('reports unreachable while the API server is away for 20 s, and the missed events soon after', async (t) => {
    const name = 'ft-22-a1'
    await compute.launch(shellRun(name, 'sleep 12; exit 3'))
    const { states, end, runs, reaches } = observe(t, compute, { name })
    await runs()
    await control.stop('control', 'kube-apiserver')
    try {
      await reaches('is unreachable', ({ state }) => state === 'unreachable')
      assert.equal((await compute.probe({ name })).state, 'unreachable')
      await assert.rejects(compute.terminate({ name }, { graceMs: 0 }), { code: 'unavailable' })
    } finally {
      await control.start('control', 'kube-apiserver')
      await until('the API server', api.answers)
    }
    const backAtMs = performance.now()
    const ended = await end
    t.diagnostic(`known ${Math.round(performance.now() - backAtMs)} ms after the API server was back`)
    assert(ended.state === 'failed' && ended.exitCode === 3)
    assert(!states.some(({ state }) => state === 'gone'))
  })
})

test('nothing of any run is left', async () => {
  for (const run of await compute.list()) await compute.terminate(run, { graceMs: 0 })
  assert.deepEqual(await compute.list(), [])
  for (const kind of ['pods', 'secrets']) assert.deepEqual(await api.list(`${namespace.path}/${kind}`), [])
  assert.deepEqual(await api.list(jobs), [])
})
