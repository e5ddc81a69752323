// Reads the state of a run from the cluster's objects. A pure function: the same snapshot gives the same state.
import type { EndState, RunState } from '../../run.ts'
import { failed } from '../pods/exit-state.ts'
import type { Limits } from '../pods/limits.ts'
import type { ObservedPod } from '../pods/observed-pod.ts'
import { firstFailure, readJobEnd, readPodEnd } from './failure-reason.ts'
import { hasGone, hasStarted, preemptionOf } from './run-snapshot.ts'
import type { RunSnapshot } from './run-snapshot.ts'
import { readPending } from './pending-reason.ts'

export function readRunState(snapshot: RunSnapshot, limits: Limits): RunState {
  const { job } = snapshot
  const pods = podsOfRun(snapshot)
  if (!job) return readOrphan(snapshot, pods, limits)
  const { uid, podCount } = job
  const end = readEnd(snapshot, pods, podCount, limits) ?? readJobEnd(job)
  if (end) return end
  // Kueue took its pods away to make room. It would start them again, but an attempt can be claimed only once.
  if (job.isSuspended && pods.length > 0 && pods.every((pod) => hasGone(snapshot, pod)))
    return failed(uid, null, null, 'preempted', preemptionOf(snapshot) ?? 'The run was suspended.')
  const waiting = pods.filter((pod) => !hasGone(snapshot, pod) && !hasStarted(pod))
  if (pods.length >= podCount && waiting.length === 0) return { state: 'running', uid }
  return readPending(snapshot, waiting, limits)
}

/** For each node the first pod that started: Kueue may start a Job again, but the claim of those pods is refused. */
function podsOfRun({ job, pods, gonePods }: RunSnapshot): ObservedPod[] {
  const isOwn = (pod: ObservedPod) => !job || pod.ownerUid === job.uid
  const present = pods.filter(isOwn).toSorted((a, b) => a.createdAtMs - b.createdAtMs)
  const byNode = Map.groupBy(
    [...gonePods.filter((pod) => isOwn(pod) && hasStarted(pod)), ...present],
    (pod) => pod.nodeRank,
  )
  return [...byNode.values()].flatMap(([first]) => first ?? []).toSorted((a, b) => a.nodeRank - b.nodeRank)
}

/** Null until all pods have ended, because one may still be saving. A lost node ends the run at once. */
function readEnd(snapshot: RunSnapshot, pods: ObservedPod[], podCount: number, limits: Limits): EndState | null {
  const ends = pods.map((pod) => ({ pod, end: readPodEnd(pod, snapshot, limits) }))
  const lost = ends.find(({ end }) => end?.state === 'failed' && end.reason === 'node_lost')
  if (lost) return lost.end
  if (!ends.every(({ pod, end }) => end !== null || hasGone(snapshot, pod))) return null
  const succeeded = ends.filter(({ end }) => end?.state === 'succeeded')
  if (succeeded.length >= podCount) return succeeded[0]?.end ?? null
  return firstFailure(ends)
}

/** The Job was deleted without its pods. The run ends when they have. */
function readOrphan(snapshot: RunSnapshot, pods: ObservedPod[], limits: Limits): RunState {
  const [first] = pods.filter((pod) => !hasGone(snapshot, pod))
  if (!first) return { state: 'gone' }
  return readEnd(snapshot, pods, pods.length, limits) ?? { state: 'running', uid: first.ownerUid }
}
