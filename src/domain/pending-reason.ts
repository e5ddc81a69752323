/** Why a launched run has not started. Local runs never wait. */
const pendingReasons = [
  /** It has a node, which is creating its containers. */
  'starting',
  /** No node has room; the message names the missing resource. */
  'unschedulable',
  /** An image cannot be pulled. Fails with the cause of this name after a configured time. */
  'image_unavailable',
  /** The namespace's quota refuses its pods. There is no time limit. */
  'quota_exceeded',
  /** The cluster's queue has not admitted it. There is no time limit. */
  'waiting_for_quota',
] as const

export type PendingReason = (typeof pendingReasons)[number]

/** A program that has started fetches its base model, or converts it. The message says how far it is. */
export const loadingModel = 'loading_model'

/** True for the reason of a wait; false for that of a failure. */
export const isWait = (reason: string | null): boolean =>
  [...pendingReasons, loadingModel].some((each) => each === reason)
