// The fields of a Job, and of the objects that explain its state, that the cache keeps.
import { timeOf } from '../api/kubernetes-object.ts'
import type { KubernetesObject } from '../api/kubernetes-object.ts'
import { controllerOf, readConditions, readOwner } from '../pods/observed-pod.ts'
import type { Condition, ObservedOwner } from '../pods/observed-pod.ts'

export type ObservedJob = ObservedOwner & { isSuspended: boolean; /** One a node. */ podCount: number }

/** Why a Job's pod could not be created, by the newest event that says so. */
export type PodRefusal = { jobUid: string; message: string; atMs: number }

/** Kueue's record of a Job. */
export type ObservedWorkload = {
  uid: string
  jobUid: string
  queue: string
  priority: number
  createdAtMs: number
  conditions: Condition[]
}

export function readJob(raw: KubernetesObject): ObservedJob {
  return { ...readOwner(raw), isSuspended: raw.spec?.suspend === true, podCount: raw.spec?.completions ?? 1 }
}

export function readRefusal(raw: KubernetesObject): PodRefusal {
  const atMs = timeOf(raw.lastTimestamp) ?? timeOf(raw.eventTime) ?? timeOf(raw.metadata?.creationTimestamp) ?? 0
  return { jobUid: raw.involvedObject?.uid ?? '', message: raw.message ?? '', atMs }
}

export function readWorkload(raw: KubernetesObject): ObservedWorkload {
  const { uid = '', ownerReferences = [] } = raw.metadata ?? {}
  return {
    uid,
    jobUid: controllerOf(ownerReferences),
    queue: raw.spec?.queueName ?? '',
    priority: raw.spec?.priority ?? 0,
    createdAtMs: timeOf(raw.metadata?.creationTimestamp) ?? 0,
    conditions: readConditions(raw),
  }
}
