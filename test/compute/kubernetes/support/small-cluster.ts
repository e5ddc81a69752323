import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Compute, RunSpec, RunState } from '../../../../src/compute/compute.ts'
import { createConnection } from '../../../../src/compute/kubernetes/api/connection.ts'
import { createKubernetesCompute } from '../../../../src/compute/kubernetes/kubernetes-compute.ts'
import { parsePodTemplates } from '../../../../src/compute/kubernetes/pods/pod-template-file.ts'
import { startApiServer } from './small-api-server.ts'
import type { SmallApiServer } from './small-api-server.ts'

export async function startSmallCluster(t: TestContext): Promise<{ server: SmallApiServer; compute: Compute }> {
  const server = await startApiServer(t)
  return { server, compute: computeOn(t, server.url) }
}

/** A worker's. */
export function computeOn(t: TestContext, url: string): Compute {
  const compute = createKubernetesCompute({
    connection: createConnection({
      getCurrentCluster: () => ({ name: 'small', server: url, skipTLSVerify: false }),
      applyToHTTPSOptions: async () => undefined,
    }),
    namespace: 'anneal-runs',
    templates: parsePodTemplates({ trainer: {}, 'model-server': {} }),
    gpuResource: 'nvidia.com/gpu',
    queue: null,
    slots: null,
    callsPerSecond: 1000,
    callBurst: 1000,
    imageTimeoutMs: 600_000,
    nodeLostAfterMs: 100,
  })
  t.after(() => compute.close())
  return compute
}

export function someRun(name: string, more: Partial<RunSpec> = {}): RunSpec {
  return {
    name,
    program: 'trainer',
    labels: { job: '1' },
    env: {},
    secretEnv: { ANNEAL_TOKEN: `token of ${name}` },
    resources: { cpuCount: 1, gpuCount: 0 },
    terminationGraceMs: 1_000,
    ...more,
  }
}

/** Everything that a watch reports, and its end. */
export function observe(compute: Compute, run: { name: string; uid?: string }) {
  const states: RunState[] = []
  const end = compute.watch(run, { signal: AbortSignal.timeout(30_000), onState: (state) => void states.push(state) })
  end.catch(() => undefined)
  const last = () => states.at(-1)?.state
  return { states, end, last }
}

export async function until(what: string, holds: () => boolean, timeoutMs = 15_000): Promise<void> {
  const deadlineMs = Date.now() + timeoutMs
  while (!holds()) {
    if (Date.now() > deadlineMs) throw new Error(`Not within ${timeoutMs} ms: ${what}`)
    await delay(10)
  }
}
