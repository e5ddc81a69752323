import { randomInt, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { answerWarning, plainPromptRisk } from '../../domain/answer-warning.ts'
import { maxEmbeddingTokens } from '../../domain/catalogue.ts'
import type { BatchCompletionInput, PromptBatchKind } from '../../domain/inference-batch.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import { maxTextCharacters } from '../../domain/text-length.ts'
import { resolveTarget } from '../completions/create.ts'
import { requireChatTemplate } from '../completions/read-input.ts'
import type { Ctx } from '../context.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForData, requireRoomInDatabase } from '../limits/account-quotas.ts'
import { pinModel } from '../models/find-tuned.ts'
import { resolveModel } from '../models/resolve.ts'
import { acceptBatch } from './accept-batch.ts'
import { layOutItems } from './lay-out-items.ts'
import { requireRoomForBatch } from './require-room.ts'

type CreateBatchInput = {
  /** Null, for embeddings only: the catalogue's first embedding model. */
  modelName: string | null
  items: readonly string[]
} & (
  | { kind: Extract<PromptBatchKind, 'embeddings'>; completion: null; truncate: boolean }
  | { kind: Exclude<PromptBatchKind, 'embeddings'>; completion: BatchCompletionInput }
)

/**
 * Accepts a batch: stores its items, then commits one row with its start message.
 * @throws ServiceError model_not_found, invalid_input, quota_exceeded
 */
export async function createBatch({
  ctx,
  input,
  idempotency,
}: {
  ctx: Ctx
  input: CreateBatchInput
  idempotency: Idempotency
}): Promise<{ id: string; warning: string | null }> {
  const asked = input.modelName ?? ctx.deps.catalogue.defaultEmbeddingModel.name
  let warning: string | null = null
  const accepted = await once<{ id: string }>(ctx, idempotency, async (answer) => {
    // All chunks use one version of the model, whatever happens to its names meanwhile.
    const { modelName, dataId } = await pinModel(ctx, asked)
    const target =
      input.kind === 'embeddings'
        ? await resolveModel(ctx, modelName)
        : await resolveTarget(ctx, input.completion.dataId ?? dataId, modelName)
    const { baseModel } = target
    if (input.completion?.chat) requireChatTemplate(baseModel)
    const risk = input.completion && !input.completion.chat ? plainPromptRisk(target) : null
    warning = answerWarning(risk, { count: 0, empty: 0 })
    await requireRoomForData(ctx)
    await requireRoomInDatabase(ctx)
    await requireRoomForBatch(ctx, ctx.deps.database, input.items.length)
    const id = randomUUID()
    const promptsKey = storageKeys.batch(ctx.accountId, id, 'items.json')
    const isWhole = input.kind === 'embeddings' && !input.truncate
    const mostCharacters = maxTextCharacters(isWhole ? maxEmbeddingTokens(baseModel) : baseModel.contextLength)
    const { pieces, ...layout } = await layOutItems(input.items, mostCharacters)
    const batch = {
      id,
      accountId: ctx.accountId,
      apiKeyId: ctx.apiKeyId,
      kind: input.kind,
      modelName,
      request: {
        ...layout,
        input: input.completion && { ...seeded(input), dataId: input.completion.dataId ?? dataId },
        ...(risk && { risk }),
        ...(input.kind === 'embeddings' && { truncate: input.truncate }),
      },
      promptsKey,
      itemCount: input.items.length,
    }
    return acceptBatch(ctx, {
      batch,
      storeItems: () => ctx.deps.storage.writeStream(promptsKey, Readable.from(pieces)),
      answer,
    })
  })
  // A repeat gets the first answer without a warning.
  return { ...accepted, warning }
}

/** Streaming needs a seed: each partial text must be the beginning of the next. */
function seeded({ kind, completion }: Extract<CreateBatchInput, { completion: BatchCompletionInput }>) {
  const isFree = kind === 'streaming' && completion.seed === null && (completion.temperature ?? 0) > 0
  return isFree ? { ...completion, seed: randomInt(2 ** 31) } : completion
}
