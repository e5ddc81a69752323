import type { ObservedPod } from './observed-pod.ts'

export type Limits = {
  /** The time by the API server's clock, as all times in a snapshot. */
  nowMs: number
  /** How long a pod may wait for its image. */
  imageTimeoutMs: number
  /** How long a pod may stay after its grace period. */
  nodeLostAfterMs: number
}

/** Whether the node should have ended the pod long ago. */
export function isSilent({ deleteByMs }: ObservedPod, { nowMs, nodeLostAfterMs }: Limits): boolean {
  return deleteByMs !== null && nowMs > deleteByMs + nodeLostAfterMs
}
