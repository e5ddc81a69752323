// What the cluster's objects say about a model server. Pure. A Deployment starts a program again for ever, so that it
// cannot live is for us to see: the run has then failed, and the workflow decides what follows.
import type { RunState } from '../../compute.ts'
import { causeOfExit } from '../../../domain/attempt-cause.ts'
import { holds } from '../pods/observed-objects.ts'
import { failed, readExit } from '../trainers/failure-reason.ts'
import type { Limits } from '../trainers/run-snapshot.ts'
import { readPending } from '../trainers/pending-reason.ts'
import type { ContainerEnd, ObservedReplica, ModelServerSnapshot } from './snapshot.ts'

/** The first crash and the second are the cluster's to mend, at once and after ten seconds. */
const maxRestarts = 2
/** It would end the same way again. */
const lastingCauses = ['model_unavailable', 'unsupported_runtime', 'fenced']

export function readModelServerState({ deployment, replicas }: ModelServerSnapshot, limits: Limits): RunState {
  const living = replicas.filter(({ phase }) => phase !== 'Failed' && phase !== 'Succeeded')
  if (!deployment) return living.length > 0 ? { state: 'running', uid: '' } : { state: 'gone' }
  const { uid } = deployment
  if (deployment.isBeingDeleted) return { state: 'running', uid, instances: [] }
  const wanted = living.filter(({ deleteByMs }) => deleteByMs === null)
  const running = wanted.filter(({ isRunning }) => isRunning)
  if (running.length > 0) return { state: 'running', uid, instances: running.map(({ name }) => name).toSorted() }
  const ends = wanted.flatMap((replica) => hopelessEnd(replica) ?? [])
  const [last] = ends.toSorted((a, b) => b.atMs - a.atMs)
  if (last && ends.length === wanted.length) return readCrash(uid, last)
  // Between two starts, and may yet come up.
  if (wanted.some(({ lastEnd }) => lastEnd !== null)) return { state: 'running', uid, instances: [] }
  return readStart({ deployment, replicas: wanted }, limits)
}

function hopelessEnd({ restarts, lastEnd }: ObservedReplica): ContainerEnd | null {
  if (lastEnd === null) return null
  const isLasting = lastingCauses.includes(causeOfExit(lastEnd.exitCode))
  return isLasting || restarts >= maxRestarts ? lastEnd : null
}

function readCrash(uid: string, { exitCode, reason }: ContainerEnd): RunState {
  if (reason === 'OOMKilled')
    return failed(uid, exitCode, 'SIGKILL', 'out_of_memory', 'It needed more memory than its limit.')
  return readExit(uid, exitCode)
}

function readStart({ deployment, replicas }: ModelServerSnapshot, limits: Limits): RunState {
  const refusal = deployment && holds(deployment.conditions, 'ReplicaFailure')
  const snapshot = {
    job: null,
    pods: replicas,
    gonePods: [],
    refusal: refusal ? { jobUid: '', message: refusal.message, atMs: refusal.atMs ?? 0 } : null,
    workload: null,
    place: null,
  }
  // Those that are placed tell more than those that wait for room.
  const [first] = replicas.toSorted((a, b) => (b.startedAtMs ?? 0) - (a.startedAtMs ?? 0))
  const state = readPending(snapshot, first ? [first] : [], limits)
  return state.state === 'failed' ? { ...state, uid: deployment?.uid ?? '' } : state
}
