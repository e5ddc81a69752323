// The verbs of Compute for model servers. The front of server-*.ts: launch is in a file of its own; manifests, snapshot
// and state are pure functions.
import { setTimeout as sleep } from 'node:timers/promises'
import type {
  EndState,
  LogRange,
  LogSlice,
  RunRef,
  RunState,
  RunSummary,
  TerminateOptions,
  Terminated,
} from '../../compute.ts'
import { isEndState } from '../../end-state.ts'
import type { AdmissionCheck } from '../pods/admission-check.ts'
import type { Cluster } from '../cluster.ts'
import { readOwner } from '../pods/observed-objects.ts'
import { readLabels, selectorOfProgram, selectorOfRun } from '../pods/labels.ts'
import { limitsOf, orUnreachable } from '../trainers/read-snapshot.ts'
import { collectLog } from '../pods/log-collector.ts'
import { failed } from '../trainers/failure-reason.ts'
import { isSilent } from '../trainers/run-snapshot.ts'
import type { DeploymentsApi } from './deployments-api.ts'
import { readReplica } from './snapshot.ts'
import type { ModelServerSnapshot } from './snapshot.ts'
import { readModelServerState } from './state.ts'
import type { ModelServerCache } from './model-server-cache.ts'
import { watchState } from '../watch/watch-loop.ts'
import type { WatchOptions } from '../watch/watch-loop.ts'

export type Servers = { cluster: Cluster; api: DeploymentsApi; cache: ModelServerCache; checkAdmission: AdmissionCheck }

const firstCheckMs = 250
const maxCheckMs = 5_000
const logPatienceMs = 30_000

async function readLiveSnapshot(
  { cluster, api }: Servers,
  run: RunRef,
  signal?: AbortSignal,
): Promise<ModelServerSnapshot> {
  const selector = selectorOfRun(run.name)
  const [deployment = null] = (await cluster.api.list(api.deployments(selector), readOwner, signal)).items
  // Another run has the name; this one's pods went before it could take it.
  if (deployment && run.uid !== undefined && deployment.uid !== run.uid) return { deployment: null, replicas: [] }
  const { items } = await cluster.api.list(cluster.api.collections.pods(selector), readReplica, signal)
  return { deployment, replicas: items }
}

export function probeModelServer(servers: Servers, run: RunRef, signal?: AbortSignal): Promise<RunState> {
  const read = async () => readModelServerState(await readLiveSnapshot(servers, run, signal), limitsOf(servers.cluster))
  return orUnreachable(read, signal)
}

export function watchModelServer(servers: Servers, run: RunRef, options: WatchOptions): Promise<EndState> {
  const { cluster, cache } = servers
  const believe = () => {
    const snapshot = cache.snapshot(run.name)
    if (!snapshot.deployment || (run.uid !== undefined && snapshot.deployment.uid !== run.uid)) return null
    return readModelServerState(snapshot, limitsOf(cluster))
  }
  // An end that the cache shows may be a cache that lags.
  const isProven = (state: RunState) => !isEndState(state)
  const ask = () => probeModelServer(servers, run, options.signal)
  return watchState({ name: run.name, cache, believe, isProven, ask }, options)
}

/** Of one replica: the one that crashed last, from before its last start, else the newest. */
export async function readModelServerLog(servers: Servers, run: RunRef, range?: LogRange): Promise<LogSlice | null> {
  const { deployment, replicas } = await readLiveSnapshot(servers, run)
  const [chosen] = replicas.toSorted(
    (a, b) => (b.lastEnd?.atMs ?? 0) - (a.lastEnd?.atMs ?? 0) || b.createdAtMs - a.createdAtMs,
  )
  if (!deployment && !chosen) return null
  const nothing = { text: '', nextOffsetBytes: 0, sizeBytes: 0 }
  if (!chosen) return nothing
  const { container } = chosen
  const state = chosen.containers.find(({ name }) => name === container)?.state.is
  // A container that waits for its next start has no log of its own yet.
  const previous = chosen.lastEnd !== null && state !== 'terminated'
  const patience = AbortSignal.timeout(logPatienceMs)
  const log = await servers.cluster.api.openLog(chosen.name, { container, previous }, patience)
  if (!log) return nothing
  const { done, read } = collectLog(log, range)
  await done
  return read()
}

/** Resolves once the API server confirms that nothing of it is left. */
export async function terminateModelServer(
  servers: Servers,
  run: RunRef,
  { graceMs, signal }: Pick<TerminateOptions, 'graceMs' | 'signal'>,
): Promise<Terminated> {
  const { cluster, api } = servers
  const before = await readLiveSnapshot(servers, run, signal)
  if (!before.deployment && before.replicas.length === 0) return { end: { state: 'gone' }, logTail: null }
  const state = readModelServerState(before, limitsOf(cluster))
  const uid = before.deployment?.uid ?? run.uid ?? ''
  if (before.deployment) await api.deleteDeployment(before.deployment.name, uid, signal)
  await api.deleteOwned(run.name, signal)
  await cluster.api.deleteSecret(run.name, signal)
  for (let waitMs = firstCheckMs; ; waitMs = Math.min(waitMs * 1.5, maxCheckMs)) {
    const { deployment, replicas } = await readLiveSnapshot(servers, { name: run.name, uid }, signal)
    if (!deployment && replicas.length === 0) break
    for (const pod of replicas) {
      // Left behind by a Deployment that was deleted without them.
      if (!deployment && pod.deleteByMs === null) await cluster.api.deletePod(pod.name, pod.uid, graceMs, signal)
      // It can only answer those who hold its dead token.
      else if (isSilent(pod, limitsOf(cluster))) await cluster.api.declarePodDead(pod.name, pod.uid, signal)
    }
    await sleep(waitMs, undefined, signal && { signal })
  }
  const stopped = failed(uid, null, null, 'killed', 'The server was stopped.')
  return { end: isEndState(state) ? state : stopped, logTail: null }
}

/** Read from the API server, not from memory: what is not here is not there. */
export async function listModelServers(
  { cluster, api }: Servers,
  labels: Record<string, string>,
): Promise<RunSummary[]> {
  const selector = selectorOfProgram('model-server', labels)
  const deployments = await cluster.api.list(api.deployments(selector), readOwner)
  const pods = await cluster.api.list(cluster.api.collections.pods(selector), readReplica)
  const replicasOf = Map.groupBy(pods.items, ({ runName }) => runName)
  return deployments.items.map((deployment) => {
    const snapshot = { deployment, replicas: replicasOf.get(deployment.runName) ?? [] }
    return {
      name: deployment.runName,
      uid: deployment.uid,
      labels: readLabels(deployment.labels),
      createdAt: new Date(deployment.createdAtMs),
      state: readModelServerState(snapshot, limitsOf(cluster)),
    }
  })
}
