/** Tokens of one engine call, as the engine counts them. */
export type Usage = { promptTokens: number; completionTokens: number }
export type OnUsage = (usage: Usage) => void

/** Receives what the engines did for one request, also when the request fails in the end. */
export type Meter = {
  /** Called for each engine call that was answered. */
  countTokens: (tokens: Usage) => void
  /** Called for each engine call, however it ended, with its share of the replica's time. */
  countEngineSeconds: (seconds: number) => void
}
