// Types shared by trainers (trainers.ts) and model servers (model-servers.ts). A run is a process or pod that the
// compute launched. Its name is made from ids and is never used twice: launching a name again adopts the run of that
// name, whatever became of it, and a verb that comes late finds no later run. All verbs may be repeated and may race.
import type { PendingReason } from '../domain/pending-reason.ts'

export type RunProgram = 'trainer' | 'model-server'

export type RunSpec = {
  /** A DNS label: `ft-<job>-a<attempt>`, `model-server-<base>-g<launch>`. */
  name: string
  /** `list` filters by these. */
  labels: Record<string, string>
  /** The catalogue's name of the model: the platform may have settings of its own for it. */
  model?: string
  env: Record<string, string>
  /** Reaches the program's environment only: never a disk, an argument list or a log. */
  secretEnv: Record<string, string>
  /**
   * For each node. `memoryBytes` and `gpuCount` are requests to a cluster's scheduler; a local run is not confined by
   * them. A run that writes more than `diskBytes` is ended.
   */
  resources: { cpuCount: number; memoryBytes?: number; diskBytes?: number; gpuCount: number }
  /** How long the program gets after SIGTERM when the cluster itself ends it (drain, preemption). */
  terminationGraceMs: number
}

/** With `uid`, another run of the same name counts as `gone`, and terminate leaves it alone. */
export type RunRef = { name: string; uid?: string | undefined }

/** `adopted`: a run of this name existed already. */
export type Launched = { uid: string; adopted: boolean }

export type RunState =
  /** `message`: a sentence for users. */
  | { state: 'pending'; reason: PendingReason; message: string }
  | { state: 'running'; uid: string }
  | EndState
  /** The state is not known. Callers keep the last known state and ask again. */
  | { state: 'unreachable'; message: string }

/** Every process of the run has ended, not only its first. A lost node's processes are only believed to have ended. */
export type EndState =
  | { state: 'succeeded'; uid: string }
  | FailedState
  /** The compute has confirmed that no such run exists. */
  | { state: 'gone' }

/** `exitCode` is null if the exit code of the program is not known. */
export type FailedState = {
  state: 'failed'
  uid: string
  exitCode: number | null
  signal: string | null
  reason: FailureReason
  message: string
}

/**
 * How a run failed, in the compute's own words. activities/attempt-cause.ts says what each means for an attempt.
 * - `exited`: the program ended by itself, with `exitCode`.
 * - `killed`: a signal ended it (`exitCode` is 128 + its number), or terminate did, perhaps before its start (`exitCode` null).
 * - `lost`: the run is gone, and its exit was not recorded (`exitCode` null).
 * - `out_of_memory`: the kernel ended it at its memory limit.
 * - `out_of_disk`: the run wrote more than its share.
 * - `evicted`: its node was short of something, or was drained.
 * - `preempted`: a run of higher priority took its place.
 * - `node_lost`: its node no longer answers. Its processes may still live until `terminate` has fenced them.
 * - `deadline_exceeded`: the run took longer than the cluster allows.
 * - `image_unavailable`: its image could not be fetched, so the run never started.
 */
export type FailureReason =
  | 'exited'
  | 'killed'
  | 'lost'
  | 'out_of_memory'
  | 'out_of_disk'
  | 'evicted'
  | 'preempted'
  | 'node_lost'
  | 'deadline_exceeded'
  | 'image_unavailable'

export type RunSummary<State extends RunState = RunState> = {
  name: string
  uid: string
  labels: Record<string, string>
  createdAt: Date
  state: State
}

export type WatchOptions<State extends RunState = RunState> = {
  signal: AbortSignal
  /** Called with the first state and after every change. */
  onState?: (state: State) => void
}

/** A negative offset counts from the end. */
export type LogRange = { offsetBytes?: number; limitBytes?: number }

/** Reading continues at `nextOffsetBytes`. Text is cut between characters. */
export type LogSlice = { text: string; nextOffsetBytes: number; sizeBytes: number }

export function isEndState(state: RunState): state is EndState {
  return state.state === 'succeeded' || state.state === 'failed' || state.state === 'gone'
}
