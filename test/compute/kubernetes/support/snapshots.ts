import type { Limits } from '../../../../src/compute/kubernetes/pods/limits.ts'
import type { Condition, ObservedContainer, ObservedPod } from '../../../../src/compute/kubernetes/pods/observed-pod.ts'
import type { ObservedJob, ObservedWorkload } from '../../../../src/compute/kubernetes/trainers/observed-job.ts'
import type { RunSnapshot } from '../../../../src/compute/kubernetes/trainers/run-snapshot.ts'

export const limits: Limits = { nowMs: 1_000_000, imageTimeoutMs: 600_000, nodeLostAfterMs: 30_000 }

export function someJob(more: Partial<ObservedJob> = {}): ObservedJob {
  return {
    name: 'ft-1-a1',
    uid: 'job-uid',
    runName: 'ft-1-a1',
    labels: { 'app.kubernetes.io/component': 'trainer' },
    createdAtMs: 900_000,
    isBeingDeleted: false,
    isSuspended: false,
    podCount: 1,
    conditions: [],
    ...more,
  }
}

export function somePod(more: Partial<ObservedPod> = {}): ObservedPod {
  return {
    name: 'ft-1-a1-x7x7x',
    uid: 'pod-uid',
    runName: 'ft-1-a1',
    ownerUid: 'job-uid',
    nodeRank: 0,
    createdAtMs: 900_000,
    deleteByMs: null,
    startedAtMs: 901_000,
    endedAtMs: null,
    phase: 'Pending',
    reason: '',
    message: '',
    conditions: [],
    containers: [],
    ...more,
  }
}

export function someSnapshot(more: Partial<RunSnapshot> = {}): RunSnapshot {
  return { job: someJob(), pods: [], gonePods: [], refusal: null, workload: null, place: null, ...more }
}

export function condition(type: string, reason = '', message = '', status = 'True'): Condition {
  return { type, status, reason, message, atMs: 950_000 }
}

export function container(state: ObservedContainer['state'], name = 'trainer'): ObservedContainer {
  return { name, state }
}

export const running = container({ is: 'running' })

export function exited(exitCode: number, reason = 'Error', message = ''): ObservedContainer {
  return container({ is: 'terminated', exitCode, signal: 0, reason, message })
}

export function waitingFor(reason: string): ObservedContainer {
  return container({ is: 'waiting', reason, message: '' })
}

export function someWorkload(more: Partial<ObservedWorkload> = {}): ObservedWorkload {
  return { uid: 'w', jobUid: 'job-uid', queue: 'gpus', priority: 0, createdAtMs: 0, conditions: [], ...more }
}
