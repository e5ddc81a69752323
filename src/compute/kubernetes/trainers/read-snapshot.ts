// What is known of a run; only what the API server itself says at this moment can prove that something is gone.
import type { RunRef, RunState } from '../../compute.ts'
import type { Cluster } from '../cluster.ts'
import { readJob, readPod } from '../pods/observed-objects.ts'
import { selectorOfRun } from '../pods/labels.ts'
import type { Limits, RunSnapshot } from './run-snapshot.ts'
import { readRunState } from './run-state.ts'

/** By the shared cache where that has all of the run, else by the API server. @throws as `readLiveSnapshot` */
export async function readSnapshot(cluster: Cluster, run: RunRef, signal?: AbortSignal): Promise<RunSnapshot> {
  const known = cluster.cache.isCurrent() ? cluster.cache.snapshot(run.name) : null
  const isKnown = known?.job && known.pods.length > 0 && (run.uid === undefined || known.job.uid === run.uid)
  return isKnown ? known : readLiveSnapshot(cluster, run, signal)
}

/** With `uid`, another run of that name is not seen. @throws ComputeError `unavailable`, ApiError */
export async function readLiveSnapshot(
  { api, cache }: Cluster,
  run: RunRef,
  signal?: AbortSignal,
): Promise<RunSnapshot> {
  const before = cache.snapshot(run.name)
  // The Job first: pods made in between are then seen with it or after it.
  const rawJob = await api.getJob(run.name, signal)
  const { items } = await api.list(api.collections.pods(selectorOfRun(run.name)), readPod, signal)
  const found = rawJob && readJob(rawJob)
  const job = found && (run.uid === undefined || found.uid === run.uid) ? found : null
  const ownerUid = run.uid ?? job?.uid
  const pods = items.filter((pod) => !ownerUid || pod.ownerUid === ownerUid)
  const gonePods = before.gonePods.filter((pod) => pod.ownerUid === ownerUid)
  return { job, pods, gonePods, ...cache.aside(job?.uid ?? '') }
}

export function readLiveState(cluster: Cluster, run: RunRef, signal?: AbortSignal): Promise<RunState> {
  return orUnreachable(
    async () => readRunState(await readLiveSnapshot(cluster, run, signal), limitsOf(cluster)),
    signal,
  )
}

/** Trouble with the API server is a state as well. @throws the signal's reason, nothing else */
export async function orUnreachable(read: () => Promise<RunState>, signal?: AbortSignal): Promise<RunState> {
  try {
    return await read()
  } catch (error) {
    signal?.throwIfAborted()
    return { state: 'unreachable', message: error instanceof Error ? error.message : String(error) }
  }
}

export function limitsOf({ api, imageTimeoutMs, nodeLostAfterMs }: Cluster): Limits {
  return { nowMs: Date.now() + api.clockAheadMs(), imageTimeoutMs, nodeLostAfterMs }
}
