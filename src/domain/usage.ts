// The amounts of work on models that are counted, and by what.

/** `apiKeyId` is null for the service's own work. `day` is in UTC, as in `2026-11-20`. `model` may be tuned. */
export type UsageKey = { accountId: string; apiKeyId: string | null; model: string; day: string }

export type UsageAmount = {
  /** Completed prompts and embedded texts. */
  prompts: number
  promptTokens: number
  completionTokens: number
  /** Seconds of replicas. Requests that share a replica split its time by their rows. */
  engineSeconds: number
  /** Run time of training programs. */
  trainingSeconds: number
  /** Engine and training seconds, each times its number of GPUs. */
  gpuSeconds: number
}

/** The parts of the amounts that have prices of their own. */
export type PricedParts = {
  /** Prompt tokens that embedding models read. */
  embeddedTokens: number
  trainingGpuSeconds: number
}

export type UsageEntry = UsageKey & UsageAmount

export const usageDimensions = ['day', 'key', 'model'] as const
export type UsageDimension = (typeof usageDimensions)[number]

export const dayOf = (date: Date) => date.toISOString().slice(0, 10)
