// Tests the properties of the cluster itself on which the product's suites rely.
import assert from 'node:assert/strict'
import { request } from 'node:https'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { ApiError } from '../api.ts'
import { api, cluster, control, openNamespace, shellJob, shellPod, until, type Pod } from '../support/cluster.ts'

const namespace = await openNamespace()
after(() => namespace.remove())

const isReady = async (name: string) => {
  const { status } = await api.get<Pod>(`/api/v1/nodes/${name}`)
  return status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
}
const everythingReady = () =>
  until('both nodes ready', async () => (await isReady('node-1')) && (await isReady('node-2')))

describe('pods', () => {
  test('run on both nodes under the restricted standard, without privileges', async () => {
    const script = 'grep -E "^(Seccomp|NoNewPrivs|CapBnd):" /proc/self/status; touch /x 2>&1; id -u'
    for (const nodeName of ['node-1', 'node-2']) await namespace.run(`plain-${nodeName}`, script, { nodeName })
    for (const nodeName of ['node-1', 'node-2']) {
      const result = (await namespace.result(`plain-${nodeName}`)).replaceAll('\t', ' ')
      assert.match(result, /NoNewPrivs: 1/)
      assert.match(result, /CapBnd: 0+\n/)
      assert.match(result, /Seccomp: 2/)
      assert.match(result, /Read-only file system\n10001$/)
    }
  })

  test('that would run as root are refused', async () => {
    const spec = shellPod('id', { securityContext: { runAsUser: 0 } })
    const root = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'root' }, spec }
    await assert.rejects(api.post(`${namespace.path}/pods`, root), (error: ApiError) => {
      assert.equal(error.status, 403)
      assert.match(error.message, /violates PodSecurity "restricted.*runAsNonRoot/)
      return true
    })
  })

  test('are ended by their memory limit with the reason', async () => {
    const limits = { resources: { limits: { memory: '32Mi' }, requests: { memory: '32Mi' } } }
    const job = shellJob('greedy', 'x=a; while :; do x=$x$x; done', {}, limits)
    await api.post(`${namespace.inGroup('batch/v1')}/jobs`, job)
    const state = await until('the end of the pod', async () => {
      const [pod] = await namespace.pods('job-name=greedy')
      return pod?.status.containerStatuses?.[0]?.state['terminated']
    })
    assert.deepEqual([state.reason, state.exitCode], ['OOMKilled', 137])
  })

  test('reach this machine by the address of the host', async (t) => {
    const server = createServer((_, response) => response.end('hello from the host')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    await control.forward(port)
    await namespace.run('to-host', `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc ${cluster.host.address} ${port}`)
    assert.match(await namespace.result('to-host'), /hello from the host$/)
  })
})

describe('services', () => {
  before(async () => {
    const spec = { nodeName: 'node-2' }
    await namespace.run('server', 'while :; do echo hello from a pod | nc -l -p 8080 > /dev/null; done', spec)
    await namespace.running('server')
    const service = { selector: { app: 'server' }, ports: [{ port: 80, targetPort: 8080 }] }
    await api.post(`${namespace.path}/services`, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'greeter' },
      spec: service,
    })
  })

  test('are found by name and answer at their address, from another node', async () => {
    const name = `greeter.${namespace.name}.svc.cluster.local`
    const script = `
      until address=$(nslookup ${name} | awk '/^Name/{found=1} found && /^Address/{print $NF}') && [ -n "$address" ]; do sleep 0.2; done
      until nc -w 2 $address 80 < /dev/null; do sleep 0.2; done`
    await namespace.run('client', script, { nodeName: 'node-1' })
    assert.equal(await namespace.result('client'), 'hello from a pod')
  })

  test('answer this machine too', async () => {
    const { spec } = await api.get<{ spec: { clusterIP: string } }>(`${namespace.path}/services/greeter`)
    assert.equal(await until('an answer', () => readAll(spec.clusterIP, 80)), 'hello from a pod\n')
  })
})

describe('network policies', () => {
  test('close a pod to its node and to the other one, but for what they name', async () => {
    const policies = namespace.inGroup('networking.k8s.io/v1') + '/networkpolicies'
    const policy = (name: string, spec: unknown) =>
      api.post(policies, { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name }, spec })
    await namespace.run('closed', 'nc -ll -p 8080 -e echo hello', { nodeName: 'node-1' })
    const address = (await namespace.running('closed')).status.podIP
    // Each pod asks again and again, and prints every change.
    const ask = `
      last=; while :; do
        now=$(nc -w 3 ${address} 8080 < /dev/null 2> /dev/null || echo refused); [ "$now" = "$last" ] || echo "$now"; last=$now; sleep 0.2
      done`
    const clients = ['node-1', 'node-2'].map((nodeName) => ({ name: `asks-from-${nodeName}`, nodeName }))
    await Promise.all(clients.map(({ name, nodeName }) => namespace.run(name, ask, { nodeName })))
    const all = (answers: string[][]) =>
      until(`answers ${JSON.stringify(answers)}`, async () => {
        const logs = await Promise.all(clients.map(({ name }) => api.text('GET', `${namespace.path}/pods/${name}/log`)))
        return logs.every((log, index) => log.trim() === answers[index]?.join('\n'))
      })
    await all([['hello'], ['hello']])
    await policy('closed', { podSelector: { matchLabels: { app: 'closed' } }, policyTypes: ['Ingress'] })
    await all([
      ['hello', 'refused'],
      ['hello', 'refused'],
    ])
    await policy('but-for-one', {
      podSelector: { matchLabels: { app: 'closed' } },
      ingress: [{ from: [{ podSelector: { matchLabels: { app: 'asks-from-node-2' } } }], ports: [{ port: 8080 }] }],
    })
    await all([
      ['hello', 'refused'],
      ['hello', 'refused', 'hello'],
    ])
  })
})

describe('Kueue', () => {
  const gpu = { resources: { requests: { cpu: '10m', memory: '16Mi' } } }
  const kueue = '/apis/kueue.x-k8s.io/v1beta2'
  const meta = (kind: string, name: string) => ({ apiVersion: 'kueue.x-k8s.io/v1beta2', kind, metadata: { name } })

  test('runs one of two jobs where the quota is for one, then the other', async (t) => {
    const name = namespace.name
    const resources = [
      { name: 'cpu', nominalQuota: '10m' },
      { name: 'memory', nominalQuota: '16Mi' },
    ]
    const groups = [{ coveredResources: ['cpu', 'memory'], flavors: [{ name, resources }] }]
    await api.post(`${kueue}/resourceflavors`, { ...meta('ResourceFlavor', name), spec: {} })
    const queueSpec = { namespaceSelector: {}, resourceGroups: groups }
    await api.post(`${kueue}/clusterqueues`, { ...meta('ClusterQueue', name), spec: queueSpec })
    t.after(() =>
      api.delete(`${kueue}/clusterqueues/${name}`).then(() => api.delete(`${kueue}/resourceflavors/${name}`)),
    )
    const own = namespace.inGroup('kueue.x-k8s.io/v1beta2')
    await api.post(`${own}/localqueues`, { ...meta('LocalQueue', 'jobs'), spec: { clusterQueue: name } })

    const jobs = `${namespace.inGroup('batch/v1')}/jobs`
    const queued = (job: string, script: string) => {
      const plain = shellJob(job, script, { suspend: true }, gpu)
      return { ...plain, metadata: { name: job, labels: { 'kueue.x-k8s.io/queue-name': 'jobs' } } }
    }
    await api.post(jobs, queued('first', 'sleep 600'))
    await until(
      'the first job running',
      async () => (await namespace.pods('job-name=first'))[0]?.status.phase === 'Running',
    )
    await api.post(jobs, queued('second', 'true'))
    type Workload = { metadata: { ownerReferences: { name: string }[] }; status?: Pod['status'] }
    const waiting = await until('the reason of the second', async () => {
      const workloads = await api.list<Workload>(`${own}/workloads`)
      const second = workloads.find(({ metadata }) => metadata.ownerReferences[0]?.name === 'second')
      return second?.status?.conditions?.find(({ type, status }) => type === 'QuotaReserved' && status === 'False')
    })
    assert.match(waiting.message ?? '', /insufficient unused quota for cpu/)
    await api.delete(`${jobs}/first`, { propagationPolicy: 'Foreground' })
    await until(
      'the second job done',
      async () => (await namespace.pods('job-name=second'))[0]?.status.phase === 'Succeeded',
    )
  })
})

describe('the fault proxy', () => {
  after(() => control.setFaults({}))

  test('counts calls, refuses them, and loses answers to work that was done', async () => {
    const { status } = await api.post<{ status: { token: string } }>(
      `${namespace.path}/serviceaccounts/default/token`,
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: {},
      },
    )
    const binding = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name: 'edit' } }
    await api.post(`${namespace.inGroup('rbac.authorization.k8s.io/v1')}/rolebindings`, {
      ...binding,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: namespace.name }],
    })
    const throughProxy = (method: string, path: string, body?: unknown) => ask(method, path, status.token, body)
    const maps = `${namespace.path}/configmaps`
    await until('the right to create', async () => (await throughProxy('GET', maps)) === 200)
    await control.forgetCalls()
    await control.setFaults({ status: 429, methods: ['GET'] })
    assert.equal(await throughProxy('GET', maps), 429)
    await control.setFaults({ status: 500, late: true, methods: ['POST'] })
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'kept' } }
    assert.equal(await throughProxy('POST', maps, map), 500)
    await control.setFaults({})
    assert.equal(await throughProxy('POST', maps, map), 409)
    assert.equal(await throughProxy('GET', `${maps}/kept`), 200)
    // A deployed worker also uses the proxy, but makes none of these calls.
    const ours = Object.entries(await control.calls()).filter(([call]) => call.endsWith(' configmaps'))
    assert.deepEqual(Object.fromEntries(ours), { 'list configmaps': 1, 'create configmaps': 2, 'get configmaps': 1 })
  })
})

describe('broken parts', () => {
  test('an API server that was killed is back when it is started again', async () => {
    await control.stop('control', 'kube-apiserver')
    assert.equal(await api.answers(), false)
    await control.start('control', 'kube-apiserver')
    await until('the API server', api.answers)
    await everythingReady()
  })

  test('a lost node frees its Job once its pod is marked Failed, and comes back', { timeout: 240_000 }, async () => {
    const preferred = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [preference('node-2')] } }
    const tolerations = ['unreachable', 'not-ready'].map((condition) => ({
      key: `node.kubernetes.io/${condition}`,
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 2,
    }))
    const spec = shellPod('sleep 600', { affinity: preferred, tolerations })
    const job = shellJob('lost', '', { backoffLimit: 3, podReplacementPolicy: 'Failed', template: { spec } })
    await api.post(`${namespace.inGroup('batch/v1')}/jobs`, job)
    const first = await until('the first pod running', async () => running(await namespace.pods('job-name=lost')))
    assert.equal(first.spec.nodeName, 'node-2')
    await control.cut('node-2')
    await until(
      'the pod to be given up',
      async () => (await namespace.pod(first.metadata.name)).metadata.deletionTimestamp,
    )
    assert.equal((await namespace.pods('job-name=lost')).length, 1)
    const status = { phase: 'Failed', reason: 'NodeLost' }
    await api.patch(`${namespace.path}/pods/${first.metadata.name}/status`, { status })
    const second = await until('the second pod running', async () => running(await namespace.pods('job-name=lost')))
    assert.equal(second.spec.nodeName, 'node-1')
    await control.join('node-2')
    await everythingReady()
  })

  test('a node that was killed is back when it is started again, and runs pods', { timeout: 240_000 }, async () => {
    await control.kill('node-2')
    await until('node-2 lost', async () => !(await isReady('node-2')))
    await control.revive('node-2')
    await everythingReady()
    await namespace.run('afterwards', 'echo ok', { nodeName: 'node-2' })
    assert.equal(await namespace.result('afterwards'), 'ok')
  })
})

function running(pods: Pod[]) {
  return pods.find(({ metadata, status }) => status.phase === 'Running' && !metadata.deletionTimestamp)
}

function preference(node: string) {
  const values = [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }]
  return { weight: 100, preference: { matchExpressions: values } }
}

async function readAll(host: string, port: number): Promise<string> {
  const socket = connect({ host, port, timeout: 2_000 })
  socket.on('timeout', () => socket.destroy(new Error('no answer')))
  let text = ''
  for await (const chunk of socket) text += String(chunk)
  return text
}

/** The status of a call through the fault proxy. */
function ask(method: string, path: string, token: string, body?: unknown): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const ca = readFileSync(join(cluster.pki, 'ca.crt'))
  return new Promise((resolve, reject) => {
    const sent = request({ host: cluster.host.address, port: 6443, method, path, headers, ca }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
