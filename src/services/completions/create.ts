import { plainChat, type ChatMessage, type ChatTool } from '../../domain/chat.ts'
import type { BatchCompletionInput } from '../../domain/inference-batch.ts'
import { isText, type Prompt } from '../../domain/prompt.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { collectionName } from '../../domain/stored-data.ts'
import type { OnUsage } from '../../inference/meter.ts'
import type { AnswerForm, Completions, CompletionRequest, OnText, Sampling } from '../../inference/request.ts'
import type { UsedRows } from '../../inference/retrieval.ts'
import type { ModelCtx } from '../context.ts'
import { rowsOf } from '../models/find-tuned.ts'
import { resolveModel } from '../models/resolve.ts'
import { retrieveRows } from '../stored-data/retrieve-rows.ts'
import { createMeter } from '../usage/meter.ts'

export type CompleteInput<Input = PromptsAsked | ChatAsked> = {
  modelName: string
  input: Input
  answer: AnswerForm
  sampling: Sampling
}

export type PromptsAsked = {
  kind: 'prompts'
  prompts: readonly Prompt[]
  /** false: special tokens such as `</s>` are letters in the prompts. */
  specialTokens: boolean
  /** Rows stored under this id are put before related prompts. Null uses the rows stored under the model's name. */
  dataId: string | null
}

/** A conversation uses the model's chat template and no stored rows. */
type ChatAsked = { kind: 'chat'; messages: readonly ChatMessage[]; tools: readonly ChatTool[] | null }

type Asked = {
  ctx: ModelCtx
  input: CompleteInput
  signal: AbortSignal
  /** Receives the growing text; for a single untyped prompt only. */
  onText?: OnText | undefined
  onUsage?: OnUsage | undefined
}

/**
 * Returns one answer per prompt, in order: `{output}`, or exactly the fields of a typed answer.
 * @throws ServiceError model_not_found, invalid_input with the position of the prompt, quota_exceeded, unavailable
 */
export async function createCompletion({
  ctx,
  input: { modelName, input: asked, answer, sampling },
  signal,
  onText,
  onUsage,
}: Asked): Promise<Completions & UsedRows> {
  const dataId = asked.kind === 'prompts' ? asked.dataId : null
  const { baseModel, adapter, place } = await resolveTarget(ctx, dataId, modelName)
  const input = await readInput(ctx, asked, place, signal)
  const meter = createMeter(ctx, { baseModel, adapter }, onUsage)
  const request = { baseModel, adapter, accountId: ctx.accountId, signal, meter, onText, input, answer, sampling }
  const completions = await ctx.deps.inference.complete(request)
  meter.countPrompts(completions.outputs.length)
  return completions
}

async function readInput(
  ctx: ModelCtx,
  asked: PromptsAsked | ChatAsked,
  place: { accountId: string; collection: string } | null,
  signal: AbortSignal,
): Promise<CompletionRequest['input']> {
  if (asked.kind === 'chat') return { ...asked, text: plainChat(asked.messages) }
  const { prompts, specialTokens } = asked
  // Rows are put before texts: the tokens of a prompt stay as they came.
  const rows = place && prompts.every(isText) ? await retrieveRows({ ctx, place, prompts, signal }) : null
  return {
    kind: 'prompts',
    prompts,
    rows,
    textLengths: specialTokens ? undefined : prompts.map(({ length }) => length),
  }
}

/** Prompts with the options of /v1/completions, which batches keep in their rows. */
export const askPrompts = ({
  modelName,
  prompts,
  dataId,
  specialTokens,
  outputType,
  maxTokens,
  ...sampling
}: BatchCompletionInput & { modelName: string; prompts: readonly string[] }): CompleteInput<PromptsAsked> => ({
  modelName,
  input: { kind: 'prompts', prompts, specialTokens, dataId },
  answer: outputType ? { kind: 'typed', outputType, maxTokens } : { kind: 'text', maxTokens },
  sampling,
})

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
