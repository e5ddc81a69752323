// How a run ended: by its pod, which knows best, or by what its Job kept of it.
import { constants } from 'node:os'
import { causeOfExit } from '../../../domain/attempt-cause.ts'
import type { EndState, FailureReason } from '../../compute.ts'
import { holds } from '../pods/observed-objects.ts'
import type { Condition, ObservedJob, ObservedPod } from '../pods/observed-objects.ts'
import { hasGone, isSilent, mainContainer, preemptionOf } from './run-snapshot.ts'
import type { Limits, RunSnapshot } from './run-snapshot.ts'

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))

/** Null while it has not ended. */
export function readPodEnd(pod: ObservedPod, snapshot: RunSnapshot, limits: Limits): EndState | null {
  const uid = snapshot.job?.uid ?? pod.ownerUid
  if (pod.phase === 'Succeeded') return { state: 'succeeded', uid }
  if (pod.phase === 'Failed') return readFailedPod(uid, pod, snapshot)
  if (!isSilent(pod, limits)) return null
  if (hasGone(snapshot, pod)) return null
  const seconds = Math.round(limits.nodeLostAfterMs / 1000)
  return failed(uid, null, null, 'node_lost', `Its node has not answered for ${seconds} s beyond its grace period.`)
}

function readFailedPod(uid: string, pod: ObservedPod, snapshot: RunSnapshot): EndState {
  const state = mainContainer(snapshot, pod)?.state
  const exit = state?.is === 'terminated' ? state : null
  const disruption = holds(pod.conditions, 'DisruptionTarget')
  const because = (reason: FailureReason, message: string) => {
    const exitCode = exit?.exitCode ?? null
    return failed(uid, exitCode, signalOf(exit), reason, message)
  }
  if (exit?.reason === 'OOMKilled') return because('out_of_memory', 'It needed more memory than its limit.')
  // Its own last word, whatever happened at the same time.
  if (exit && exit.exitCode > 0 && exit.exitCode < 128) return readExit(uid, exit.exitCode)
  if (pod.reason === 'NodeLost' || disruption?.reason === 'DeletionByPodGC')
    return because('node_lost', pod.message || disruption?.message || 'Its node is gone.')
  if (pod.reason === 'DeadlineExceeded' || isPastDeadline(snapshot.job))
    return because('deadline', 'It took longer than it may.')
  if (disruption?.reason === 'PreemptionByScheduler' || pod.reason === 'Preempting')
    return because('preempted', 'A pod of higher priority took its place.')
  const preemption = preemptionOf(snapshot)
  if (preemption || snapshot.job?.isSuspended) return because('preempted', preemption ?? 'The run was suspended.')
  if (disruption || pod.reason) return because('evicted', evictionMessage(pod, disruption))
  if (exit?.reason === 'StartError' || exit?.reason === 'ContainerCannotRun')
    return failed(uid, null, null, 'killed', `Its container could not be started: ${exit.message}`)
  if (exit) return readExit(uid, exit.exitCode)
  return because('killed', 'It was stopped before it started.')
}

/** What the Job says when no pod is left to ask. */
export function readJobEnd({ uid, conditions }: ObservedJob): EndState | null {
  if (holds(conditions, 'Complete')) return { state: 'succeeded', uid }
  const failure = holds(conditions, 'Failed')
  if (!failure) return null
  if (failure.reason === 'DeadlineExceeded') return failed(uid, null, null, 'deadline', 'It took longer than it may.')
  const exitCode = /with exit code (\d+) matching/.exec(failure.message)?.[1]
  if (exitCode !== undefined) return readExit(uid, Number(exitCode))
  if (failure.message.includes('DisruptionTarget'))
    return failed(uid, null, null, 'evicted', 'The cluster took it off its node.')
  return failed(uid, null, null, 'lost', 'Its pod is gone and nobody saw how it ended.')
}

/** Of several pods' ends the one that the others followed from: they lost a peer, or were ended because of it. */
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

export function failed(
  uid: string,
  exitCode: number | null,
  signal: string | null,
  reason: FailureReason,
  message: string,
): EndState {
  return { state: 'failed', uid, exitCode, signal, reason, message }
}

export function readExit(uid: string, exitCode: number): EndState {
  const signal = signalOf({ exitCode, signal: 0 })
  if (signal) return failed(uid, exitCode, signal, 'killed', `The program was ended by ${signal}.`)
  return failed(uid, exitCode, null, 'exited', `The program ended with exit code ${exitCode}.`)
}

function signalOf(exit: { exitCode: number; signal: number } | null): string | null {
  if (!exit) return null
  return signalNames.get(exit.signal || exit.exitCode - 128) ?? null
}

function isPastDeadline(job: ObservedJob | null): boolean {
  return job !== null && job.conditions.some((each) => each.status === 'True' && each.reason === 'DeadlineExceeded')
}

function evictionMessage(pod: ObservedPod, disruption: Condition | undefined): string {
  const detail = pod.message || disruption?.message || pod.reason
  return `The cluster took it off its node: ${detail}`
}
