// Reads the state of a model server from the cluster's objects, as a pure function. A Deployment restarts a program for ever,
// so this file decides when the program cannot live. The run has then failed, and the workflow decides what follows.
import { causeOfExit } from '../../../domain/attempt-cause.ts'
import type { ModelServerState } from '../../model-servers.ts'
import { failed, readExit } from '../pods/exit-state.ts'
import type { Limits } from '../pods/limits.ts'
import { holds } from '../pods/observed-pod.ts'
import { readMissingPod, readPodPending } from '../pods/pending-reason.ts'
import type { ContainerEnd, ModelServerSnapshot, ObservedReplica } from './snapshot.ts'

/** The cluster restarts after the first two crashes, at once and after ten seconds. */
const maxRestarts = 2
/** After these causes a restart would end the same way. */
const lastingCauses = ['model_unavailable', 'unsupported_runtime', 'fenced']

export function readModelServerState({ deployment, replicas }: ModelServerSnapshot, limits: Limits): ModelServerState {
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
  // A replica is between two starts and may yet come up.
  if (wanted.some(({ lastEnd }) => lastEnd !== null)) return { state: 'running', uid, instances: [] }
  return readStart({ deployment, replicas: wanted }, limits)
}

function hopelessEnd({ restarts, lastEnd }: ObservedReplica): ContainerEnd | null {
  if (lastEnd === null) return null
  const isLasting = lastingCauses.includes(causeOfExit(lastEnd.exitCode))
  return isLasting || restarts >= maxRestarts ? lastEnd : null
}

function readCrash(uid: string, { exitCode, reason }: ContainerEnd): ModelServerState {
  if (reason === 'OOMKilled')
    return failed(uid, exitCode, 'SIGKILL', 'out_of_memory', 'The program needed more memory than its limit.')
  return readExit(uid, exitCode)
}

function readStart({ deployment, replicas }: ModelServerSnapshot, limits: Limits): ModelServerState {
  // A replica that has a node explains more than one that waits for room.
  const [first] = replicas.toSorted((a, b) => (b.startedAtMs ?? 0) - (a.startedAtMs ?? 0))
  if (first) return readPodPending(deployment?.uid ?? '', first, limits)
  return readMissingPod(deployment ? holds(deployment.conditions, 'ReplicaFailure')?.message : undefined)
}
