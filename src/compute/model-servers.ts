// The interface to backends that run model servers: a base model with its adapters behind HTTP. Each launch is a run of its
// own name. A backend passes test/compute/conformance/model-servers.ts; src/worker.ts chooses it.
import type { EndState, Launched, RunRef, RunSpec, RunState, RunSummary, WatchOptions } from './run.ts'

export type ModelServerSpec = RunSpec & {
  /** `server` is the same at each launch of a base model; `launch` counts them. */
  labels: { server: string; launch: string }
  /** They are one run: the backend restarts a replica that ends, and the run ends when none can live. Default 1. */
  replicas?: number
}

/** `instances`: the replicas whose program runs, by the names they report with; absent: not known. */
export type ModelServerState =
  Exclude<RunState, { state: 'running' }> | { state: 'running'; uid: string; instances?: string[] }

/** Verbs that cannot reach what they need throw ComputeError `unavailable` (retry); a bad name or spec, `invalid`. */
export interface ModelServerCompute {
  /** Creates the run, or adopts the run of that name, whatever became of it. */
  launch(spec: ModelServerSpec): Promise<Launched>

  /** Never throws for trouble with what it asks: that is `unreachable`. */
  probe(run: RunRef): Promise<ModelServerState>

  /** Resolves at the end state. Unreachable is waited out. Rejects only on abort. */
  watch(run: RunRef, options: WatchOptions<ModelServerState>): Promise<EndState>

  /** The end of a replica's stdout and stderr: the one that crashed last, else the newest. Null without such a run. */
  readLogTail(run: RunRef, tailBytes: number): Promise<string | null>

  /** SIGTERM, and SIGKILL after the grace period. Resolves once every process is confirmed gone. */
  terminate(run: RunRef, options: { graceMs: number; signal?: AbortSignal }): Promise<void>

  /** Every run with these labels, ended ones included until they are removed. */
  list(labels?: Record<string, string>): Promise<RunSummary<ModelServerState>[]>

  /** Forgets runs that ended longer ago than this; returns their names. */
  removeEndedRuns(options: { endedForMs: number }): Promise<string[]>

  /** Stops watching, so that the process can end. Runs go on. */
  close(): void
}
