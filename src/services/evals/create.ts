import { randomUUID } from 'node:crypto'
import { evalLimits, type Eval, type EvalDefinition } from '../../domain/eval-run.ts'
import { templatesOf, type ItemGrader } from '../../domain/item-grader.ts'
import { referencesIn } from '../../domain/item-template.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { completionModel } from '../evaluations/evaluated-models.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { checkPrograms } from '../graders/validate.ts'
import { requireRoomInDatabase } from '../limits/account-quotas.ts'
import { findEval } from './find.ts'

/**
 * Keeps criteria for runs. `graders`: those that the criteria mean.
 * @throws ServiceError invalid_input naming the field in OpenAI's words, model_not_found, quota_exceeded
 */
export async function createEval({
  ctx,
  input: { name, metadata, definition, graders },
  idempotency,
}: {
  ctx: Ctx
  input: Pick<Eval, 'name' | 'metadata' | 'definition'> & { graders: readonly ItemGrader[] }
  idempotency: Idempotency
}): Promise<Eval> {
  const { accountId, deps } = ctx
  const { id } = await once<{ id: string }>(ctx, idempotency, async (answer) => {
    await requireUsable(ctx, definition, graders)
    await requireRoomInDatabase(ctx)
    const id = randomUUID()
    return deps.database.transaction(async (tx) => {
      await tx.accounts.hold(accountId)
      if ((await tx.evals.count(accountId)) >= evalLimits.evals) throw full()
      await tx.evals.create({ id, accountId, name, metadata, definition })
      await recordAudit(tx, ctx, 'eval.create', id)
      return answer(tx, { id })
    })
  })
  return findEval({ ctx, input: { id } })
}

async function requireUsable(ctx: Ctx, definition: EvalDefinition, graders: readonly ItemGrader[]) {
  const { itemSchema, includesSample } = definition
  const criteria = definition.criteria.map((each) => ({ ...each, source: undefined }))
  if (JSON.stringify({ ...definition, criteria }).length > evalLimits.definitionCharacters)
    throw invalidInput(
      'testing_criteria',
      `item_schema and testing_criteria must have at most ${evalLimits.definitionCharacters} characters of JSON together, without Python source.`,
    )
  await requireSchema(ctx, itemSchema)
  await checkPrograms(ctx, graders, (at) => `testing_criteria[${at}]`)
  for (const [index, grader] of graders.entries()) {
    const namesSample = templatesOf(grader)
      .flatMap(referencesIn)
      .some((name) => name.startsWith('sample'))
    if (namesSample && !includesSample)
      throw invalidInput(
        `testing_criteria[${index}]`,
        `testing_criteria[${index}] names parts of the sample, so data_source_config.include_sample_schema must be true.`,
      )
    if (grader.type === 'judge') await completionModel(ctx, grader.model, `testing_criteria[${index}].model`)
  }
}

async function requireSchema({ deps, accountId }: Ctx, schema: Record<string, unknown>) {
  try {
    await deps.grading.compile(accountId, [{ type: 'json_schema', schema }])
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'invalid_input') throw error
    throw invalidInput(
      'data_source_config.item_schema',
      error.message.replace('The json_schema grader', 'data_source_config.item_schema'),
    )
  }
}

const full = () =>
  new ServiceError(
    'quota_exceeded',
    `This account has ${evalLimits.evals} evals, the most that it may have. Delete one.`,
    {
      retryAfterSeconds: 60,
    },
  )
