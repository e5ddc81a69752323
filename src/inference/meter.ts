import type { Usage } from './engine-client.ts'

/** Told what the engines did for one request, also for one that fails in the end. */
export type Meter = {
  /** For each call of an engine that was answered. */
  countTokens: (tokens: Usage) => void
  /** For each call, however it ended: its share of a replica's time. */
  countEngineSeconds: (seconds: number) => void
}
