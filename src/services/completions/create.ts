import { answerWarning, countEmpty, plainPromptRisk } from '../../domain/answer-warning.ts'
import type { BatchCompletionInput, BatchItem } from '../../domain/inference-batch.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { collectionName } from '../../domain/stored-data.ts'
import type { OnUsage } from '../../inference/meter.ts'
import type { AnswerForm, Completions, OnText, Sampling } from '../../inference/request.ts'
import type { UsedRows } from '../../inference/retrieval.ts'
import type { ModelCtx } from '../context.ts'
import { rowsOf } from '../models/find-tuned.ts'
import { resolveModel } from '../models/resolve.ts'
import { createMeter } from '../usage/meter.ts'
import { readInput, type Asked, type PromptsAsked, type QuestionsAsked } from './read-input.ts'

export type CompleteInput<Input = Asked> = {
  modelName: string
  input: Input
  answer: AnswerForm
  sampling: Sampling
}

type Request = {
  ctx: ModelCtx
  input: CompleteInput
  signal: AbortSignal
  /** Receives the growing text; for a single untyped prompt only. */
  onText?: OnText | undefined
  onUsage?: OnUsage | undefined
}

/** `warning`: a sentence for the caller about what was asked; null without any. */
type Completed = Completions & UsedRows & { warning: string | null }

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
}: Request): Promise<Completed> {
  const dataId = asked.kind === 'chat' ? null : asked.dataId
  const target = await resolveTarget(ctx, dataId, modelName)
  const { baseModel, adapter } = target
  const input = await readInput(ctx, asked, target, signal)
  const meter = createMeter(ctx, { baseModel, adapter }, onUsage)
  const request = { baseModel, adapter, accountId: ctx.accountId, signal, meter, onText, input, answer, sampling }
  const completions = await ctx.deps.inference.complete(request)
  meter.countPrompts(completions.outputs.length)
  const risk = asked.kind === 'prompts' ? plainPromptRisk(target) : null
  const { outputs } = completions
  return { ...completions, warning: answerWarning(risk, { count: outputs.length, empty: countEmpty(outputs) }) }
}

/** Prompts, or questions of chats, with the options of /v1/completions, which batches keep in their rows. */
export const askPrompts = ({
  modelName,
  prompts,
  dataId,
  specialTokens,
  outputType,
  maxTokens,
  chat,
  ...sampling
}: BatchCompletionInput & { modelName: string; prompts: readonly BatchItem[] }): CompleteInput<
  PromptsAsked | QuestionsAsked
> => ({
  modelName,
  input: chat
    ? { kind: 'questions', questions: prompts, chat, dataId }
    : { kind: 'prompts', prompts: prompts as string[], specialTokens, dataId },
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
      return {
        baseModel: catalogue.defaultCompletionModel,
        adapter: null,
        learned: null,
        dataPlace: placeOf(modelName),
      }
    throw error
  })
  const [{ baseModel, adapter, learned, dataPlace }, isStored] = await Promise.all([
    model.then((found) => ({ dataPlace: null, ...found })),
    hasRows(place),
  ])
  if (baseModel.task !== 'completion')
    throw invalidInput('model_name', `"${modelName}" is an embedding model and cannot complete prompts.`)
  return { baseModel, adapter, learned, place: dataPlace ?? (isStored ? place : null) }
}
