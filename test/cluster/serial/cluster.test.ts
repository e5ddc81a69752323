// Properties of the cluster itself without which the product's suites would prove nothing: they would pass all the same.
import assert from 'node:assert/strict'
import { request } from 'node:https'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { api, cluster, control, openNamespace, until } from '../support/cluster.ts'

const namespace = await openNamespace()
after(() => namespace.remove())

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
