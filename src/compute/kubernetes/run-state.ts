// What the cluster's objects say about a run. Pure: the same facts give the same state.
import type { RunState } from '../compute.ts'
import type { PodFacts } from './facts.ts'
import { failed, readJobEnd, readPodEnd } from './run-end.ts'
import { hasStarted, preemptionOf } from './run-facts.ts'
import type { Limits, RunFacts } from './run-facts.ts'
import { readWait } from './run-wait.ts'

export function readRunState(facts: RunFacts, limits: Limits): RunState {
  const { job } = facts
  const pod = podOfRun(facts)
  if (!job) return readOrphan(facts, pod, limits)
  const { uid } = job
  const end = (pod && readPodEnd(pod, facts, limits)) ?? readJobEnd(job)
  if (end) return end
  // Taken off its node to make room. The cluster's queue would start it again; a claim can be made but once.
  if (pod && hasGone(facts, pod) && job.isSuspended)
    return failed(uid, null, null, 'preempted', preemptionOf(facts) ?? 'The run was suspended.')
  if (pod && (hasGone(facts, pod) || hasStarted(pod))) return { state: 'running', uid }
  return readWait(facts, pod, limits)
}

/** The first that did something: a queue may start a Job once more, but that pod's claim is refused. */
function podOfRun({ job, pods, lastPod }: RunFacts): PodFacts | null {
  const own = pods.filter((pod) => !job || pod.ownerUid === job.uid)
  if (lastPod && (!job || lastPod.ownerUid === job.uid) && hasStarted(lastPod)) return lastPod
  return own.toSorted((a, b) => a.createdAtMs - b.createdAtMs)[0] ?? null
}

function hasGone({ pods }: RunFacts, pod: PodFacts): boolean {
  return !pods.some(({ uid }) => uid === pod.uid)
}

/** Its Job was deleted without it. It is not over before the pod is. */
function readOrphan(facts: RunFacts, pod: PodFacts | null, limits: Limits): RunState {
  if (!pod || hasGone(facts, pod)) return { state: 'gone' }
  return readPodEnd(pod, facts, limits) ?? { state: 'running', uid: pod.ownerUid }
}
