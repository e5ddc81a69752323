// The running cluster of this clone, for tests: its API as administrator, its breakable parts, a namespace per suite.
import { randomBytes } from 'node:crypto'
import { createApi, until, type KubernetesObject } from '../api.ts'
import { createControl } from '../orders.ts'
import { own } from '../own-cluster.ts'

export const { cluster } = own()
export const api = createApi(cluster)
export const control = createControl(cluster)
export { until } from '../api.ts'

export type Pod = KubernetesObject & {
  metadata: { deletionTimestamp?: string; ownerReferences?: { name: string }[] }
  spec: { nodeName?: string }
  status: {
    phase: string
    conditions?: { type: string; status: string; reason?: string; message?: string }[]
    containerStatuses?: { state: Record<string, { exitCode?: number; reason?: string }> }[]
  }
}

/** Creates a namespace under Pod Security `restricted`. A suite removes its namespace: after(() => namespace.remove()). */
export async function openNamespace() {
  const name = `test-${randomBytes(4).toString('hex')}`
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' }
  await api.post('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
  const path = `/api/v1/namespaces/${name}`
  await until('the default service account', () => api.find(`${path}/serviceaccounts/default`))

  return {
    name,
    path,
    remove: () => api.delete(path),
    inGroup: (group: string) => `/apis/${group}/namespaces/${name}`,
    pods: (selector: string) => api.list<Pod>(`${path}/pods?labelSelector=${encodeURIComponent(selector)}`),
  }
}

/** True once the kubelet reports the node as ready and its old taints are gone. */
export const untilReady = (node: string) =>
  until(`${node} is ready`, async () => {
    const { status, spec } = await api.get<Pod & { spec: { taints?: unknown[] } }>(`/api/v1/nodes/${node}`)
    const isReady = status.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
    return isReady && (spec.taints ?? []).length === 0
  })

/** Satisfies `restricted`, and ends without a grace period. */
export function shellPod(script: string, more: Record<string, unknown> = {}, container: Record<string, unknown> = {}) {
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 1,
    securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        name: 'main',
        image: 'localhost/anneal-test/shell:1',
        command: ['sh', '-c', script],
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
        ...container,
      },
    ],
    ...more,
  }
}
