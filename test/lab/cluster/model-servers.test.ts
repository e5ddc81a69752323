// The verbs for model servers on the real cluster. The program is a shell script, because the program itself is not tested.
import { KubeConfig } from '@kubernetes/client-node'
import assert from 'node:assert/strict'
import { after, afterEach, describe, test } from 'node:test'
import type { ModelServerCompute, ModelServerSpec, ModelServerState } from '../../../src/compute/model-servers.ts'
import type { EndState } from '../../../src/compute/run.ts'
import { createConnection } from '../../../src/compute/kubernetes/api/connection.ts'
import { createCluster } from '../../../src/compute/kubernetes/cluster.ts'
import { createKubernetesModelServers } from '../../../src/compute/kubernetes/model-servers/kubernetes-model-servers.ts'
import { parsePodTemplates } from '../../../src/compute/kubernetes/pods/pod-template-file.ts'
import { modelServersConform } from '../../compute/conformance/model-servers.ts'
import { patienceMs } from '../../support/eventually.ts'
import { api, cluster, openNamespace, until, untilReady } from './support/cluster.ts'

const serving = 'mkdir -p /tmp/www; echo ok > /tmp/www/health; exec httpd -f -p 8000 -h /tmp/www'
const server = 'model-server-tiny'
const name = `${server}-g1`
const nextName = `${server}-g2`

const namespace = await openNamespace()
const imageTimeoutMs = 8_000

function open(
  script: string,
  container: Record<string, unknown> = {},
  pod: Record<string, unknown> = {},
): ModelServerCompute {
  const config = new KubeConfig()
  config.loadFromFile(cluster.kubeconfig)
  const main = { name: 'model-server', image: 'localhost/anneal-test/shell:1', command: ['sh', '-c', script] }
  const shared = createCluster({
    connection: createConnection(config),
    namespace: namespace.name,
    templates: parsePodTemplates({
      trainer: {},
      'model-server': { spec: { containers: [{ ...main, ...container }], ...pod } },
    }),
    gpuResource: 'nvidia.com/gpu',
    instance: 'blue',
    callsPerSecond: 50,
    callBurst: 100,
    imageTimeoutMs,
    nodeLostAfterMs: 10_000,
  })
  return createKubernetesModelServers(shared)
}

const specOf = (more: Partial<ModelServerSpec> = {}): ModelServerSpec => ({
  name,
  labels: { server, launch: '1' },
  env: {},
  secretEnv: { ANNEAL_TOKEN: 'a secret' },
  resources: { cpuCount: 0.05, memoryBytes: 32 << 20, gpuCount: 0 },
  replicas: 1,
  terminationGraceMs: 1_000,
  ...more,
})

/** Collects the states of a run in their order. */
function follow(compute: ModelServerCompute, uid: string, of = name) {
  const states: ModelServerState[] = []
  const stopping = new AbortController()
  const end = compute.watch({ name: of, uid }, { signal: stopping.signal, onState: (state) => void states.push(state) })
  end.catch(() => undefined)
  return { states, end, last: () => states.at(-1), stop: () => stopping.abort() }
}

const instancesOf = (state: ModelServerState | undefined) => (state?.state === 'running' ? (state.instances ?? []) : [])

describe('model servers on the cluster', () => {
  const [compute, another] = [open('eval "$SCRIPT"'), open('eval "$SCRIPT"')]
  after(() => [compute, another].forEach((each) => each.close()))
  modelServersConform((t) => ({
    compute,
    another,
    run(of, launch, script) {
      const spec = specOf({
        name: `${of}-g${launch}`,
        labels: { server: of, launch: String(launch) },
        env: { SCRIPT: script },
      })
      t.after(() => compute.terminate({ name: spec.name }, { graceMs: 1_000 }))
      return spec
    },
  }))
})

describe('a model server on the cluster', { timeout: 600_000 }, () => {
  const opened: ModelServerCompute[] = []
  const using = (...how: Parameters<typeof open>) => {
    const compute = open(...how)
    opened.push(compute)
    return compute
  }
  afterEach(async () => {
    for (const each of [name, nextName]) await opened[0]?.terminate({ name: each }, { graceMs: 1_000 })
    for (const compute of opened.splice(0)) compute.close()
  })
  after(() => namespace.remove())

  const objects = async () =>
    Promise.all(
      [
        `${namespace.inGroup('apps/v1')}/deployments`,
        `${namespace.path}/services`,
        `${namespace.inGroup('policy/v1')}/poddisruptionbudgets`,
        `${namespace.path}/secrets`,
        `${namespace.path}/pods`,
      ].map((path) => api.list(path)),
    )

  test('has its replicas, a Service, a budget and a Secret; a repeated launch finds it, and its end leaves nothing', async () => {
    // If a node were not ready, both replicas would run on the other node.
    await Promise.all(['node-1', 'node-2'].map(untilReady))
    const compute = using(serving)
    const spec = specOf({ replicas: 2 })
    const { uid, adopted } = await compute.launch(spec)
    assert.equal(adopted, false)
    assert.deepEqual(await compute.launch(spec), { uid, adopted: true })
    const watched = follow(compute, uid)
    const names = await until('two replicas', async () => {
      const instances = instancesOf(watched.last())
      return instances.length === 2 && instances
    })
    const counts = (await objects()).map((list) => list.length)
    assert.deepEqual(counts, [1, 1, 1, 1, 2])
    const nodes = (await namespace.pods(`anneal.dev/run=${name}`)).map(({ spec: { nodeName } }) => nodeName)
    assert.equal(new Set(nodes).size, 2, 'on different nodes')
    await until('both are ready', async () => {
      const [deployment] = (await objects())[0] ?? []
      return (deployment?.['status'] as { readyReplicas?: number })?.readyReplicas === 2
    })
    const [listed] = await compute.list({ server })
    assert.deepEqual(
      { name: listed?.name, uid: listed?.uid, launch: listed?.labels['launch'], state: listed?.state },
      { name, uid, launch: '1', state: { state: 'running', uid, instances: names } },
    )
    await compute.terminate({ name, uid }, { graceMs: 1_000 })
    assert.deepEqual((await watched.end).state, 'gone')
    assert.deepEqual(
      (await objects()).map((list) => list.length),
      [0, 0, 0, 0, 0],
    )
  })

  test('can be launched again at once after its end, with a Secret of its own', async () => {
    const compute = using(serving)
    const first = await compute.launch(specOf())
    await compute.terminate({ name, uid: first.uid }, { graceMs: 1_000 })
    const second = await compute.launch(specOf({ name: nextName, labels: { server, launch: '2' } }))
    const watched = follow(compute, second.uid, nextName)
    await until('it runs', async () => instancesOf(watched.last()).length === 1)
    const [, services, , secrets] = await objects()
    for (const object of [...(services ?? []), ...(secrets ?? [])])
      assert.equal((object.metadata['ownerReferences'] as { uid: string }[])[0]?.uid, second.uid)
    assert.deepEqual(await compute.probe({ name, uid: first.uid }), { state: 'gone' })
    watched.stop()
  })

  test('gets another replica for a replica that is taken away', async () => {
    const compute = using(serving)
    const { uid } = await compute.launch(specOf({ replicas: 2 }))
    const watched = follow(compute, uid)
    await until('two replicas', async () => instancesOf(watched.last()).length === 2)
    const before = instancesOf(watched.last())
    await api.delete(`${namespace.path}/pods/${before[0]}`)
    await until('another one', async () => {
      const now = instancesOf(watched.last())
      return now.length === 2 && !now.includes(before[0] ?? '') && now.includes(before[1] ?? '')
    })
    assert.ok(
      watched.states.some((state) => instancesOf(state).join() === before[1]),
      'in between it is said that one is gone',
    )
    watched.stop()
  })

  async function endOf(compute: ModelServerCompute, more: Partial<ModelServerSpec> = {}): Promise<EndState> {
    const { uid } = await compute.launch(specOf(more))
    return compute.watch({ name, uid }, { signal: AbortSignal.timeout(patienceMs) })
  }

  test('has failed when it crashes again and again, and its last words can be read', async () => {
    const compute = using('echo the last words; exit 70')
    const end = await endOf(compute, { replicas: 2 })
    assert.ok(end.state === 'failed')
    assert.deepEqual({ exitCode: end.exitCode, reason: end.reason }, { exitCode: 70, reason: 'exited' })
    assert.match((await compute.readLogTail({ name }, 4096)) ?? '', /the last words/)
  })

  test('has failed at the first crash when its weights cannot be had', async () => {
    const compute = using('echo no such folder; exit 69')
    const end = await endOf(compute)
    assert.ok(end.state === 'failed' && end.exitCode === 69)
    const [pod] = await namespace.pods(`anneal.dev/run=${name}`)
    const [status] = (pod?.status.containerStatuses ?? []) as { restartCount?: number }[]
    assert.ok((status?.restartCount ?? 0) <= 1)
    assert.match((await compute.readLogTail({ name }, 4096)) ?? '', /no such folder/)
  })
})
