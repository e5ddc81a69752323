import { holds } from '../pods/observed-objects.ts'
import type {
  ObservedContainer,
  ObservedJob,
  ObservedPod,
  PodRefusal,
  ObservedWorkload,
} from '../pods/observed-objects.ts'
import { componentLabel } from '../pods/labels.ts'
import type { QueuePlace } from './queue-ranking.ts'

/** Everything known of one run; what is not known of it is simply absent. */
export type RunSnapshot = {
  job: ObservedJob | null
  pods: ObservedPod[]
  /** The last states of pods that have gone, in the order of their going. */
  gonePods: ObservedPod[]
  refusal: PodRefusal | null
  workload: ObservedWorkload | null
  place: QueuePlace | null
}

export type Limits = {
  /** By the server's clock, as all times in the snapshot. */
  nowMs: number
  /** How long an image may be missing. */
  imageTimeoutMs: number
  /** How long after its grace a pod may be silent. */
  nodeLostAfterMs: number
}

/** Why the cluster's queue took it back; null where it did not. */
export function preemptionOf({ workload }: RunSnapshot): string | null {
  const evicted = workload && holds(workload.conditions, 'Evicted')
  // Kueue names the job that took its place, which may be another account's.
  const why = evicted?.message.replaceAll(/ \(UID: [^)]*\)/g, '')
  return why === undefined ? null : `The cluster's queue took it back: ${why}`
}

/** Its node should have ended it long ago. */
export function isSilent({ deleteByMs }: ObservedPod, { nowMs, nodeLostAfterMs }: Limits): boolean {
  return deleteByMs !== null && nowMs > deleteByMs + nodeLostAfterMs
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
