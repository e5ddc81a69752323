// The fields of a pod and of its owner that the cache keeps. A worker holds thousands of pods.
import { timeOf } from '../api/kubernetes-object.ts'
import type { KubernetesObject, RawContainer } from '../api/kubernetes-object.ts'
import { nodeRankAnnotation, runLabel } from './labels.ts'

export type Condition = { type: string; status: string; reason: string; message: string; atMs: number | null }

/** The owner of a run's pods: a Job, or a model server's Deployment. */
export type ObservedOwner = {
  name: string
  uid: string
  runName: string
  labels: Record<string, string>
  createdAtMs: number
  isBeingDeleted: boolean
  conditions: Condition[]
}

export type ObservedPod = {
  name: string
  uid: string
  runName: string
  /** The uid of the Job of the pod. */
  ownerUid: string
  /** The number of the pod among the run's pods; 0 if there is only one. */
  nodeRank: number
  createdAtMs: number
  /** The end of the grace period, if the pod is being deleted. */
  deleteByMs: number | null
  /** When a node accepted the pod. */
  startedAtMs: number | null
  /** When the last container of the pod ended. */
  endedAtMs: number | null
  phase: string
  reason: string
  message: string
  conditions: Condition[]
  containers: ObservedContainer[]
}

export type ObservedContainer = {
  name: string
  state:
    | { is: 'waiting'; reason: string; message: string }
    | { is: 'running' }
    | { is: 'terminated'; exitCode: number; signal: number; reason: string; message: string }
}

export function readOwner(raw: KubernetesObject): ObservedOwner {
  const { name = '', uid = '', labels = {} } = raw.metadata ?? {}
  return {
    name,
    uid,
    runName: labels[runLabel] ?? name,
    labels,
    createdAtMs: timeOf(raw.metadata?.creationTimestamp) ?? 0,
    isBeingDeleted: raw.metadata?.deletionTimestamp !== undefined,
    conditions: readConditions(raw),
  }
}

export function readPod(raw: KubernetesObject): ObservedPod {
  const { name = '', uid = '', labels = {}, annotations = {}, ownerReferences = [] } = raw.metadata ?? {}
  const {
    phase = 'Pending',
    reason = '',
    message = '',
    initContainerStatuses = [],
    containerStatuses = [],
  } = raw.status ?? {}
  return {
    name,
    uid,
    runName: labels[runLabel] ?? '',
    ownerUid: controllerOf(ownerReferences),
    nodeRank: Number(annotations[nodeRankAnnotation] ?? 0),
    createdAtMs: timeOf(raw.metadata?.creationTimestamp) ?? 0,
    deleteByMs: timeOf(raw.metadata?.deletionTimestamp),
    startedAtMs: timeOf(raw.status?.startTime),
    endedAtMs: endOf(containerStatuses),
    phase,
    reason,
    message,
    conditions: readConditions(raw),
    containers: [...initContainerStatuses, ...containerStatuses].map(readContainer),
  }
}

/** The condition of this type, if it is true. */
export function holds(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((each) => each.type === type && each.status === 'True')
}

export function controllerOf(owners: { uid: string; controller?: boolean }[]): string {
  return (owners.find((owner) => owner.controller) ?? owners[0])?.uid ?? ''
}

export function readConditions(raw: KubernetesObject): Condition[] {
  return (raw.status?.conditions ?? []).map(({ type, status, reason = '', message = '', lastTransitionTime }) => ({
    type,
    status,
    reason,
    message,
    atMs: timeOf(lastTransitionTime),
  }))
}

function readContainer({ name, state = {} }: RawContainer): ObservedContainer {
  if (state.terminated) {
    const { exitCode, signal = 0, reason = '', message = '' } = state.terminated
    return { name, state: { is: 'terminated', exitCode, signal, reason, message } }
  }
  if (state.running) return { name, state: { is: 'running' } }
  const { reason = '', message = '' } = state.waiting ?? {}
  return { name, state: { is: 'waiting', reason, message } }
}

function endOf(containers: RawContainer[]): number | null {
  const ends = containers.map(({ state }) => timeOf(state?.terminated?.finishedAt))
  return ends.reduce((latest, end) => (end !== null && (latest === null || end > latest) ? end : latest), null)
}
