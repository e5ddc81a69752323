import { randomUUID } from 'node:crypto'
import { layOut } from '../../domain/chunk-layout.ts'
import { isJudge, textsOf, type EvalCriterion } from '../../domain/eval-criteria.ts'
import { messagesOf, type EvalItem, type EvalRunRequest, type InputMessages } from '../../domain/eval-run.ts'
import { MissingPart, referencesIn, valueAt } from '../../domain/item-template.ts'
import { evaluationWorkflowId } from '../../domain/model-evaluation.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findEval, noEval } from '../evals/find.ts'
import { completionModel, requireRoomForAnswers } from '../evaluations/create.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForData, requireRoomInDatabase } from '../limits/account-quotas.ts'
import { storeThenCommit } from '../store-then-commit.ts'
import { findRun, type EvalRun } from './find.ts'
import { readItems, type ItemSource } from './read-items.ts'

export type CreateRunInput = Pick<EvalRunRequest, 'evalId' | 'metadata' | 'dataSource'> & {
  name: string | null
  source: ItemSource
  /** Null when each item brings its sample. */
  sampling: { model: string; messages: InputMessages; fields: Record<string, unknown> } | null
}

/**
 * Accepts a run: stores its items, then commits a row with its start message.
 * @throws ServiceError not_found, invalid_input naming the item, model_not_found, quota_exceeded
 */
export async function createRun({
  ctx,
  input,
  idempotency,
}: {
  ctx: Ctx
  input: CreateRunInput
  idempotency: Idempotency
}): Promise<EvalRun> {
  const { evalId } = input
  const { id } = await once<{ id: string }>(ctx, idempotency, async (answer) => {
    await requireRoomForData(ctx)
    await requireRoomInDatabase(ctx)
    await requireRoomForAnswers(ctx, ctx.deps.database, 1)
    const { definition, name } = await findEval({ ctx, input: { id: evalId } })
    const items = await readItems(ctx, input.source)
    requireParts(items, input.sampling?.messages ?? null, definition.criteria)
    const { model = '', messages, fields } = input.sampling ?? {}
    const modelName = input.sampling ? await completionModel(ctx, model, 'data_source.model') : ''
    const criteria = await withResolvedJudges(ctx, definition.criteria)
    const { object, chunks } = layOut(items)
    const run: EvalRunRequest = {
      evalId,
      name: input.name ?? name,
      metadata: input.metadata,
      dataSource: input.dataSource,
      itemSchema: definition.itemSchema,
      criteria,
      sampling: messages && fields ? { messages, fields } : null,
      chunks,
    }
    const request = { models: [{ name: model, modelName }], graders: null, maxTokens: 0, run }
    return commit(ctx, { object, evalId, request, rowCount: items.length }, answer)
  })
  return findRun({ ctx, input: { evalId, id } })
}

type Accepted = {
  object: Buffer
  evalId: string
  request: { models: { name: string; modelName: string }[]; graders: null; maxTokens: number; run: EvalRunRequest }
  rowCount: number
}
type Answer = Parameters<Parameters<typeof once<{ id: string }>>[2]>[0]

function commit(ctx: Ctx, { object, evalId, request, rowCount }: Accepted, answer: Answer) {
  const { accountId, apiKeyId, deps } = ctx
  const id = randomUUID()
  const rowsKey = storageKeys.evaluation(accountId, id, 'items.json')
  const counts = { maxRows: rowCount, rowCount, sizeBytes: object.length }
  const run = { id, accountId, apiKeyId, evalId, datasetId: '', dataKey: rowsKey, rowsKey, request, ...counts }
  return storeThenCommit(deps, {
    key: rowsKey,
    store: () => deps.storage.write(rowsKey, object),
    async commit(tx) {
      await tx.accounts.hold(accountId)
      await requireRoomForAnswers(ctx, tx, rowCount)
      if (!(await tx.evals.hold(accountId, evalId))) throw noEval()
      await tx.modelEvaluations.createRun(run)
      const workflowId = evaluationWorkflowId(id)
      await tx.outbox.add({ workflowId, kind: 'start-evaluation', generation: 1, payload: { evaluationId: id } })
      await recordAudit(tx, ctx, 'eval.run.create', id)
      return answer(tx, { id })
    },
  })
}

/** Each item must have the parts that are named. Parts of a sample are known once the model has answered. */
function requireParts(items: readonly EvalItem[], messages: InputMessages | null, criteria: readonly EvalCriterion[]) {
  const names = criteria.flatMap(textsOf).flatMap(referencesIn)
  const known = messages ? names.filter((name) => name.startsWith('item')) : names
  for (const [index, { item, sample }] of items.entries())
    try {
      if (messages) messagesOf(messages, { item })
      for (const name of known) if (!name.startsWith('sample.output_')) valueAt(name, { item, sample })
      if (!messages && names.some((name) => name.startsWith('sample')) && !sample) throw new MissingPart('sample')
    } catch (error) {
      if (!(error instanceof MissingPart)) throw error
      throw invalidInput('data_source.source', `Item ${index} of data_source.source lacks a part: ${error.message}.`)
    }
}

async function withResolvedJudges(ctx: Ctx, criteria: readonly EvalCriterion[]): Promise<EvalCriterion[]> {
  const resolved = []
  for (const [index, criterion] of criteria.entries())
    resolved.push(
      isJudge(criterion)
        ? { ...criterion, model: await completionModel(ctx, criterion.model, `testing_criteria[${index}].model`) }
        : criterion,
    )
  return resolved
}
