import type { TestContext } from 'node:test'
import { createConnection } from '../../../../src/compute/kubernetes/api/connection.ts'
import { createCluster } from '../../../../src/compute/kubernetes/cluster.ts'
import type { Cluster } from '../../../../src/compute/kubernetes/cluster.ts'
import { createKubernetesModelServers } from '../../../../src/compute/kubernetes/model-servers/kubernetes-model-servers.ts'
import { parsePodTemplates } from '../../../../src/compute/kubernetes/pods/pod-template-file.ts'
import { createKubernetesTrainers } from '../../../../src/compute/kubernetes/trainers/kubernetes-trainers.ts'
import type { ModelServerCompute, ModelServerState } from '../../../../src/compute/model-servers.ts'
import type { EndState, RunRef, RunState, WatchOptions } from '../../../../src/compute/run.ts'
import type { TrainerCompute, TrainerSpec } from '../../../../src/compute/trainers.ts'
import { startApiServer } from './small-api-server.ts'
import type { SmallApiServer } from './small-api-server.ts'
import { patienceMs } from '../../../support/eventually.ts'

export async function startSmallCluster(t: TestContext): Promise<{ server: SmallApiServer; compute: TrainerCompute }> {
  const server = await startApiServer(t)
  return { server, compute: trainersOn(t, server.url) }
}

const shell = { command: ['sh', '-c', 'eval "$SCRIPT"'] }

function clusterAt(url: string): Cluster {
  return createCluster({
    connection: createConnection({
      getCurrentCluster: () => ({ name: 'small', server: url, skipTLSVerify: false }),
      applyToHTTPSOptions: async () => undefined,
    }),
    namespace: 'anneal-runs',
    templates: parsePodTemplates({
      trainer: { spec: { containers: [{ name: 'trainer', ...shell }] } },
      'model-server': { spec: { containers: [{ name: 'model-server', ...shell }] } },
    }),
    gpuResource: 'nvidia.com/gpu',
    instance: 'blue',
    callsPerSecond: 1000,
    callBurst: 1000,
    imageTimeoutMs: 600_000,
    nodeLostAfterMs: 100,
  })
}

/** One worker's. */
export function trainersOn(t: TestContext, url: string): TrainerCompute {
  const compute = createKubernetesTrainers(clusterAt(url), { queue: null, slots: null })
  t.after(() => compute.close())
  return compute
}

/** One worker's. */
export function modelServersOn(t: TestContext, url: string): ModelServerCompute {
  const compute = createKubernetesModelServers(clusterAt(url))
  t.after(() => compute.close())
  return compute
}

export function someRun(name: string, more: Partial<TrainerSpec> = {}): TrainerSpec {
  return {
    name,
    labels: { job: '1' },
    env: {},
    secretEnv: { ANNEAL_TOKEN: `token of ${name}` },
    resources: { cpuCount: 1, gpuCount: 0 },
    terminationGraceMs: 1_000,
    ...more,
  }
}

type Watch<State extends RunState> = { watch(run: RunRef, options: WatchOptions<State>): Promise<EndState> }

/** Everything that a watch reports, and its end. */
export function observe<State extends RunState = ModelServerState>(compute: Watch<State>, run: RunRef) {
  const states: State[] = []
  const end = compute.watch(run, {
    signal: AbortSignal.timeout(patienceMs),
    onState: (state) => void states.push(state),
  })
  end.catch(() => undefined)
  const last = () => states.at(-1)?.state
  return { states, end, last }
}
