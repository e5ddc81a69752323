// Reads how a training run ended from its pod, or from its Job's conditions if no pod is left.
import { causeOfExit } from '../../../domain/attempt-cause.ts'
import { outOfDiskMessage } from '../../out-of-disk.ts'
import type { EndState, FailureReason } from '../../run.ts'
import { failed, readExit, signalOf } from '../pods/exit-state.ts'
import { isSilent } from '../pods/limits.ts'
import type { Limits } from '../pods/limits.ts'
import { holds } from '../pods/observed-pod.ts'
import type { Condition, ObservedPod } from '../pods/observed-pod.ts'
import type { ObservedJob } from './observed-job.ts'
import { hasGone, mainContainer, preemptionOf } from './run-snapshot.ts'
import type { RunSnapshot } from './run-snapshot.ts'

/** The kubelet's message for a pod that exceeded its own share of disk. A node that runs short sends other messages. */
const overLimit = /exceed(s|ed) .*\blimit\b/

/** Null while it has not ended. */
export function readPodEnd(pod: ObservedPod, snapshot: RunSnapshot, limits: Limits): EndState | null {
  const uid = snapshot.job?.uid ?? pod.ownerUid
  if (pod.phase === 'Succeeded') return { state: 'succeeded', uid }
  if (pod.phase === 'Failed') return readFailedPod(uid, pod, snapshot)
  if (!isSilent(pod, limits)) return null
  if (hasGone(snapshot, pod)) return null
  const seconds = Math.round(limits.nodeLostAfterMs / 1000)
  return failed(
    uid,
    null,
    null,
    'node_lost',
    `The node did not end the pod of the run within ${seconds} s after the grace period.`,
  )
}

function readFailedPod(uid: string, pod: ObservedPod, snapshot: RunSnapshot): EndState {
  const state = mainContainer(snapshot, pod)?.state
  const exit = state?.is === 'terminated' ? state : null
  const disruption = holds(pod.conditions, 'DisruptionTarget')
  const because = (reason: FailureReason, message: string) => {
    const exitCode = exit?.exitCode ?? null
    return failed(uid, exitCode, signalOf(exit), reason, message)
  }
  if (exit?.reason === 'OOMKilled') return because('out_of_memory', 'The program needed more memory than its limit.')
  // The program's own exit code outweighs what happened at the same time.
  if (exit && exit.exitCode > 0 && exit.exitCode < 128) return readExit(uid, exit.exitCode)
  if (pod.reason === 'NodeLost' || disruption?.reason === 'DeletionByPodGC')
    return because('node_lost', pod.message || disruption?.message || 'The cluster no longer has the node of the run.')
  if (pod.reason === 'DeadlineExceeded' || isPastDeadline(snapshot.job))
    return because('deadline_exceeded', 'The run exceeded the deadline of its Job.')
  if (disruption?.reason === 'PreemptionByScheduler' || pod.reason === 'Preempting')
    return because('preempted', 'A pod of higher priority took its place.')
  const preemption = preemptionOf(snapshot)
  if (preemption || snapshot.job?.isSuspended) return because('preempted', preemption ?? 'The run was suspended.')
  if (overLimit.test(pod.message)) return because('out_of_disk', outOfDiskMessage(pod.message.trim()))
  if (disruption || pod.reason) return because('evicted', evictionMessage(pod, disruption))
  if (exit?.reason === 'StartError' || exit?.reason === 'ContainerCannotRun')
    return failed(uid, null, null, 'killed', `The container of the run could not be started: ${exit.message}`)
  if (exit) return readExit(uid, exit.exitCode)
  return because('killed', 'The run was stopped before its program started.')
}

/** The end according to the Job's conditions, if no pod is left. */
export function readJobEnd({ uid, conditions }: ObservedJob): EndState | null {
  if (holds(conditions, 'Complete')) return { state: 'succeeded', uid }
  const failure = holds(conditions, 'Failed')
  if (!failure) return null
  if (failure.reason === 'DeadlineExceeded')
    return failed(uid, null, null, 'deadline_exceeded', 'The run exceeded the deadline of its Job.')
  const exitCode = /with exit code (\d+) matching/.exec(failure.message)?.[1]
  if (exitCode !== undefined) return readExit(uid, Number(exitCode))
  if (failure.message.includes('DisruptionTarget'))
    return failed(uid, null, null, 'evicted', 'The cluster removed the pod of the run from its node.')
  return failed(uid, null, null, 'lost', 'The pod of the run is gone, and its exit code was not recorded.')
}

/** The failure that caused the others: those lost their peer, or were ended because of it. */
export function firstFailure(ends: { pod: ObservedPod; end: EndState | null }[]): EndState | null {
  const failures = ends.filter(({ end }) => end?.state === 'failed')
  const first = failures.toSorted(
    (a, b) =>
      consequenceRank(a.end) - consequenceRank(b.end) || (a.pod.endedAtMs ?? Infinity) - (b.pod.endedAtMs ?? Infinity),
  )[0]
  return first?.end ?? null
}

function consequenceRank(end: EndState | null): number {
  if (end?.state !== 'failed') return 0
  if (end.reason === 'exited' && causeOfExit(end.exitCode) === 'peer_lost') return 2
  return end.reason === 'killed' ? 1 : 0
}

function isPastDeadline(job: ObservedJob | null): boolean {
  return job !== null && job.conditions.some((each) => each.status === 'True' && each.reason === 'DeadlineExceeded')
}

function evictionMessage(pod: ObservedPod, disruption: Condition | undefined): string {
  const detail = pod.message || disruption?.message || pod.reason
  return `The cluster removed the pod of the run from its node: ${detail}`
}
