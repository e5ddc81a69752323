// The API server accepts every manifest as a dry run, and grants the worker exactly its rights.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { kubectl, overlays, render, type Manifest } from '../../k8s/manifests.ts'
import { ApiError } from './api.ts'
import { output } from './programs.ts'
import { api, cluster, openNamespace, until } from './support/cluster.ts'

/** Kinds of the Prometheus operator, which this cluster does not have. */
const unknownHere = ['ServiceMonitor', 'PodMonitor', 'PrometheusRule']

const namespace = await openNamespace()
after(() => namespace.remove())

for (const overlay of overlays) {
  test(`k8s/overlays/${overlay}: the API server would take every object`, async () => {
    const wanted = render(overlay).filter(({ kind }) => !unknownHere.includes(kind))
    const taken = await apply(wanted.map(movedTo(namespace.name)))
    assert.equal(taken.length, wanted.length)
    assert.ok(
      taken.every((line) => line.endsWith('(server dry run)')),
      taken.join('\n'),
    )
  })
}

test('the namespace refuses a pod that violates the standard, naming the violation', async () => {
  const spec = { hostNetwork: true, containers: [{ name: 'bad', image: 'x:1' }] }
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'bad' }, spec }
  await assert.rejects(api.post(`${namespace.path}/pods?dryRun=All`, pod), (error) => {
    assert.ok(error instanceof ApiError && error.status === 403)
    assert.match(error.message, /violates PodSecurity "restricted.*hostNetwork/)
    return true
  })
})

describe("the worker's rights", () => {
  const may = async (verb: string, resource: string, inNamespace: string) => {
    const [group, name = '', subresource] = resource.split('/')
    const { status } = await api.post<{ status: { allowed: boolean } }>(
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: {
          user: `system:serviceaccount:${namespace.name}:anneal-worker`,
          resourceAttributes: { verb, group, resource: name, subresource, namespace: inNamespace },
        },
      },
    )
    return status.allowed
  }

  before(async () => {
    const rights = render('test').filter(({ kind }) => /^(Role|RoleBinding|ServiceAccount)$/.test(kind))
    await apply(rights.map(movedTo(namespace.name)), [])
    // The authorizer learns of a RoleBinding a moment after the API server has stored it.
    await until('the RoleBinding is in force', () => may('create', 'batch/jobs', namespace.name))
  })

  test('are enough for runs', async () => {
    for (const right of ['create batch/jobs', 'delete /pods', 'get /pods/log', 'patch /pods/status', 'create /secrets'])
      assert.ok(await may(...(right.split(' ') as [string, string]), namespace.name), right)
  })

  test('read no secret, enter no pod, and end with its namespace', async () => {
    const refused = ['get /secrets', 'list /secrets', 'watch /secrets', 'create /pods/exec', 'create /pods/attach']
    const more = ['create rbac.authorization.k8s.io/rolebindings', 'create /serviceaccounts/token', 'get /configmaps']
    for (const right of [...refused, ...more])
      assert.ok(!(await may(...(right.split(' ') as [string, string]), namespace.name)), right)
    assert.ok(!(await may('create', 'batch/jobs', 'kube-system')))
    assert.ok(!(await may('list', '/nodes', '')))
  })
})

/** @returns a line for each object */
async function apply(manifests: Manifest[], options = ['--dry-run=server']): Promise<string[]> {
  const list = { apiVersion: 'v1', kind: 'List', items: manifests }
  const args = ['--kubeconfig', cluster.kubeconfig, 'apply', '--server-side', '--force-conflicts', '--filename', '-']
  return (await output(kubectl ?? 'kubectl', [...args, ...options], { input: JSON.stringify(list) })).split('\n')
}

/** A deployed stack may use both of our namespaces, or they may not exist yet. */
const movedTo =
  (name: string) =>
  (manifest: Manifest): Manifest => {
    if (manifest.metadata.namespace === undefined) return manifest
    const moved = { ...manifest, metadata: { ...manifest.metadata, namespace: name } }
    if (manifest.kind !== 'RoleBinding') return moved
    const subjects = [{ kind: 'ServiceAccount', name: 'anneal-worker', namespace: name }]
    return { ...moved, subjects } as Manifest
  }
