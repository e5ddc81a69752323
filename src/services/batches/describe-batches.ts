import type { ListedBatch } from '../../domain/inference-batch.ts'
import { isModelId } from '../../domain/model-reference.ts'
import type { Wait } from '../../domain/wait.ts'
import type { Ctx } from '../context.ts'
import { readWaits } from '../durable-work/wait.ts'

export type DescribedBatch = ListedBatch & {
  /** Null for a model that is gone, and for a batch whose requests each name one. */
  displayName: string | null
  keyName: string | null
  /** Why the batch has not started; null once it has. */
  wait: Wait | null
}

/** Adds what people call the models and keys of batches, and why batches wait. */
export async function describeBatches(ctx: Ctx, batches: readonly ListedBatch[]): Promise<DescribedBatch[]> {
  const { accountId, deps } = ctx
  const [modelNames, keyNames, waitOf] = await Promise.all([
    deps.database.models.displayNames(
      accountId,
      batches.map(({ modelName }) => modelName),
    ),
    deps.database.apiKeys.names(batches.map(({ apiKeyId }) => apiKeyId)),
    readWaits(ctx, 'batch', batches),
  ])
  return batches.map((batch) => ({
    ...batch,
    // People read the names of base models as they are. A batch of requests has no model of its own.
    displayName: modelNames.get(batch.modelName) ?? (isModelId(batch.modelName) ? null : batch.modelName || null),
    keyName: keyNames.get(batch.apiKeyId) ?? null,
    wait: waitOf(batch),
  }))
}
