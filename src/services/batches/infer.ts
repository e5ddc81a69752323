import type { BatchCompletionInput, BatchItem } from '../../domain/inference-batch.ts'
import type { OnLong } from '../../inference/embedding.ts'
import { askPrompts, createCompletion } from '../completions/create.ts'
import type { ModelCtx } from '../context.ts'
import { createEmbeddings } from '../embeddings/create.ts'

type AccountKey = Pick<ModelCtx, 'accountId' | 'apiKeyId'>

/** Completions and embeddings for batches and stored rows: the verbs of a single request, under the batch's key. */
export function createBatchInference(deps: ModelCtx['deps']) {
  return {
    complete: (
      {
        accountId,
        apiKeyId,
        ...input
      }: AccountKey & BatchCompletionInput & { modelName: string; prompts: BatchItem[] },
      signal: AbortSignal,
    ) => {
      deps.activity.note(accountId)
      return createCompletion({ ctx: { deps, accountId, apiKeyId }, input: askPrompts(input), signal })
    },
    embed: (
      { accountId, apiKeyId, ...input }: AccountKey & { modelName: string | null; texts: string[]; onLong?: OnLong },
      signal: AbortSignal,
    ) => {
      deps.activity.note(accountId)
      return createEmbeddings({ ctx: { deps, accountId, apiKeyId }, input, signal })
    },
  }
}

/** Embeds texts of any length for the service itself. It counts for no key. */
export function createOwnEmbedding(deps: ModelCtx['deps']) {
  const { embed } = createBatchInference(deps)
  return (accountId: string, texts: string[], signal = new AbortController().signal) =>
    embed({ accountId, apiKeyId: null, modelName: null, texts, onLong: 'read' }, signal)
}
