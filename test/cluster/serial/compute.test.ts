// The compute alone on the real cluster, without Temporal and trainers. Shell scripts stand for programs.
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { after, afterEach, describe, test } from 'node:test'
import { parsePodTemplates } from '../../../src/compute/kubernetes/pods/pod-template-file.ts'
import { trainersConform } from '../../compute/conformance/trainers.ts'
import { observe, openCompute, shellRun, workerToken } from '../support/compute.ts'
import { api, control, openNamespace, until, untilReady, type Pod } from '../support/cluster.ts'

const namespace = await openNamespace()
const token = await workerToken(namespace)
const { compute } = openCompute(namespace, token)
after(async () => {
  compute.close()
  await namespace.remove()
})
afterEach(() => control.setFaults({}))

const jobs = `${namespace.inGroup('batch/v1')}/jobs`
const podOf = async (name: string) => (await namespace.pods(`anneal.dev/run=${name}`))[0]
const startedPod = (name: string) =>
  until(`a pod of ${name}`, async () => {
    const pod = await podOf(name)
    return pod?.status.phase === 'Running' && pod
  })
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
  test('that needs more memory than it may is out of memory', async (t) => {
    const name = 'ft-5-a1'
    await compute.launch(shellRun(name, 'x=a; while :; do x=$x$x; done'))
    const end = await observe(t, compute, { name }).end
    assert(end.state === 'failed' && end.reason === 'out_of_memory')
  })

  test('whose pod is deleted by hand was killed', async (t) => {
    const name = 'ft-6-a1'
    await compute.launch(shellRun(name, waits))
    const { end } = observe(t, compute, { name })
    const pod = await startedPod(name)
    await api.delete(`${namespace.path}/pods/${pod.metadata.name}`)
    const ended = await end
    assert(ended.state === 'failed' && ended.reason === 'killed' && ended.exitCode === 143)
  })

  test('that is drained was evicted', async (t) => {
    const name = 'ft-7-a1'
    await compute.launch(shellRun(name, waits))
    const { end } = observe(t, compute, { name })
    const { metadata } = await startedPod(name)
    await api.post(`${namespace.path}/pods/${metadata.name}/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: metadata.name },
    })
    const ended = await end
    assert(ended.state === 'failed' && ended.reason === 'evicted')
  })
})

describe('a run waits', () => {
  test('for an image, and not for ever', async (t) => {
    const templates = parsePodTemplates({
      trainer: { spec: { containers: [{ name: 'trainer', image: '127.0.0.1:1/none:1' }] } },
      'model-server': {},
    })
    const impatient = openCompute(namespace, token, { templates, imageTimeoutMs: 5_000 })
    t.after(() => impatient.compute.close())
    const name = 'ft-11-a1'
    await impatient.compute.launch(shellRun(name, ''))
    const { end, reaches } = observe(t, impatient.compute, { name })
    await reaches('waits for its image', (state) => state.state === 'pending' && state.reason === 'image_unavailable')
    const ended = await end
    assert(ended.state === 'failed' && ended.reason === 'image_unavailable')
    assert.match(ended.message, /127\.0\.0\.1:1/)
  })

  test('for a GPU, which is named, and runs once there is one', async (t) => {
    const name = 'ft-12-a1'
    const spec = shellRun(name, 'exit 0')
    await compute.launch({ ...spec, resources: { ...spec.resources, gpuCount: 1 } })
    const { end, reaches } = observe(t, compute, { name })
    const waiting = await reaches('waits', (state) => state.state === 'pending' && state.reason === 'unschedulable')
    assert('message' in waiting && waiting.message.startsWith('No node has enough nvidia.com/gpu free: '))
    const patch = (op: string) =>
      ['capacity', 'allocatable'].map((kind) => ({ op, path: `/status/${kind}/nvidia.com~1gpu`, value: '1' }))
    await api.patch('/api/v1/nodes/node-1/status', patch('add'), 'json-patch')
    t.after(() => api.patch('/api/v1/nodes/node-1/status', patch('remove'), 'json-patch'))
    assert.equal((await end).state, 'succeeded')
  })

  test('for quota', async (t) => {
    const quotas = `${namespace.path}/resourcequotas`
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none' }, spec: { hard: { pods: '0' } } }
    await api.post(quotas, quota)
    t.after(() => api.delete(`${quotas}/none`).catch(() => undefined))
    await until('the quota counts', async () => {
      const { status } = await api.get<{ status: { hard?: object } }>(`${quotas}/none`)
      return status.hard
    })
    const name = 'ft-13-a1'
    await compute.launch(shellRun(name, 'exit 0'))
    const { reaches } = observe(t, compute, { name })
    const state = await reaches('waits', (each) => each.state === 'pending' && each.reason === 'quota_exceeded')
    assert('message' in state && /none, requested: pods=1/.test(state.message))
    const { end } = await compute.terminate({ name }, { graceMs: 0 })
    assert(end.state === 'failed' && end.reason === 'killed' && end.exitCode === null)
    assert.deepEqual(await everythingOf(name), [])
  })

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

  for (const status of [500, 429] as const)
    test(`${status} to half of all calls changes nothing`, async (t) => {
      const name = `ft-${status}-a1`
      await control.setFaults({ status, share: 0.5 })
      await until('it is launched', async () => compute.launch(shellRun(name, `${waits}`)))
      const { states, end, runs } = observe(t, compute, { name })
      await runs()
      const pod = await startedPod(name)
      await control.setFaults({ status, share: 0.5, cutWatches: 1, cutAfterMs: 300 })
      await sleep(3_000)
      await api.delete(`${namespace.path}/pods/${pod.metadata.name}`)
      const ended = await end
      assert(ended.state === 'failed' && ended.exitCode === 143)
      const seen = states.map(({ state }) => state).filter((state) => state !== 'unreachable' && state !== 'pending')
      assert.deepEqual([...new Set(seen)], ['running', 'failed'])
    })

  test('an API server that is away for 20 s is unreachable, and what happened then is known soon after', async (t) => {
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

  test('a run on a lost node is fenced, then declared dead, and its objects go', async (t) => {
    const name = 'ft-23-a1'
    const tolerations = ['not-ready', 'unreachable'].map((key) => ({
      key: `node.kubernetes.io/${key}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 2,
    }))
    const shellContainer = { image: 'localhost/anneal-test/shell:1', command: ['sh', '-c', 'eval "$SCRIPT"'] }
    const templates = parsePodTemplates({
      trainer: { spec: { nodeName: 'node-2', tolerations, containers: [{ name: 'trainer', ...shellContainer }] } },
      'model-server': {},
    })
    const pinned = openCompute(namespace, token, { templates })
    t.after(() => pinned.compute.close())
    // Kubelets come back late from an API server that was away, and this pod tolerates that for 2 s.
    await untilReady('node-2')
    await pinned.compute.launch(shellRun(name, waits, { terminationGraceMs: 1_000 }))
    const { end, runs } = observe(t, pinned.compute, { name })
    await runs()
    await control.cut('node-2')
    try {
      const ended = await end
      assert(ended.state === 'failed' && ended.reason === 'node_lost')
      const atFence: Pod['status'][] = []
      const terminated = await pinned.compute.terminate(
        { name },
        {
          graceMs: 1_000,
          logTailBytes: 100,
          fence: async () =>
            void atFence.push(...(await namespace.pods(`anneal.dev/run=${name}`)).map((pod) => pod.status)),
        },
      )
      assert(terminated.end.state === 'failed' && terminated.end.reason === 'node_lost')
      assert.deepEqual(
        atFence.map(({ phase }) => phase),
        ['Running'],
      )
      assert.deepEqual(await everythingOf(name), [])
    } finally {
      await control.join('node-2')
      await untilReady('node-2')
    }
  })
})

test('nothing of any run is left', async () => {
  for (const run of await compute.list()) await compute.terminate(run, { graceMs: 0 })
  assert.deepEqual(await compute.list(), [])
  for (const kind of ['pods', 'secrets']) assert.deepEqual(await api.list(`${namespace.path}/${kind}`), [])
  assert.deepEqual(await api.list(jobs), [])
})
