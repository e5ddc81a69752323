import { randomUUID } from 'node:crypto'
import { evalRunLimits, type EvalRunRequest, type GradersOf, type InputMessages } from '../../domain/eval-run.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import type { Ctx } from '../context.ts'
import { acceptWork } from '../durable-work/accept.ts'
import { findEval, noEval } from '../evals/find.ts'
import { pinJudges, requireRoomForAnswers } from '../evaluations/create.ts'
import { completionModel } from '../evaluations/evaluated-models.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { checkPrograms } from '../graders/validate.ts'
import { requireRoomForData, requireRoomInDatabase } from '../limits/account-quotas.ts'
import { storeThenCommit } from '../store-then-commit.ts'
import { findRun, type EvalRun } from './find.ts'
import { readItems, type ItemSource } from './read-items.ts'

export type CreateRunInput = Pick<EvalRunRequest, 'evalId' | 'metadata' | 'dataSource'> & {
  name: string | null
  gradersOf: GradersOf
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
    const graders = input.gradersOf(definition.criteria)
    await checkPrograms(ctx, graders, (at) => `testing_criteria[${at}]`)
    const { model = '', messages, fields } = input.sampling ?? {}
    requireShortRequest(input.dataSource)
    const { object, chunks, chunkSize, itemCount } = await ctx.deps.grading.layOutItems(ctx.accountId, {
      ...(await readItems(ctx, input.source)),
      messages: messages ?? null,
      requestCharacters: fields ? JSON.stringify(fields).length : 0,
      graders,
    })
    const modelName = input.sampling ? await completionModel(ctx, model, 'data_source.model') : ''
    const criteria = await pinJudges(ctx, definition.criteria, (at) => `testing_criteria[${at}].model`)
    const run: EvalRunRequest = {
      evalId,
      name: input.name ?? name,
      metadata: input.metadata,
      dataSource: input.dataSource,
      itemSchema: definition.itemSchema,
      criteria,
      sampling: messages && fields ? { messages, fields, fieldsText: JSON.stringify(fields) } : null,
      chunks,
      chunkSize,
    }
    const request = { models: [{ name: model, modelName }], graders: null, maxTokens: 0, run }
    return commit(ctx, { object: Buffer.from(object), evalId, request, rowCount: itemCount }, answer)
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
      await acceptWork(tx, ctx, {
        requireRoom: () => requireRoomForAnswers(ctx, tx, rowCount),
        async create() {
          if (!(await tx.evals.hold(accountId, evalId))) throw noEval()
          await tx.modelEvaluations.createRun(run)
        },
        audit: { action: 'eval.run.create', target: id },
      })
      return answer(tx, { id })
    },
  })
}

/** A list of runs sends each data source, and each item's request holds the template and the parameters. */
function requireShortRequest(dataSource: Record<string, unknown>) {
  const { templateCharacters: most } = evalRunLimits
  if (JSON.stringify(dataSource).length > most)
    throw invalidInput(
      'data_source',
      `data_source must have at most ${most} characters of JSON without its items. Shorten input_messages or sampling_params.`,
    )
}
