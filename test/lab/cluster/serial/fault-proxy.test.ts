// The fault proxy does what the suites ask of it: they would pass without faults, too.
import assert from 'node:assert/strict'
import { request } from 'node:https'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { api, cluster, control, openNamespace, until } from '../support/cluster.ts'

const namespace = await openNamespace()
after(() => namespace.remove())

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
