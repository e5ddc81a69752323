import type { BatchCompletionInput } from '../../domain/inference-batch.ts'
import { complete } from '../complete.ts'
import type { ModelCtx } from '../context.ts'
import { embed } from '../embed.ts'

/** What a batch asks of models: the same verbs as a single request, in the name of its account. */
export function createBatchInference(deps: ModelCtx['deps']) {
  return {
    complete: (
      { accountId, ...input }: BatchCompletionInput & { accountId: string; modelName: string; prompts: string[] },
      signal: AbortSignal,
    ) => complete({ ctx: { deps, accountId }, input, signal }),
    embed: ({ accountId, ...input }: { accountId: string; modelName: string; texts: string[] }, signal: AbortSignal) =>
      embed({ ctx: { deps, accountId }, input, signal }),
  }
}
