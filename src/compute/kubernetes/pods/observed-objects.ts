// What we keep of the cluster's objects: a worker remembers thousands of them.
import { nodeRankAnnotation, runLabel } from './labels.ts'

export type Condition = { type: string; status: string; reason: string; message: string; atMs: number | null }

/** What keeps the pods of a run: a Job, or a model server's Deployment. */
export type ObservedOwner = {
  name: string
  uid: string
  runName: string
  labels: Record<string, string>
  createdAtMs: number
  isBeingDeleted: boolean
  conditions: Condition[]
}

export type ObservedJob = ObservedOwner & { isSuspended: boolean; /** One a node. */ podCount: number }

export type ObservedPod = {
  name: string
  uid: string
  runName: string
  /** Of its Job. */
  ownerUid: string
  /** Which node's of the run; 0 where there is but one. */
  nodeRank: number
  createdAtMs: number
  /** When its grace ends, if it was asked to go. */
  deleteByMs: number | null
  /** When its node took it. */
  startedAtMs: number | null
  /** When the last of its containers ended. */
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

type Raw = {
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
    conditions?: RawCondition[]
    initContainerStatuses?: RawContainer[]
    containerStatuses?: RawContainer[]
  }
  involvedObject?: { uid?: string }
  message?: string
  lastTimestamp?: string
  eventTime?: string
}
type RawCondition = { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }
type RawContainer = {
  name: string
  state?: {
    waiting?: { reason?: string; message?: string }
    running?: object
    terminated?: { exitCode: number; signal?: number; reason?: string; message?: string; finishedAt?: string }
  }
}

/** An object as the API sends it. */
export type KubernetesObject = Raw

export function readOwner(raw: Raw): ObservedOwner {
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

export function readJob(raw: Raw): ObservedJob {
  return { ...readOwner(raw), isSuspended: raw.spec?.suspend === true, podCount: raw.spec?.completions ?? 1 }
}

export function readPod(raw: Raw): ObservedPod {
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

export function readRefusal(raw: Raw): PodRefusal {
  const atMs = timeOf(raw.lastTimestamp) ?? timeOf(raw.eventTime) ?? timeOf(raw.metadata?.creationTimestamp) ?? 0
  return { jobUid: raw.involvedObject?.uid ?? '', message: raw.message ?? '', atMs }
}

export function readWorkload(raw: Raw): ObservedWorkload {
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

/** The condition, if it holds. */
export function holds(conditions: readonly Condition[], type: string): Condition | undefined {
  return conditions.find((each) => each.type === type && each.status === 'True')
}

function controllerOf(owners: { uid: string; controller?: boolean }[]): string {
  return (owners.find((owner) => owner.controller) ?? owners[0])?.uid ?? ''
}

function readConditions(raw: Raw): Condition[] {
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

function timeOf(text: string | undefined): number | null {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? null : ms
}
