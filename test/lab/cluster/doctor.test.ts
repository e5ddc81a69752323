// What `anneal doctor --kubernetes` says of a real API server and a real Kueue, with the rights of the worker.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { checkKubernetes } from '../../../src/compose/doctor/kubernetes.ts'
import { parseCatalogue } from '../../../src/domain/catalogue.ts'
import { api, openNamespace, until } from './support/cluster.ts'
import { openWorkerCluster, workerToken } from './support/compute.ts'

const kueue = '/apis/kueue.x-k8s.io/v1beta2'
const source = { path: 'models/x' }
const catalogue = parseCatalogue({
  models: [
    {
      name: 'large',
      task: 'completion',
      engine: 'transformers',
      source,
      contextLength: 64,
      resources: { gpuCount: 2 },
    },
    { name: 'embedder', task: 'embedding', engine: 'embedder', source, contextLength: 64 },
  ],
})

const namespace = await openNamespace()
const name = namespace.name
/** Of this suite alone: the cluster may be another suite's, too. */
const gpuResource = `${name}.test/gpu`
const queues = {
  flavor: `${kueue}/resourceflavors`,
  cluster: `${kueue}/clusterqueues`,
  cohort: `${kueue}/cohorts`,
  local: `${kueue}/namespaces/${name}/localqueues`,
}

suite('anneal doctor --kubernetes', () => {
  let examine: (objects?: unknown) => Promise<Record<string, { state: string; says: string; next?: string }>>

  before(async () => {
    const cluster = openWorkerCluster(namespace, await workerToken(namespace), { gpuResource })
    const settings = { namespace: name, queue: { queue: 'runs' }, gpuResource }
    examine = async (objects = null) => {
      const { findings, clock } = await checkKubernetes(cluster, settings, catalogue, objects)
      assert.ok(Math.abs(clock.aheadMs ?? Infinity) < 5000)
      return Object.fromEntries(findings.map(({ check, ...verdict }) => [check, verdict]))
    }
    await until('the rights are in force', async () => (await examine())['rights']?.state === 'ok')
  })
  after(async () => {
    await api.delete(`${queues.local}/runs`).catch(() => undefined)
    for (const path of [queues.cluster, queues.flavor]) await api.delete(`${path}/${name}`).catch(() => undefined)
    await namespace.remove()
  })

  test('the Role of the chart is enough, and the namespace takes the pods', async () => {
    const { rights, pods, 'api server': server } = await examine()
    assert.deepEqual([rights?.state, pods?.state, server?.state], ['ok', 'ok', 'ok'])
    assert.match(server?.says ?? '', /Kubernetes v1\.\d+/)
  })

  test('what the worker may not read is told with the command of an administrator', async () => {
    const { kueue: queue, gpus } = await examine()
    assert.deepEqual([queue?.state, gpus?.state], ['warning', 'warning'])
    assert.match(gpus?.next ?? '', /kubectl get nodes .* --objects -$/)
  })

  test('the objects of an administrator say what the queue does not cover, then what it can never admit, then that it is enough', async () => {
    const objects = async () => {
      const lists = await Promise.all(
        [queues.local, queues.cluster, queues.cohort, '/api/v1/nodes'].map((path) => api.list<{ kind?: string }>(path)),
      )
      const kinds = ['LocalQueue', 'ClusterQueue', 'Cohort', 'Node']
      // Items of a list say no kind; those that kubectl prints do.
      return { items: lists.flatMap((items, index) => items.map((item) => ({ ...item, kind: kinds[index] }))) }
    }
    assert.match((await examine(await objects()))['kueue']?.says ?? '', /does not exist/)
    await openQueue(['cpu', 'memory', 'ephemeral-storage'])
    const inForce = async () => (await examine(await objects()))['kueue']
    const short = await until('the queue is active', async () => {
      const found = await inForce()
      return found?.says.includes('admits nothing') ? null : found
    })
    assert.match(short.says, RegExp(`does not cover ${gpuResource},`))
    const all = ['cpu', 'memory', 'ephemeral-storage', gpuResource]
    await closeQueue()
    await openQueue(all)
    const small = await until('the queue covers all', async () => {
      const found = await inForce()
      return found?.says.includes('can never admit') ? found : null
    })
    assert.match(small.says, RegExp(`a job of large .*${gpuResource} 2 > 1 of ${name}`))
    await closeQueue()
    await openQueue(all, '1T')
    const enough = await until('the queue is large enough', async () => {
      const found = await inForce()
      return found?.state === 'ok' ? found : null
    })
    assert.match(enough.says, RegExp(`${gpuResource} .* \\(large asks for 2\\)`))
    assert.match((await examine(await objects()))['gpus']?.says ?? '', RegExp(`no node offers ${gpuResource}`))
  })

  test('a right that is taken away is named', async () => {
    const path = `${namespace.inGroup('rbac.authorization.k8s.io/v1')}/roles/anneal-worker`
    const role = await api.get<{ rules: { resources: string[]; verbs: string[] }[] } & { metadata: object }>(path)
    const rules = role.rules.map((rule) => (rule.resources.includes('pods/log') ? { ...rule, verbs: ['list'] } : rule))
    await api.patch(path, { rules }, 'merge-patch')
    const rights = await until('the right is gone', async () => {
      const found = (await examine())['rights']
      return found?.state === 'failed' ? found : null
    })
    assert.match(rights.says, /^1 of \d+ rights are missing .*: get pods\/log$/)
  })
})

async function closeQueue() {
  await api.delete(`${queues.local}/runs`)
  await api.delete(`${queues.cluster}/${name}`)
  await until('the queue is gone', async () => !(await api.find(`${queues.cluster}/${name}`)))
}

async function openQueue(coveredResources: string[], nominalQuota = '1') {
  const quota = coveredResources.map((resource) => ({ name: resource, nominalQuota }))
  const meta = (kind: string, named: string) => ({
    apiVersion: 'kueue.x-k8s.io/v1beta2',
    kind,
    metadata: { name: named },
  })
  await api.apply(queues.flavor, { ...meta('ResourceFlavor', name), spec: {} } as never)
  await api.post(queues.cluster, {
    ...meta('ClusterQueue', name),
    spec: {
      namespaceSelector: {},
      resourceGroups: [{ coveredResources, flavors: [{ name, resources: quota }] }],
    },
  })
  await api.post(queues.local, { ...meta('LocalQueue', 'runs'), spec: { clusterQueue: name } })
}
