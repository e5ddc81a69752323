// The interface to backends that run training attempts. A backend for another scheduler implements this interface and passes
// test/compute/conformance/trainers.ts; src/worker.ts chooses the backend.
import type { Priority } from '../domain/priority.ts'
import type {
  EndState,
  Launched,
  LogRange,
  LogSlice,
  RunRef,
  RunSpec,
  RunState,
  RunSummary,
  WatchOptions,
} from './run.ts'

export type TrainerSpec = RunSpec & {
  resources: { nodeCount?: number }
  /** The priority in the queue of a cluster that has one. Absent means normal. */
  priority?: Priority
}

export type TerminateOptions = {
  graceMs: number
  /** How much of the log's end to return; default 0. */
  logTailBytes?: number
  fence?: () => Promise<void>
  signal?: AbortSignal
}

export type Terminated = { end: EndState; logTail: string | null }

/** Verbs that cannot reach what they need throw ComputeError `unavailable` (retry); a bad name or spec, `invalid`. */
export interface TrainerCompute {
  /** Creates the run, or adopts the run of that name, even if it has ended. */
  launch(spec: TrainerSpec): Promise<Launched>

  /** Returns `unreachable` when the compute does not answer, and never throws for that. */
  probe(run: RunRef): Promise<RunState>

  /** Resolves at the end state, and waits while the run is unreachable. Rejects only on abort. */
  watch(run: RunRef, options: WatchOptions): Promise<EndState>

  /**
   * Stdout and stderr together. Null when there is no such run.
   * A long log loses its middle while it is written: sizes may shrink.
   */
  readLogs(run: RunRef, range?: LogRange): Promise<LogSlice | null>

  /**
   * Sends SIGTERM to the program and, after the grace period, SIGKILL to all its processes; resolves once all are
   * confirmed gone. The grace runs from the first call, so a repeat does not prolong it. A run that does not exist yet
   * can no longer be launched, unless `uid` was given. On a cluster that holds for this process only, on a full disk
   * for launches that have begun: a later launch is refused at its claim, and the reaper removes it.
   *
   * A cluster forgets the run with this, so the answer says how it ended and what it logged last: `gone` and null where
   * an earlier call has returned that. `fence` is awaited before a run whose node does not answer is declared dead: it
   * must make sure that the run can write nothing any more, because its processes may still live. Without `fence` such
   * a run is waited for until its node is back.
   */
  terminate(run: RunRef, options: TerminateOptions): Promise<Terminated>

  /** Every run with these labels, ended ones included until they are removed. */
  list(labels?: Record<string, string>): Promise<RunSummary[]>

  /** Forgets runs that ended longer ago than this; returns their names. */
  removeEndedRuns(options: { endedForMs: number }): Promise<string[]>

  /** How many training attempts may run at once; null where a cluster queues by itself. */
  capacity(): { slots: number | null }

  /** How often a log may be read while its run lasts. */
  logReadIntervalMs: number

  /** Stops watching, so that the process can end. Runs continue. */
  close(): void
}
