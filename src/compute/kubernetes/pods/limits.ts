import type { ObservedPod } from './observed-pod.ts'

export type Limits = {
  /** By the server's clock, as all times in a snapshot. */
  nowMs: number
  /** How long an image may be missing. */
  imageTimeoutMs: number
  /** How long a pod may stay after its grace. */
  nodeLostAfterMs: number
}

/** Its node should have ended the pod long ago. */
export function isSilent({ deleteByMs }: ObservedPod, { nowMs, nodeLostAfterMs }: Limits): boolean {
  return deleteByMs !== null && nowMs > deleteByMs + nodeLostAfterMs
}
