import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { suite, test, type TestContext } from 'node:test'
import { createApiCaller } from '../../../src/compute/kubernetes/api/api-caller.ts'
import { createConnection } from '../../../src/compute/kubernetes/api/connection.ts'
import { createRateLimiter } from '../../../src/compute/kubernetes/api/rate-limiter.ts'
import { createObjectReader, NotReadable } from '../../../src/compute/kubernetes/doctor/cluster-objects.ts'
import { checkGpus } from '../../../src/compute/kubernetes/doctor/gpus.ts'
import { checkQueue } from '../../../src/compute/kubernetes/doctor/queue.ts'
import { requestsOf } from '../../../src/compute/kubernetes/doctor/quota.ts'
import { checkRights } from '../../../src/compute/kubernetes/doctor/rights.ts'

type Answer = { status: number; body: unknown }
type Review = { spec: { resourceAttributes: Record<string, string> } }

async function openCaller(t: TestContext, answer: (path: string, body: unknown) => Answer) {
  const server = createServer((request, response) => {
    void (async () => {
      const body = request.method === 'POST' ? await json(request) : null
      const given = answer(request.url ?? '', body)
      response.writeHead(given.status, { 'content-type': 'application/json' }).end(JSON.stringify(given.body))
    })()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connection = createConnection({
    getCurrentCluster: () => ({ name: 'test', server: `http://127.0.0.1:${port}`, skipTLSVerify: false }),
    applyToHTTPSOptions: () => Promise.resolve(),
  })
  const caller = createApiCaller({ connection, limiter: createRateLimiter({ perSecond: 1000, burst: 1000 }) })
  t.after(() => {
    caller.close()
    server.close()
  })
  return caller
}

const active = { conditions: [{ type: 'Active', status: 'True' }] }
const local = {
  kind: 'LocalQueue',
  metadata: { name: 'q', namespace: 'runs' },
  spec: { clusterQueue: 'all' },
  status: active,
}
const quotas = (amounts: Record<string, string>, more: object = {}) =>
  Object.entries(amounts).map(([name, nominalQuota]) => ({ name, nominalQuota, ...more }))
const clusterQueue = (covered: string[], status: object = active) => ({
  kind: 'ClusterQueue',
  metadata: { name: 'all' },
  spec: {
    resourceGroups: [
      {
        coveredResources: covered,
        flavors: [{ name: 'f', resources: quotas(Object.fromEntries(covered.map((name) => [name, '64']))) }],
      },
    ],
  },
  status,
})
const priorityClass = (name: string) => ({ kind: 'WorkloadPriorityClass', metadata: { name } })
const node = (allocatable: Record<string, string>) => ({
  kind: 'Node',
  metadata: { name: 'n' },
  status: { allocatable },
})

suite('rights of the worker', () => {
  const reviewing = (t: TestContext, isAllowed: (asked: Record<string, string>) => boolean) =>
    openCaller(t, (path, body) => {
      assert.equal(path, '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews')
      return { status: 201, body: { status: { allowed: isAllowed((body as Review).spec.resourceAttributes) } } }
    })

  test('names each verb that is missing, with its subresource', async (t) => {
    const caller = await reviewing(
      t,
      ({ namespace, verb, resource, subresource }) =>
        namespace === 'runs' && !(verb === 'get' && resource === 'pods' && subresource === 'log') && verb !== 'update',
    )
    const { state, says } = await checkRights(caller, 'runs', true)
    assert.equal(state, 'failed')
    assert.match(says, /^2 of \d+ rights .* runs: update batch\/jobs\/finalizers, get pods\/log$/)
  })

  test('asks for none of Kueue without a queue', async (t) => {
    const caller = await reviewing(t, ({ group }) => group !== 'kueue.x-k8s.io')
    assert.equal((await checkRights(caller, 'runs', false)).state, 'ok')
    assert.equal((await checkRights(caller, 'runs', true)).state, 'failed')
  })
})

suite('queue of Kueue', () => {
  const judge = (items: object[], priorityClasses?: { low: string; normal: string; high: string }) =>
    checkQueue(
      createObjectReader({} as never, { items }),
      { queue: 'q', ...(priorityClasses && { priorityClasses }) },
      { namespace: 'runs', jobs: [{ name: 'large', asked: { cpu: 4, 'nvidia.com/gpu': 8 } }] },
    )
  const group = (flavors: Record<string, object[]>) => ({
    coveredResources: ['cpu', 'nvidia.com/gpu'],
    flavors: Object.entries(flavors).map(([name, resources]) => ({ name, resources })),
  })
  const of = (name: string, cohortName: string, flavors: Record<string, object[]>) => ({
    kind: 'ClusterQueue',
    metadata: { name },
    spec: { cohortName, resourceGroups: [group(flavors)] },
    status: active,
  })

  test('fails for a job that two flavors could hold only together, naming model, amounts and flavors', async () => {
    const { state, says } = await judge([
      local,
      of('all', 'c', {
        a: quotas({ cpu: '2', 'nvidia.com/gpu': '8' }),
        b: quotas({ cpu: '4500m', 'nvidia.com/gpu': '4' }),
      }),
    ])
    assert.equal(state, 'failed')
    assert.match(says, /can never admit a job of large \(cpu 4 > 2 of a, nvidia.com\/gpu 8 > 4 of b\)$/)
  })

  test('counts what the cohort lends, up to the limits of both sides, also from a cohort above', async () => {
    const own = (more: object = {}) => of('all', 'team', { f: quotas({ cpu: '4', 'nvidia.com/gpu': '2' }, more) })
    const other = (cohort: string, more: object = {}) =>
      of('other', cohort, { f: quotas({ 'nvidia.com/gpu': '6' }, more) })
    const cohort = (name: string, parentName: string) => ({ kind: 'Cohort', metadata: { name }, spec: { parentName } })
    const stateOf = async (...items: object[]) => (await judge([local, ...items])).state
    assert.equal(await stateOf(own(), other('team')), 'ok')
    assert.equal(await stateOf(own({ borrowingLimit: '5' }), other('team')), 'failed')
    assert.equal(await stateOf(own(), other('team', { lendingLimit: '5' })), 'failed')
    assert.equal(await stateOf(own(), other('strangers')), 'failed')
    assert.equal(await stateOf(own(), other('else'), cohort('team', 'all'), cohort('else', 'all')), 'ok')
  })

  test('counts a pod as the API server does: containers together, and the largest before them', () => {
    const asking = (memory: string, more: object = {}) => ({ name: 'c', resources: { requests: { memory } }, ...more })
    const spec = {
      containers: [asking('1.5Gi'), { name: 'gpu', resources: { limits: { 'nvidia.com/gpu': '2' } } }],
      initContainers: [asking('3Gi'), asking('512Mi', { restartPolicy: 'Always' })],
      overhead: { cpu: '250m' },
    }
    assert.deepEqual(requestsOf({ spec }), { cpu: 0.25, memory: 3 * 2 ** 30, 'nvidia.com/gpu': 2 })
  })

  test('fails when it does not cover a resource that runs ask for, naming the resource', async () => {
    const { state, says } = await judge([local, clusterQueue(['cpu', 'memory'])])
    assert.deepEqual([state, says.includes('does not cover nvidia.com/gpu,')], ['failed', true])
  })

  test('is ok when all is covered and the priority classes exist', async () => {
    const classes = { low: 'a', normal: 'b', high: 'c' }
    const objects = [local, clusterQueue(['cpu', 'nvidia.com/gpu'])]
    assert.equal((await judge([...objects, ...['a', 'b', 'c'].map(priorityClass)], classes)).state, 'ok')
    assert.match((await judge([...objects, priorityClass('a')], classes)).says, /WorkloadPriorityClasses b, c do not/)
  })

  test('fails when a queue is missing or admits nothing', async () => {
    const elsewhere = { ...local, metadata: { name: 'q', namespace: 'other' } }
    assert.match((await judge([elsewhere])).says, /LocalQueue q in the namespace runs does not exist/)
    assert.match((await judge([local])).says, /ClusterQueue all, which does not exist/)
    const stopped = { conditions: [{ type: 'Active', status: 'False', message: 'no flavor' }] }
    assert.match((await judge([local, clusterQueue(['cpu'], stopped)])).says, /admits nothing: no flavor/)
  })
})

suite('GPUs of the nodes', () => {
  const judge = (nodes: object[], gpuCount = 2) =>
    checkGpus(createObjectReader({} as never, { items: nodes }), 'nvidia.com/gpu', [{ name: 'llama', gpuCount }])

  test('fails when the nodes offer another name, naming that', async () => {
    const { state, says } = await judge([node({ cpu: '8', 'amd.com/gpu': '8' })])
    assert.deepEqual([state, says], ['failed', 'no node offers nvidia.com/gpu; nodes offer amd.com/gpu'])
  })

  test('warns when no node is large enough, since nodes may be added on demand', async () => {
    assert.match((await judge([node({ 'nvidia.com/gpu': '1' })])).says, /no node offers more than 1 .*: llama$/)
    assert.equal((await judge([node({ cpu: '8', 'rdma/ib': '1' })])).state, 'warning')
    assert.equal((await judge([node({ 'nvidia.com/gpu': '2' })])).state, 'ok')
  })
})

suite('objects of the cluster', () => {
  test('says that the worker may not read them, and that Kueue is not installed', async (t) => {
    let status = 403
    const caller = await openCaller(t, () => ({ status, body: { message: 'no' } }))
    const objects = createObjectReader(caller, null)
    await assert.rejects(objects.nodes(), NotReadable)
    status = 404
    assert.deepEqual(await objects.localQueues('runs'), [])
  })

  test('refuses a file that is no list', () => {
    for (const given of [{}, [], 'x', { items: 1 }])
      assert.throws(() => createObjectReader({} as never, given), /--objects takes/)
  })
})
