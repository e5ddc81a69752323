import { randomUUID } from 'node:crypto'
import type { Grader } from '../../domain/grader.ts'
import { chatOptionsOf, systemMessageOf, type ChatOptions } from '../../domain/learned.ts'
import type { EvaluatedModel, EvaluationRequest } from '../../domain/model-evaluation.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { Ctx } from '../context.ts'
import { resolveDataset } from '../datasets/resolve.ts'
import { acceptWork } from '../durable-work/accept.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForData, requireRoomInDatabase } from '../limits/account-quotas.ts'
import { lookUpTuned, pinModel } from '../models/find-tuned.ts'
import { resolveModel } from '../models/resolve.ts'
import { requireChatTemplate } from '../completions/read-input.ts'

type CreateEvaluationInput = {
  models: string[]
  datasetId: string
  /** Null: chosen by the expected answers. */
  graders: Grader[] | null
  maxRows: number
  maxTokens: number
  /** Absent: each model is asked in the form that it learned. */
  asChat?: boolean | undefined
  /** The system message of chats without one of their own; absent: the one that the model learned. */
  system?: string | undefined
}

/** An evaluation rarely ends sooner. */
const retryAfterSeconds = 30

/**
 * Accepts an evaluation: one row, which waits for a turn.
 * @throws ServiceError model_not_found, invalid_input, quota_exceeded
 */
export async function createEvaluation({
  ctx,
  input,
  idempotency,
}: {
  ctx: Ctx
  input: CreateEvaluationInput
  idempotency: Idempotency
}): Promise<{ id: string; status: 'QUEUED' }> {
  const { accountId, apiKeyId, deps } = ctx
  return once<{ id: string; status: 'QUEUED' }>(ctx, idempotency, async (answer) => {
    const { maxRows, datasetId } = input
    const request = await resolveRequest(ctx, input)
    const { uploadKey: dataKey } = await resolveDataset(ctx, { datasetId, modelName: '' })
    await requireRoomForData(ctx)
    await requireRoomInDatabase(ctx)
    const evaluation = { id: randomUUID(), accountId, apiKeyId, datasetId, dataKey, maxRows, request }
    const { id } = evaluation
    return deps.database.transaction(async (tx) => {
      await acceptWork(tx, ctx, {
        requireRoom: () => requireRoomForAnswers(ctx, tx, maxRows * request.models.length),
        create: () => tx.modelEvaluations.create(evaluation),
        audit: { action: 'evaluation.create', target: id },
      })
      return answer(tx, { id, status: 'QUEUED' })
    })
  })
}

/** Replaces each name by the model that it means now, so that a name that moves does not change a running evaluation. */
async function resolveRequest(
  ctx: Ctx,
  { models, graders, maxTokens, ...form }: CreateEvaluationInput,
): Promise<EvaluationRequest> {
  const { asChat, system } = form
  if (graders) await ctx.deps.grading.compile(ctx.accountId, graders)
  const found: (Found & { name: string })[] = []
  for (const [index, name] of models.entries()) {
    if (models.indexOf(name) !== index) throw invalidInput(`models[${index}]`, `The model "${name}" is named twice.`)
    found.push({ name, ...(await findEvaluated(ctx, name, { path: `models[${index}]`, form })) })
  }
  return {
    models: found.map((model) => evaluated(model, (asChat !== false && besideOf(found, model)) || model.chat)),
    graders: graders && (await pinJudges(ctx, graders, (at) => `graders[${at}].model`)),
    maxTokens,
    ...(asChat !== undefined && { asChat }),
    ...(system !== undefined && { system }),
  }
}

const evaluated = (
  { name, modelName, isPlain }: { name: string; modelName: string; isPlain: boolean },
  chat: ChatOptions | null,
): EvaluatedModel => ({ name, modelName, ...(isPlain && { specialTokens: false }), ...(chat && { chat }) })

/** `chat`: how the model is asked for rows without messages; null: by plain prompts. */
type Found = { modelName: string; baseModel: string; isBase: boolean; isPlain: boolean; chat: ChatOptions | null }

async function findEvaluated(
  ctx: Ctx,
  name: string,
  { path, form }: { path: string; form: Pick<CreateEvaluationInput, 'asChat' | 'system'> },
): Promise<Found> {
  const modelName = await completionModel(ctx, name, path)
  const { baseModel, adapter, learned } = await resolveModel(ctx, modelName)
  const chat = chatOptionsOf(form, learned)
  if (chat && form.asChat) requireChatTemplate(baseModel)
  const system = chat && systemMessageOf(chat, learned)
  return {
    modelName,
    baseModel: baseModel.name,
    isBase: adapter === null,
    isPlain: await readsPlainText(ctx, modelName),
    // Named here, because a base model has not learned the message of a model beside it.
    chat: chat && { system: system ?? '' },
  }
}

/** A base model is asked as a model that was tuned from it, so that the two can be compared. */
const besideOf = (found: readonly Found[], { isBase, baseModel }: Found) =>
  isBase ? found.find((each) => !each.isBase && each.baseModel === baseModel && each.chat)?.chat : undefined

/** Whether the model was trained on prompts in which special tokens do not act. It is asked as it was trained. */
async function readsPlainText(ctx: Ctx, modelName: string): Promise<boolean> {
  const { catalogue, database } = ctx.deps
  const tuned = catalogue.find(modelName) ? null : await lookUpTuned(ctx, modelName)
  const job = tuned && (await database.trainingJobs.find(ctx.accountId, tuned.jobId))
  return job?.spec.args.special_tokens === false
}

/** What a name means now. @throws ServiceError model_not_found, invalid_input naming `path` */
export async function completionModel(ctx: Ctx, name: string, path: string): Promise<string> {
  const { baseModel, adapter } = await resolveModel(ctx, name)
  if (baseModel.task !== 'completion')
    throw invalidInput(path, `"${name}" is an embedding model and cannot complete prompts.`)
  return adapter ? (await pinModel(ctx, name)).modelName : baseModel.name
}

/** Graders whose models are those that the names mean now. @param pathOf the place of a model's name in the request */
export async function pinJudges<T extends { type: string; model?: string }>(
  ctx: Ctx,
  graders: readonly T[],
  pathOf: (index: number) => string,
): Promise<T[]> {
  const pinned: T[] = []
  for (const [index, grader] of graders.entries()) {
    const { model } = grader
    pinned.push(model === undefined ? grader : { ...grader, model: await completionModel(ctx, model, pathOf(index)) })
  }
  return pinned
}

/** Exact in a transaction that holds the account. @throws ServiceError quota_exceeded */
export async function requireRoomForAnswers(
  { deps: { settings }, accountId }: Ctx,
  { modelEvaluations }: Pick<Repositories, 'modelEvaluations'>,
  answerCount: number,
) {
  const { maxOpenEvaluations, maxWaitingEvaluationAnswers } = settings
  const open = await modelEvaluations.openOf(accountId)
  if (open.evaluationCount >= maxOpenEvaluations)
    throw full(`This account has ${maxOpenEvaluations} open evaluations, the most that it may have.`)
  if (open.answerCount + answerCount > maxWaitingEvaluationAnswers)
    throw full(
      `This account's open evaluations need ${open.answerCount} answers. With the ${answerCount} of this evaluation they would exceed the limit of ${maxWaitingEvaluationAnswers}.`,
    )
}

const full = (message: string) =>
  new ServiceError('quota_exceeded', `${message} Wait until one ends, or cancel one.`, { retryAfterSeconds })
