// What runs training attempts and model servers: local processes (local/) or Kubernetes, behind one interface.
// A run is one attempt of a job or one model server. Its name is made from ids and is the key of everything here:
// launching a name again adopts what is there, whatever became of it. No name is used twice: a verb that comes late finds
// no later run. All verbs may be repeated and may race each other.

import type { PendingReason } from '../domain/pending-reason.ts'
import type { Priority } from '../domain/priority.ts'

export type RunSpec = {
  /** A DNS label: `ft-<job>-a<attempt>`, `model-server-<base>-g<generation>`. */
  name: string
  program: RunProgram
  /** What `list` filters by. On a cluster a model server's Deployment has the name in `server`, whichever launch it is. */
  labels: Record<string, string>
  /** The catalogue's name of the model: the platform may have settings of its own for it. */
  model?: string
  env: Record<string, string>
  /** Reaches the program's environment only: never a disk, an argument list or a log. */
  secretEnv: Record<string, string>
  /** Of each node. `memoryBytes` and `gpuCount` are requests to a cluster's scheduler; a local run is not confined. */
  resources: { cpuCount: number; memoryBytes?: number; gpuCount: number; nodeCount?: number }
  /**
   * Model servers only: how many of it, 1 when absent. They are one run: one that ends is started again by whatever
   * keeps the run, and the run ends when none of them can live.
   */
  replicas?: number
  /** In the queue of a cluster that has one; absent: normal. */
  priority?: Priority
  /** How long the program gets after SIGTERM when the cluster itself ends it (drain, preemption). */
  terminationGraceMs: number
}

export type RunProgram = 'trainer' | 'model-server'

/** With `uid`, a later run of the same name counts as another one: `gone` to probe, left alone by terminate. */
export type RunRef = { name: string; uid?: string | undefined }

export type RunState =
  /** `message`: a sentence for users. */
  | { state: 'pending'; reason: PendingReason; message: string }
  /** `instances`: of a model server, the replicas whose program runs, by the names they report with; absent: not known. */
  | { state: 'running'; uid: string; instances?: string[] }
  | { state: 'succeeded'; uid: string }
  | RunFailure
  /** Confirmed: no such run exists. */
  | { state: 'gone' }
  /** Nothing is known. Callers keep what they believed before and ask again. */
  | { state: 'unreachable'; message: string }

/**
 * `exited`: by itself, with `exitCode`. `killed`: by a signal (`exitCode` is 128 + its number) or by terminate,
 * possibly before it ever started (`exitCode` null). `lost`: it is gone and nobody saw how (`exitCode` null).
 * `out_of_memory`: ended by the kernel at its memory limit. `evicted`: by its node, which was short of something, or by
 * a drain. `preempted`: for a run of higher priority. `deadline`: it took longer than it may. `image_unavailable`: it
 * never started. `node_lost`: its node does not answer any more; the only failure whose processes may still live, until
 * `terminate` has fenced them.
 */
export type FailureReason =
  | 'exited'
  | 'killed'
  | 'lost'
  | 'out_of_memory'
  | 'evicted'
  | 'preempted'
  | 'node_lost'
  | 'deadline'
  | 'image_unavailable'

/** `exitCode` is null where the program's own exit is not known. */
type RunFailure = {
  state: 'failed'
  uid: string
  exitCode: number | null
  signal: string | null
  reason: FailureReason
  message: string
}

/** Final states. Every process of the run has ended, not only its first; of a lost node that is only believed. */
export type EndState = Extract<RunState, { state: 'succeeded' | 'failed' | 'gone' }>

export type RunSummary = { name: string; uid: string; labels: Record<string, string>; createdAt: Date; state: RunState }

export type RunFilter = { program?: RunProgram; labels?: Record<string, string> }

export type LogRange = { offsetBytes?: number; limitBytes?: number }

/** `nextOffsetBytes` is where to read on; text is cut between characters. */
export type LogSlice = { text: string; nextOffsetBytes: number; sizeBytes: number }

export type TerminateOptions = {
  graceMs: number
  /** How much of the log's end to return; default 0. */
  logTailBytes?: number
  fence?: () => Promise<void>
  signal?: AbortSignal
}

export type Terminated = { end: EndState; logTail: string | null }

/** Verbs that cannot reach what they need throw ComputeError `unavailable` (retry); a bad name or spec, `invalid`. */
export interface Compute {
  /** Creates the run, or adopts the one of that name, whatever became of it. */
  launch(spec: RunSpec): Promise<{ uid: string; adopted: boolean }>

  /** Never throws for trouble with what it asks: that is `unreachable`. */
  probe(run: RunRef): Promise<RunState>

  /** Reports the first state and every change; resolves at the end state. Unreachable is waited out. Rejects only on abort. */
  watch(run: RunRef, options: { signal: AbortSignal; onState?: (state: RunState) => void }): Promise<EndState>

  /**
   * Stdout and stderr together. A negative offset counts from the end. Null when there is no such run.
   * A long log loses its middle while it is written: sizes may shrink.
   */
  readLogs(run: RunRef, range?: LogRange): Promise<LogSlice | null>

  /**
   * SIGTERM to the program, after the grace period SIGKILL to all its processes; resolves once every one is confirmed gone.
   * The grace runs from the first call, so a repeat does not prolong it. A run that does not exist yet can no longer
   * be launched (unless `uid` was given: then it is simply over). On a cluster that holds for this process only, on a
   * full disk for launches that have begun: a later one is refused at its claim, and the reaper removes it.
   *
   * A cluster forgets the run with this, so it says how it ended and what it logged last: `gone` and null where an
   * earlier call has seen that. `fence` is awaited before a run whose node does not answer is declared dead: it must make
   * sure that the run can write nothing any more, because its processes may still live. Without it such a run is waited
   * for until its node is back.
   */
  terminate(run: RunRef, options: TerminateOptions): Promise<Terminated>

  /** Every run of this program that has these labels, ended ones included until they are removed. */
  list(filter?: RunFilter): Promise<RunSummary[]>

  /** Forgets runs that ended longer ago than this; returns their names. */
  removeEndedRuns(options: { endedForMs: number }): Promise<string[]>

  /** How many training attempts may run at once; null where a cluster queues by itself. */
  capacity(): { slots: number | null }

  /** How often a log may be read while its run goes on. */
  logReadIntervalMs: number

  /** Stops watching, so that the process can end. What runs goes on. */
  close(): void
}
