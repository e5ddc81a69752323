// Why a run does not run yet.
import type { PendingReason } from '../../../domain/pending-reason.ts'
import type { RunState } from '../../compute.ts'
import type { ObservedPod } from '../pods/observed-objects.ts'
import { failed } from './failure-reason.ts'
import type { Limits, RunSnapshot } from './run-snapshot.ts'

const imageTroubles = [
  'ErrImagePull',
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
  'SignatureValidationFailed',
]
const resourceNames: Record<string, string> = { cpu: 'CPU', memory: 'memory', 'ephemeral-storage': 'disk space' }
/** Beyond this a place is a number that changes without end. */
const maxPlace = 20

/** Of pods that wait, the first that waits for more than its start; without any, a pod is not there yet. */
export function readPending(snapshot: RunSnapshot, pods: ObservedPod[], limits: Limits): RunState {
  const states = pods.map((pod) => readPodPending(snapshot, pod, limits))
  const telling = states.find((state) => state.state !== 'pending' || state.reason !== 'starting')
  return telling ?? states[0] ?? readNoPod(snapshot)
}

function readPodPending(snapshot: RunSnapshot, pod: ObservedPod, limits: Limits): RunState {
  const uid = snapshot.job?.uid ?? ''
  const image = readImageTrouble(pod)
  if (image) {
    const waitedMs = limits.nowMs - (pod.startedAtMs ?? pod.createdAtMs)
    if (image.isFinal || waitedMs > limits.imageTimeoutMs)
      return failed(uid, null, null, 'image_unavailable', `Its image cannot be had: ${image.message}`)
    return pending('image_unavailable', `Waiting for its image: ${image.message}`)
  }
  const placed = pod.conditions.find(({ type }) => type === 'PodScheduled')
  if (placed?.status === 'False') return readUnplaced(placed.reason, placed.message)
  if (placed?.status !== 'True') return pending('starting', 'Waiting to be placed on a node.')
  const waiting = pod.containers.flatMap(({ state }) => (state.is === 'waiting' && state.message ? [state] : []))[0]
  const message = waiting
    ? `Its container cannot be made yet: ${waiting.message}`
    : 'It is on a node; its container is being made.'
  return pending('starting', message)
}

function readNoPod({ job, workload, place, refusal }: RunSnapshot): RunState {
  if (job?.isSuspended) {
    if (!workload) return pending('waiting_for_quota', "Waiting for the cluster's queue.")
    const held = workload.conditions.find(({ type, status }) => type === 'QuotaReserved' && status === 'False')
    const position = place ? placeText(place) : ''
    const why = held?.message ? ` ${sentence(held.message)}` : ''
    return pending('waiting_for_quota', `Waiting in the queue ${workload.queue}${position}.${why}`)
  }
  if (!refusal) return pending('starting', 'Its pod is being made.')
  if (refusal.message.includes('exceeded quota'))
    return pending('quota_exceeded', `The quota of the namespace is used up: ${quotaText(refusal.message)}`)
  return pending('starting', `The cluster refuses its pod: ${refusal.message}`)
}

function readUnplaced(reason: string, message: string): RunState {
  if (reason === 'SchedulingGated') return pending('waiting_for_quota', "Waiting for the cluster's queue.")
  const missing = new Set([...message.matchAll(/Insufficient ([\w./-]*\w)/g)].map(([, name = '']) => name))
  const names = [...missing].map((name) => resourceNames[name] ?? name).join(' and ')
  // What follows is about pods that could be put out; there are none.
  const detail = message.split(' preemption:')[0]?.trim() ?? ''
  return pending('unschedulable', `No node ${names ? `has enough ${names} free` : 'may take it'}: ${detail}`)
}

function readImageTrouble(pod: ObservedPod): { message: string; isFinal: boolean } | null {
  for (const { state } of pod.containers) {
    if (state.is !== 'waiting') continue
    if (state.reason === 'InvalidImageName') return { message: state.message || state.reason, isFinal: true }
    if (imageTroubles.includes(state.reason)) return { message: state.message || state.reason, isFinal: false }
  }
  return null
}

function placeText({ position, waiting }: { position: number; waiting: number }): string {
  return position > maxPlace
    ? `, more than ${maxPlace} before it`
    : `, ${position === 1 ? 'first' : `number ${position}`} of ${waiting > maxPlace ? `more than ${maxPlace}` : waiting}`
}

/** `pods "x" is forbidden: exceeded quota: small, requested: cpu=1, used: cpu=1, limited: cpu=1` */
function quotaText(message: string): string {
  return sentence(message.slice(message.indexOf('exceeded quota:') + 'exceeded quota:'.length).trim())
}

const sentence = (text: string) => (/[.!]$/.test(text) ? text : `${text}.`)

function pending(reason: PendingReason, message: string): RunState {
  return { state: 'pending', reason, message }
}
