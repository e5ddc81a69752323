// The product's compute in a suite's namespace, with the rights of the worker and no others, through the fault proxy.
import { KubeConfig, loadAllYaml } from '@kubernetes/client-node'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { RunState } from '../../../../src/compute/run.ts'
import type { TrainerCompute, TrainerSpec } from '../../../../src/compute/trainers.ts'
import { createConnection } from '../../../../src/compute/kubernetes/api/connection.ts'
import { createCluster } from '../../../../src/compute/kubernetes/cluster.ts'
import type { ClusterOptions } from '../../../../src/compute/kubernetes/cluster.ts'
import { createKubernetesTrainers } from '../../../../src/compute/kubernetes/trainers/kubernetes-trainers.ts'
import { parsePodTemplates } from '../../../../src/compute/kubernetes/pods/pod-template-file.ts'
import { root } from '../../../../tools/paths.mjs'
import type { KubernetesObject } from '../api.ts'
import { apiPort } from '../settings.ts'
import { api, cluster, until, type openNamespace } from './cluster.ts'

type Namespace = Awaited<ReturnType<typeof openNamespace>>

const shell = { image: 'localhost/anneal-test/shell:1', command: ['sh', '-c', 'eval "$SCRIPT"'] }

/** Each program is the shell script in its variable SCRIPT. */
const shellTemplates = parsePodTemplates({
  trainer: { spec: { containers: [{ name: 'trainer', ...shell }] } },
  'model-server': { spec: { containers: [{ name: 'model-server', ...shell }] } },
})

/** The token of a service account with the Role that is deployed. */
export async function workerToken(namespace: Namespace): Promise<string> {
  const deployed = loadAllYaml(readFileSync(join(root, 'k8s/base/anneal.yaml'), 'utf8')) as KubernetesObject[]
  const role = deployed.find(({ kind, metadata }) => kind === 'Role' && metadata.name === 'anneal-worker')
  const rbac = namespace.inGroup('rbac.authorization.k8s.io/v1')
  const named = { metadata: { name: 'anneal-worker' } }
  await api.post(`${rbac}/roles`, { ...role, ...named })
  await api.post(`${namespace.path}/serviceaccounts`, { apiVersion: 'v1', kind: 'ServiceAccount', ...named })
  await api.post(`${rbac}/rolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    ...named,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'anneal-worker' },
    subjects: [{ kind: 'ServiceAccount', name: 'anneal-worker', namespace: namespace.name }],
  })
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const { status } = await api.post<{ status: { token: string } }>(
    `${namespace.path}/serviceaccounts/anneal-worker/token`,
    request,
  )
  return status.token
}

export function openCompute(...args: Parameters<typeof openWorkerCluster>): { compute: TrainerCompute } {
  return { compute: createKubernetesTrainers(openWorkerCluster(...args), { queue: null, slots: null }) }
}

/** The cluster as the worker has it. */
export function openWorkerCluster(namespace: Namespace, token: string, more: Partial<ClusterOptions> = {}) {
  const config = new KubeConfig()
  config.loadFromClusterAndUser(
    {
      name: 'test',
      server: `https://${cluster.host.address}:${apiPort}`,
      caFile: join(cluster.pki, 'ca.crt'),
      skipTLSVerify: false,
    },
    { name: 'worker', token },
  )
  return createCluster({
    connection: createConnection(config),
    namespace: namespace.name,
    templates: shellTemplates,
    gpuResource: 'nvidia.com/gpu',
    instance: 'blue',
    callsPerSecond: 200,
    callBurst: 200,
    imageTimeoutMs: 600_000,
    nodeLostAfterMs: 5_000,
    ...more,
  })
}

export function shellRun(name: string, script: string, more: Partial<TrainerSpec> = {}): TrainerSpec {
  return {
    name,
    labels: { suite: 'compute' },
    secretEnv: { ANNEAL_TOKEN: 'the token' },
    resources: { cpuCount: 0.05, memoryBytes: 64 * 2 ** 20, gpuCount: 0 },
    terminationGraceMs: 5_000,
    ...more,
    env: { SCRIPT: script, ...more.env },
  }
}

/** Collects all reports of a watch until its end. The run is removed after the test. */
export function observe(t: TestContext, compute: TrainerCompute, run: { name: string; uid?: string }) {
  const states: RunState[] = []
  const signal = AbortSignal.any([t.signal, AbortSignal.timeout(240_000)])
  const end = compute.watch(run, { signal, onState: (state) => void states.push(state) })
  end.catch(() => undefined)
  t.after(() => compute.terminate(run, { graceMs: 0 }))
  const reaches = (what: string, fits: (state: RunState) => boolean) =>
    until(`${run.name} ${what}`, () => Promise.resolve(states.find(fits)))
  return { states, end, reaches, runs: () => reaches('runs', ({ state }) => state === 'running') }
}
