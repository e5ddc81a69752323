import { randomUUID } from 'node:crypto'
import type { Grader } from '../../domain/grader.ts'
import type { EvaluationRequest } from '../../domain/model-evaluation.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { Ctx } from '../context.ts'
import { resolveDataset } from '../datasets/resolve.ts'
import { acceptWork } from '../durable-work/accept.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForData, requireRoomInDatabase } from '../limits/account-quotas.ts'
import { completionModel, findEvaluated, type EvaluationForm } from './evaluated-models.ts'

type CreateEvaluationInput = {
  models: string[]
  datasetId: string
  /** Null: chosen by the expected answers. */
  graders: Grader[] | null
  maxRows: number
  maxTokens: number
  /** Whether rows that cannot be evaluated are left out; absent for no. */
  isSkipping?: boolean
} & EvaluationForm

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
  { models, graders, maxTokens, isSkipping = false, ...form }: CreateEvaluationInput,
): Promise<EvaluationRequest> {
  const { asChat, system } = form
  if (graders) await ctx.deps.grading.compile(ctx.accountId, graders)
  return {
    models: await findEvaluated(ctx, models, form),
    graders: graders && (await pinJudges(ctx, graders, (at) => `graders[${at}].model`)),
    maxTokens,
    ...(isSkipping && { isSkipping }),
    ...(asChat !== undefined && { asChat }),
    ...(system !== undefined && { system }),
  }
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
    pinned.push(model === undefined ? grader : { ...grader, model: await judgeNamed(ctx, model, pathOf(index)) })
  }
  return pinned
}

/** @throws ServiceError model_not_found, invalid_input, both with the place of the name */
async function judgeNamed(ctx: Ctx, name: string, path: string): Promise<string> {
  try {
    return await completionModel(ctx, name, path)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'model_not_found' && error.issues.length === 0)
      throw new ServiceError(error.code, error.message, { issues: [{ path, message: error.message }] })
    throw error
  }
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
