/** An object as the API sends it: the fields that are read. */
export type KubernetesObject = {
  metadata?: {
    name?: string
    uid?: string
    resourceVersion?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    creationTimestamp?: string
    deletionTimestamp?: string
    ownerReferences?: { uid: string; controller?: boolean }[]
  }
  spec?: { suspend?: boolean; completions?: number; queueName?: string; priority?: number }
  status?: {
    phase?: string
    reason?: string
    message?: string
    startTime?: string
    podIP?: string
    conditions?: RawCondition[]
    initContainerStatuses?: RawContainer[]
    containerStatuses?: RawContainer[]
  }
  involvedObject?: { uid?: string }
  message?: string
  lastTimestamp?: string
  eventTime?: string
}
type RawCondition = {
  type: string
  status: string
  reason?: string
  message?: string
  lastTransitionTime?: string
}
export type RawContainer = {
  name: string
  state?: {
    waiting?: { reason?: string; message?: string }
    running?: object
    terminated?: { exitCode: number; signal?: number; reason?: string; message?: string; finishedAt?: string }
  }
}

/** Null where the API gave no time. */
export function timeOf(text: string | undefined): number | null {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? null : ms
}
