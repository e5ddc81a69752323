// Reads the objects of a run. Only a fresh answer of the API server proves that an object is gone.
import type { RunRef, RunState } from '../../run.ts'
import type { TrainerCluster } from './trainer-cluster.ts'
import { readPod } from '../pods/observed-pod.ts'
import { readJob } from './observed-job.ts'
import { selectorOfRun } from '../pods/labels.ts'
import type { RunSnapshot } from './run-snapshot.ts'
import { readRunState } from './run-state.ts'

/** Reads from the cache if it has all objects of the run, otherwise from the API server. @throws as `readLiveSnapshot` */
export async function readSnapshot(cluster: TrainerCluster, run: RunRef, signal?: AbortSignal): Promise<RunSnapshot> {
  const known = cluster.cache.isCurrent() ? cluster.cache.snapshot(run.name) : null
  const isKnown = known?.job && known.pods.length > 0 && (run.uid === undefined || known.job.uid === run.uid)
  return isKnown ? known : readLiveSnapshot(cluster, run, signal)
}

/** With `uid`, another run of that name is ignored. @throws ComputeError `unavailable`, ApiError */
export async function readLiveSnapshot(
  { api, jobs, cache }: TrainerCluster,
  run: RunRef,
  signal?: AbortSignal,
): Promise<RunSnapshot> {
  const before = cache.snapshot(run.name)
  // The Job is read first, so that pods created in between are seen.
  const rawJob = await jobs.getJob(run.name, signal)
  const { items } = await api.list(api.pods(selectorOfRun(run.name)), readPod, signal)
  const found = rawJob && readJob(rawJob)
  const job = found && (run.uid === undefined || found.uid === run.uid) ? found : null
  const ownerUid = run.uid ?? job?.uid
  const pods = items.filter((pod) => !ownerUid || pod.ownerUid === ownerUid)
  const gonePods = before.gonePods.filter((pod) => pod.ownerUid === ownerUid)
  return { job, pods, gonePods, ...cache.aside(job?.uid ?? '') }
}

export async function readLiveState(cluster: TrainerCluster, run: RunRef, signal?: AbortSignal): Promise<RunState> {
  return readRunState(await readLiveSnapshot(cluster, run, signal), cluster.limits())
}
