// Model servers as Deployments of a cluster. Manifests, snapshots and states are pure functions; launch.ts creates the
// objects.
import { setTimeout as sleep } from 'node:timers/promises'
import type { ModelServerCompute, ModelServerState } from '../../model-servers.ts'
import { isEndState } from '../../run.ts'
import type { EndState, RunRef, RunSummary, WatchOptions } from '../../run.ts'
import { orUnreachable, retryable, verb } from '../cluster.ts'
import type { Cluster } from '../cluster.ts'
import { readLabels, selectorOfProgram, selectorOfRun } from '../pods/labels.ts'
import { isSilent } from '../pods/limits.ts'
import { collectLog } from '../pods/log-collector.ts'
import { readOwner } from '../pods/observed-pod.ts'
import { watchState } from '../watch/watch-loop.ts'
import { createDeploymentsApi } from './deployments-api.ts'
import { launchModelServer } from './launch.ts'
import { createModelServerCache } from './model-server-cache.ts'
import type { ModelServerCluster } from './model-server-cluster.ts'
import { readReplica } from './snapshot.ts'
import type { ModelServerSnapshot } from './snapshot.ts'
import { readModelServerState } from './state.ts'

const firstCheckMs = 250
const maxCheckMs = 5_000
const logTimeoutMs = 30_000

export function createKubernetesModelServers(shared: Cluster): ModelServerCompute {
  const deployments = createDeploymentsApi(shared.caller, shared.namespace)
  const cache = createModelServerCache(shared.api, deployments)
  const cluster: ModelServerCluster = { ...shared, deployments, cache }

  return {
    launch: (spec) => verb(spec, () => launchModelServer(cluster, spec)),
    probe: (run) => verb(run, () => probe(cluster, run)),
    watch: (run, options) => verb(run, () => watch(cluster, run, options)),
    readLogTail: (run, tailBytes) => verb(run, () => readLogTail(cluster, run, tailBytes)),
    terminate: (run, options) => verb(run, () => terminate(cluster, run, options)),
    list: (labels = {}) => retryable(() => list(cluster, labels)),
    // A Deployment that has ended stays until `terminate` deletes it.
    removeEndedRuns: async () => [],
    close() {
      cache.stop()
      shared.api.close()
    },
  }
}

async function readLiveSnapshot(
  { api, deployments }: ModelServerCluster,
  run: RunRef,
  signal?: AbortSignal,
): Promise<ModelServerSnapshot> {
  const selector = selectorOfRun(run.name)
  const [deployment = null] = (await api.list(deployments.deployments(selector), readOwner, signal)).items
  // Another run has the name now, so the pods of this run are gone.
  if (deployment && run.uid !== undefined && deployment.uid !== run.uid) return { deployment: null, replicas: [] }
  const { items } = await api.list(api.pods(selector), readReplica, signal)
  return { deployment, replicas: items }
}

function probe(cluster: ModelServerCluster, run: RunRef, signal?: AbortSignal): Promise<ModelServerState> {
  const read = async () => readModelServerState(await readLiveSnapshot(cluster, run, signal), cluster.limits())
  return orUnreachable(read, signal)
}

function watch(cluster: ModelServerCluster, run: RunRef, options: WatchOptions<ModelServerState>): Promise<EndState> {
  const { cache } = cluster
  const readCache = () => {
    const snapshot = cache.snapshot(run.name)
    if (!snapshot.deployment || (run.uid !== undefined && snapshot.deployment.uid !== run.uid)) return null
    return readModelServerState(snapshot, cluster.limits())
  }
  // A cache that lags may suggest an end.
  const isCertain = (state: ModelServerState) => !isEndState(state)
  const ask = () => probe(cluster, run, options.signal)
  return watchState({ name: run.name, cache, readCache, isCertain, ask }, options)
}

async function readLogTail(cluster: ModelServerCluster, run: RunRef, tailBytes: number): Promise<string | null> {
  const { deployment, replicas } = await readLiveSnapshot(cluster, run)
  const [chosen] = replicas.toSorted(
    (a, b) => (b.lastEnd?.atMs ?? 0) - (a.lastEnd?.atMs ?? 0) || b.createdAtMs - a.createdAtMs,
  )
  if (!chosen) return deployment ? '' : null
  const { container } = chosen
  const state = chosen.containers.find(({ name }) => name === container)?.state.is
  // A container that waits for its next start has no log of its own yet.
  const previous = chosen.lastEnd !== null && state !== 'terminated'
  const log = await cluster.api.openLog(chosen.name, { container, previous }, AbortSignal.timeout(logTimeoutMs))
  if (!log) return ''
  const { done, read } = collectLog(log, { offsetBytes: -tailBytes, limitBytes: tailBytes })
  await done
  return read().text
}

async function terminate(
  cluster: ModelServerCluster,
  run: RunRef,
  { graceMs, signal }: { graceMs: number; signal?: AbortSignal },
): Promise<void> {
  const { api, deployments } = cluster
  const before = await readLiveSnapshot(cluster, run, signal)
  if (!before.deployment && before.replicas.length === 0) return
  const uid = before.deployment?.uid ?? run.uid ?? ''
  if (before.deployment) await deployments.deleteDeployment(before.deployment.name, uid, signal)
  await deployments.deleteOwned(run.name, signal)
  await api.deleteSecret(run.name, signal)
  for (let waitMs = firstCheckMs; ; waitMs = Math.min(waitMs * 1.5, maxCheckMs)) {
    const { deployment, replicas } = await readLiveSnapshot(cluster, { name: run.name, uid }, signal)
    if (!deployment && replicas.length === 0) return
    for (const pod of replicas) {
      // The Deployment was deleted without this pod.
      if (!deployment && pod.deleteByMs === null) await api.deletePod(pod.name, pod.uid, graceMs, signal)
      // Its token is invalid, so it cannot answer callers with the new token.
      else if (isSilent(pod, cluster.limits())) await api.declarePodDead(pod.name, pod.uid, signal)
    }
    await sleep(waitMs, undefined, signal && { signal })
  }
}

/** Reads from the API server, not from the cache: a run that is missing here does not exist. */
async function list(
  cluster: ModelServerCluster,
  labels: Record<string, string>,
): Promise<RunSummary<ModelServerState>[]> {
  const { api, deployments } = cluster
  const selector = selectorOfProgram('model-server', labels)
  const found = await api.list(deployments.deployments(selector), readOwner)
  const pods = await api.list(api.pods(selector), readReplica)
  const replicasOf = Map.groupBy(pods.items, ({ runName }) => runName)
  return found.items.map((deployment) => {
    const snapshot = { deployment, replicas: replicasOf.get(deployment.runName) ?? [] }
    return {
      name: deployment.runName,
      uid: deployment.uid,
      labels: readLabels(deployment.labels),
      createdAt: new Date(deployment.createdAtMs),
      state: readModelServerState(snapshot, cluster.limits()),
    }
  })
}
