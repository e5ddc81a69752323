import { plainChat, type ChatMessage, type ChatTool } from '../../domain/chat.ts'
import type { AnswerShape } from '../../domain/answer-shape.ts'
import type { OutputType } from '../../domain/output-type.ts'
import { isText, type Prompt } from '../../domain/prompt.ts'
import type { SamplingExtras } from '../../domain/sampling-extras.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { collectionName } from '../../domain/stored-data.ts'
import type { OnUsage } from '../../inference/engine-client.ts'
import type { UsedRows } from '../../inference/retrieval.ts'
import type { ModelCtx } from '../context.ts'
import { rowsOf } from '../models/find-tuned.ts'
import { resolveModel } from '../models/resolve.ts'
import { retrieveRows } from '../stored-data/retrieve-rows.ts'
import { createMeter } from '../usage/meter.ts'

/**
 * Null means the default: 256 tokens, temperature 0 (always the likeliest answer) and top_p 1. For typed answers
 * `maxTokens` limits their texts only and `stop` is ignored, so that every answer is complete.
 */
type CompleteInput = {
  /** Rows stored under this id are put before related prompts. Null uses the rows stored under the model's name. */
  dataId?: string | null
  modelName: string
  prompts: Prompt[]
  /** false: special tokens such as `</s>` are letters in the prompts. Default true. */
  specialTokens?: boolean
  /** A conversation in place of prompts. It uses the model's chat template and no stored rows. */
  messages?: ChatMessage[] | null
  /** Functions that the conversation may call. */
  tools?: ChatTool[] | null
  outputType: OutputType | null
  maxTokens: number | null
  temperature: number | null
  topP: number | null
  seed: number | null
  stop: string[]
  extras?: SamplingExtras | null
  /** The answer is a text of this shape, `{output}`. */
  shape?: AnswerShape | null
  /** Bounds all tokens of a typed answer. One that does not fit is `{output}` with the finish reason "length". */
  answerTokens?: number | null
}

/**
 * Returns one answer per prompt, in order: `{output}`, or exactly the fields of `outputType`.
 * @throws ServiceError model_not_found, invalid_input with the position of the prompt, quota_exceeded, unavailable
 */
export async function createCompletion({
  ctx,
  input: {
    dataId = null,
    modelName,
    prompts: texts,
    specialTokens = true,
    messages = null,
    tools = null,
    outputType,
    shape = null,
    answerTokens = null,
    ...sampling
  },
  signal,
  onText,
  onUsage,
}: {
  ctx: ModelCtx
  input: CompleteInput
  signal: AbortSignal
  /** Receives the growing text; for a single untyped prompt only. */
  onText?: ((piece: string, logprobs?: unknown) => void) | undefined
  onUsage?: OnUsage | undefined
}): Promise<{ outputs: Record<string, unknown>[]; finishReasons: string[]; logprobs?: unknown[] } & UsedRows> {
  const { baseModel, adapter, place } = await resolveTarget(ctx, dataId, modelName)
  const prompts = messages ? [plainChat(messages)] : texts
  // Rows are put before texts: the tokens of a prompt stay as they came.
  const rows = place && !messages && prompts.every(isText) ? await retrieveRows({ ctx, place, prompts, signal }) : null
  const textLengths = specialTokens ? undefined : prompts.map(({ length }) => length)
  const meter = createMeter(ctx, { baseModel, adapter }, onUsage)
  const target = { baseModel, adapter, accountId: ctx.accountId, prompts, textLengths, messages, tools, rows }
  const asked = { ...target, outputType, shape, answerTokens, sampling, signal, onText, meter }
  const completions = await ctx.deps.inference.complete(asked)
  meter.countPrompts(prompts.length)
  return completions
}

/**
 * Finds the model and its collection of stored rows, if any.
 * @throws ServiceError model_not_found, invalid_input for an embedding model
 */
export async function resolveTarget(ctx: ModelCtx, dataId: string | null, modelName: string) {
  const { catalogue, database, hasRows } = ctx.deps
  const placeOf = (id: string) => ({ accountId: ctx.accountId, collection: collectionName(catalogue, id) })
  const place = placeOf(dataId ?? (catalogue.find(modelName) ? modelName : rowsOf(modelName)))
  const model = resolveModel(ctx, modelName).catch(async (error: unknown) => {
    // Clients also send the id of stored data in place of a model.
    const isData = dataId === null && error instanceof ServiceError && error.code === 'model_not_found'
    if (isData && (await database.storedRows.exists(placeOf(modelName))))
      return { baseModel: catalogue.defaultCompletionModel, adapter: null, dataPlace: placeOf(modelName) }
    throw error
  })
  const [{ baseModel, adapter, dataPlace }, isStored] = await Promise.all([
    model.then((found) => ({ dataPlace: null, ...found })),
    hasRows(place),
  ])
  if (baseModel.task !== 'completion')
    throw invalidInput('model_name', `"${modelName}" is an embedding model and cannot complete prompts.`)
  return { baseModel, adapter, place: dataPlace ?? (isStored ? place : null) }
}
