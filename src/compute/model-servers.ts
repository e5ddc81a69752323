// The interface to backends that run model servers: a base model with its adapters behind HTTP. Each launch is a run of its
// own name. A backend passes test/compute/conformance/model-servers.ts; src/worker.ts chooses it.
import type { EndState, Launched, RunRef, RunSpec, RunState, RunSummary, WatchOptions } from './run.ts'

export type ModelServerSpec = RunSpec & {
  /** `server` is the same at each launch of a base model; `launch` counts them. */
  labels: { server: string; launch: string }
  /** All replicas are one run: the backend restarts a replica that ends, and the run ends when none can live. Default 1. */
  replicas?: number
}

/** `instances`: the replicas whose program runs, by the names with which they report. Absent when not known. */
export type ModelServerState =
  Exclude<RunState, { state: 'running' }> | { state: 'running'; uid: string; instances?: string[] }

/** Verbs that cannot reach what they need throw ComputeError `unavailable` (retry); a bad name or spec, `invalid`. */
export interface ModelServerCompute {
  /** Creates the run, or adopts the run of that name, even if it has ended. */
  launch(spec: ModelServerSpec): Promise<Launched>

  /** Returns `unreachable` when the compute does not answer, and never throws for that. */
  probe(run: RunRef): Promise<ModelServerState>

  /** Resolves at the end state, and waits while the run is unreachable. Rejects only on abort. */
  watch(run: RunRef, options: WatchOptions<ModelServerState>): Promise<EndState>

  /** The end of a replica's stdout and stderr: the one that crashed last, else the newest. Null without such a run. */
  readLogTail(run: RunRef, tailBytes: number): Promise<string | null>

  /** Sends SIGTERM, and SIGKILL after the grace period. Resolves once every process is confirmed gone. */
  terminate(run: RunRef, options: { graceMs: number; signal?: AbortSignal }): Promise<void>

  /** Every run with these labels, ended ones included until they are removed. */
  list(labels?: Record<string, string>): Promise<RunSummary<ModelServerState>[]>

  /** Forgets runs that ended longer ago than this; returns their names. */
  removeEndedRuns(options: { endedForMs: number }): Promise<string[]>

  /** Stops watching, so that the process can end. Runs continue. */
  close(): void
}
