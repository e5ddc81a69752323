// Says why a pod does not run yet.
import type { PendingReason } from '../../../domain/pending-reason.ts'
import type { FailedState, RunState } from '../../run.ts'
import { failed } from './exit-state.ts'
import type { Limits } from './limits.ts'
import type { ObservedPod } from './observed-pod.ts'

type PendingState = Extract<RunState, { state: 'pending' }>

const imageTroubles = [
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]
const resourceNames: Record<string, string> = { cpu: 'CPU', memory: 'memory', 'ephemeral-storage': 'disk space' }

/** The state is `failed` once the image is final or has been missing too long. */
export function readPodPending(uid: string, pod: ObservedPod, limits: Limits): PendingState | FailedState {
  const image = readImageTrouble(pod)
  if (image) {
    const waitedMs = limits.nowMs - (pod.startedAtMs ?? pod.createdAtMs)
    if (image.isFinal || waitedMs > limits.imageTimeoutMs)
      return failed(uid, null, null, 'image_unavailable', `The image of the run cannot be pulled: ${image.message}`)
    return pending('image_unavailable', `Waiting for the image of the run: ${image.message}`)
  }
  const placed = pod.conditions.find(({ type }) => type === 'PodScheduled')
  if (placed?.status === 'False') return readUnplaced(placed.reason, placed.message)
  if (placed?.status !== 'True') return pending('starting', 'Waiting for the scheduler to choose a node.')
  const waiting = pod.containers.flatMap(({ state }) => (state.is === 'waiting' && state.message ? [state] : []))[0]
  const message = waiting
    ? `The container of the run cannot be created yet: ${waiting.message}`
    : 'The node is creating the container of the run.'
  return pending('starting', message)
}

/** `message`: the reason why the cluster does not create the pod, if it gave one. */
export function readMissingPod(message: string | undefined): PendingState {
  if (message === undefined) return pending('starting', 'The cluster is creating the pod of the run.')
  if (message.includes('exceeded quota'))
    return pending('quota_exceeded', `The quota of the namespace is used up: ${quotaText(message)}`)
  return pending('starting', `The cluster refuses the pod of the run: ${message}`)
}

function readUnplaced(reason: string, message: string): PendingState {
  if (reason === 'SchedulingGated') return pending('waiting_for_quota', "Waiting in the cluster's queue.")
  const missing = new Set([...message.matchAll(/Insufficient ([\w./-]*\w)/g)].map(([, name = '']) => name))
  const names = [...missing].map((name) => resourceNames[name] ?? name).join(' and ')
  // The rest of the scheduler's message is about preemption, which has no candidates here.
  const detail = message.split(' preemption:')[0]?.trim() ?? ''
  return pending('unschedulable', `No node ${names ? `has enough ${names} free` : 'fits'}: ${detail}`)
}

function readImageTrouble(pod: ObservedPod): { message: string; isFinal: boolean } | null {
  for (const { state } of pod.containers) {
    if (state.is !== 'waiting') continue
    if (state.reason === 'InvalidImageName') return { message: state.message || state.reason, isFinal: true }
    if (imageTroubles.includes(state.reason)) return { message: state.message || state.reason, isFinal: false }
  }
  return null
}

/** `pods "x" is forbidden: exceeded quota: small, requested: cpu=1, used: cpu=1, limited: cpu=1` */
function quotaText(message: string): string {
  return sentence(message.slice(message.indexOf('exceeded quota:') + 'exceeded quota:'.length).trim())
}

export const sentence = (text: string) => (/[.!]$/.test(text) ? text : `${text}.`)

export function pending(reason: PendingReason, message: string): PendingState {
  return { state: 'pending', reason, message }
}
