// Says why a training run is pending: the reason of its pods, or why the cluster does not create them.
import type { FailedState, RunState } from '../../run.ts'
import type { Limits } from '../pods/limits.ts'
import type { ObservedPod } from '../pods/observed-pod.ts'
import { pending, readMissingPod, readPodPending, sentence } from '../pods/pending-reason.ts'
import type { QueuePlace } from './queue-ranking.ts'
import type { RunSnapshot } from './run-snapshot.ts'

/** Later places in the queue are not shown, because the number would change again and again. */
const maxPlace = 20

/** @param pods the waiting pods. The reason is that of the first pod that waits for more than its start. */
export function readPending(snapshot: RunSnapshot, pods: ObservedPod[], limits: Limits): RunState | FailedState {
  const states = pods.map((pod) => readPodPending(snapshot.job?.uid ?? '', pod, limits))
  const telling = states.find((state) => state.state !== 'pending' || state.reason !== 'starting')
  return telling ?? states[0] ?? readNoPod(snapshot)
}

function readNoPod({ job, workload, place, refusal }: RunSnapshot): RunState {
  if (!job?.isSuspended) return readMissingPod(refusal?.message)
  if (!workload) return pending('waiting_for_quota', "Waiting in the cluster's queue.")
  const held = workload.conditions.find(({ type, status }) => type === 'QuotaReserved' && status === 'False')
  const reason = held?.message ? ` ${sentence(held.message)}` : ''
  const position = place ? placeText(place) : ''
  return pending('waiting_for_quota', `Waiting in the queue ${workload.queue}${position}.${reason}`)
}

function placeText({ position, waiting }: QueuePlace): string {
  return position > maxPlace
    ? `, more than ${maxPlace} before it`
    : `, ${position === 1 ? 'first' : `number ${position}`} of ${waiting > maxPlace ? `more than ${maxPlace}` : waiting}`
}
