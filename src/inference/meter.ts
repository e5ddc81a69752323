import type { Usage } from './engine-client.ts'

/** Receives what the engines did for one request, also when the request fails in the end. */
export type Meter = {
  /** Called for each engine call that was answered. */
  countTokens: (tokens: Usage) => void
  /** Called for each engine call, however it ended, with its share of the replica's time. */
  countEngineSeconds: (seconds: number) => void
}
