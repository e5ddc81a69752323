// What is counted of the work on models, and under which names.

/** `apiKeyId` null: work that no key asked for. `day`: UTC, as in `2026-11-20`. `model`: a base, or a tuned model. */
export type UsageKey = { accountId: string; apiKeyId: string | null; model: string; day: string }

export type UsageAmount = {
  /** Answered: prompts that were completed, texts that were embedded. */
  prompts: number
  promptTokens: number
  completionTokens: number
  /** Of a replica: while it works for several at once, each has its share of the rows. */
  engineSeconds: number
  /** Of training attempts, from their program's start to its end. */
  trainingSeconds: number
  /** Both of these, times the GPUs that they had. */
  gpuSeconds: number
}

export type UsageEntry = UsageKey & UsageAmount

export const usageDimensions = ['day', 'key', 'model'] as const
export type UsageDimension = (typeof usageDimensions)[number]

export const dayOf = (date: Date) => date.toISOString().slice(0, 10)
