/** Why a run does not run yet. Local runs never wait. */
export const pendingReasons = [
  /** Placed; its containers are being made. */
  'starting',
  /** No node has room; the message names the resource. */
  'unschedulable',
  /** Waits for an image that cannot be pulled; becomes the failure of that name after a configured time. */
  'image_unavailable',
  /** The namespace's quota refuses its pods. Waits for ever. */
  'quota_exceeded',
  /** The cluster's queue holds it back. Waits for ever. */
  'waiting_for_quota',
] as const

export type PendingReason = (typeof pendingReasons)[number]
