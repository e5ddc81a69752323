import { holds } from '../api/observed-objects.ts'
import type { ContainerFacts, JobFacts, PodFacts, RefusalFacts, WorkloadFacts } from '../api/observed-objects.ts'
import { componentLabel } from '../pods/labels.ts'
import type { QueuePlace } from './queue-ranking.ts'

/** Everything known of one run; what is not known of it is simply absent. */
export type RunFacts = {
  job: JobFacts | null
  pods: PodFacts[]
  /** The last states of pods that have gone, in the order of their going. */
  gonePods: PodFacts[]
  refusal: RefusalFacts | null
  workload: WorkloadFacts | null
  place: QueuePlace | null
}

export type Limits = {
  /** By the server's clock, as all times in the facts. */
  nowMs: number
  /** How long an image may be missing. */
  imageTimeoutMs: number
  /** How long after its grace a pod may be silent. */
  nodeLostAfterMs: number
}

/** Why the cluster's queue took it back; null where it did not. */
export function preemptionOf({ workload }: RunFacts): string | null {
  const evicted = workload && holds(workload.conditions, 'Evicted')
  // Kueue names the job that took its place, which may be another account's.
  const why = evicted?.message.replaceAll(/ \(UID: [^)]*\)/g, '')
  return why === undefined ? null : `The cluster's queue took it back: ${why}`
}

/** Its node should have ended it long ago. */
export function isSilent({ deleteByMs }: PodFacts, { nowMs, nodeLostAfterMs }: Limits): boolean {
  return deleteByMs !== null && nowMs > deleteByMs + nodeLostAfterMs
}

export function hasGone({ pods }: RunFacts, pod: PodFacts): boolean {
  return !pods.some(({ uid }) => uid === pod.uid)
}

export function hasStarted(pod: PodFacts): boolean {
  return pod.containers.some(({ state }) => state.is !== 'waiting') || pod.phase === 'Running'
}

/** The program's container, which is named like the component. */
export function mainContainer(facts: RunFacts, pod: PodFacts): ContainerFacts | undefined {
  const program = facts.job?.labels[componentLabel]
  return pod.containers.find(({ name }) => name === program) ?? pod.containers.at(-1)
}
