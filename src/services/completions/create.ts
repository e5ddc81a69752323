import { plainChat, type ChatMessage } from '../../domain/chat.ts'
import type { OutputType } from '../../domain/output-type.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { collectionName } from '../../domain/stored-data.ts'
import type { OnUsage } from '../../inference/engine-client.ts'
import type { ModelCtx } from '../context.ts'
import { resolveModel } from '../models/resolve.ts'
import { retrieveRows } from '../stored-data/retrieve-rows.ts'
import { createMeter } from '../usage/meter.ts'

/**
 * Null is the default: at most 256 tokens of text, temperature 0 (the likeliest answer, the same each time), top_p 1.
 * For typed answers `maxTokens` bounds their texts, and `stop` is not used: either would leave them open.
 */
type CompleteInput = {
  /** Rows kept under it are put before the prompts that they matter to. Null: those kept under the model's name. */
  dataId?: string | null
  modelName: string
  prompts: string[]
  /** A conversation, in place of prompts: read by the model's own template, and without stored rows. */
  messages?: ChatMessage[] | null
  outputType: OutputType | null
  maxTokens: number | null
  temperature: number | null
  topP: number | null
  seed: number | null
  stop: string[]
}

/**
 * One answer a prompt, in order: `{output}`, or exactly the asked fields.
 * @throws ServiceError model_not_found, invalid_input naming a prompt by its position, unavailable
 */
export async function createCompletion({
  ctx,
  input: { dataId = null, modelName, prompts: texts, messages = null, outputType, ...sampling },
  signal,
  onText,
  onUsage,
}: {
  ctx: ModelCtx
  input: CompleteInput
  signal: AbortSignal
  /** Of one untyped prompt: its text while it grows. */
  onText?: ((piece: string) => void) | undefined
  onUsage?: OnUsage | undefined
}): Promise<{ outputs: Record<string, unknown>[]; finishReasons: string[] }> {
  const { baseModel, adapter, place } = await resolveTarget(ctx, dataId, modelName)
  const prompts = messages ? [plainChat(messages)] : texts
  const rows = place && !messages ? await retrieveRows({ ctx, place, prompts, signal }) : null
  const meter = createMeter(ctx, { baseModel, adapter }, onUsage)
  const asked = { baseModel, adapter, prompts, messages, rows, outputType, sampling, signal, onText, meter }
  const completions = await ctx.deps.inference.complete(asked)
  meter.countPrompts(prompts.length)
  return completions
}

/**
 * The model, and where rows for it are kept, if there are any.
 * @throws ServiceError model_not_found, invalid_input for a model that does not complete
 */
export async function resolveTarget(ctx: ModelCtx, dataId: string | null, modelName: string) {
  const { catalogue, database, hasRows } = ctx.deps
  const place = { accountId: ctx.accountId, collection: collectionName(catalogue, dataId ?? modelName) }
  const model = resolveModel(ctx, modelName).catch(async (error: unknown) => {
    // The id of stored data in place of a model: the data is what is asked.
    const isData = dataId === null && error instanceof ServiceError && error.code === 'model_not_found'
    if (isData && (await database.storedRows.exists(place)))
      return { baseModel: catalogue.defaultCompletionModel, adapter: null }
    throw error
  })
  const [{ baseModel, adapter }, isStored] = await Promise.all([model, hasRows(place)])
  if (baseModel.task !== 'completion')
    throw invalidInput('model_name', `"${modelName}" is an embedding model and does not complete prompts.`)
  return { baseModel, adapter, place: isStored ? place : null }
}
