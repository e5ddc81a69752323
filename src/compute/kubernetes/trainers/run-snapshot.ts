import { holds } from '../pods/observed-pod.ts'
import type { ObservedContainer, ObservedPod } from '../pods/observed-pod.ts'
import { componentLabel } from '../pods/labels.ts'
import type { ObservedJob, ObservedWorkload, PodRefusal } from './observed-job.ts'
import type { QueuePlace } from './queue-ranking.ts'

/** All objects of one run at one moment. */
export type RunSnapshot = {
  job: ObservedJob | null
  pods: ObservedPod[]
  /** The last states of deleted pods, in the order of their deletion. */
  gonePods: ObservedPod[]
  refusal: PodRefusal | null
  workload: ObservedWorkload | null
  place: QueuePlace | null
}

/** Why Kueue evicted the run; null if it did not. */
export function preemptionOf({ workload }: RunSnapshot): string | null {
  const evicted = workload && holds(workload.conditions, 'Evicted')
  // Kueue names the job that took its place, which may be another account's.
  const reason = evicted?.message.replaceAll(/ \(UID: [^)]*\)/g, '')
  return reason === undefined ? null : `The cluster's queue took the run back: ${reason}`
}

export function hasGone({ pods }: RunSnapshot, pod: ObservedPod): boolean {
  return !pods.some(({ uid }) => uid === pod.uid)
}

export function hasStarted(pod: ObservedPod): boolean {
  return pod.containers.some(({ state }) => state.is !== 'waiting') || pod.phase === 'Running'
}

/** The program's container, which is named like the component. */
export function mainContainer(snapshot: RunSnapshot, pod: ObservedPod): ObservedContainer | undefined {
  const program = snapshot.job?.labels[componentLabel]
  return pod.containers.find(({ name }) => name === program) ?? pod.containers.at(-1)
}
