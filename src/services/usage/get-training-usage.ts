import type { UsageDimension } from '../../domain/usage.ts'
import type { CauseUsage } from '../../repositories/training-usage.ts'
import type { Ctx } from '../context.ts'
import { daysOf, type Days } from './days.ts'

/** The newest jobs are counted: a longer list would take seconds. */
const maxCountedJobs = 10_000

/**
 * The time of the attempts of the jobs that were accepted in these days, by the causes of their ends, and by days, keys or
 * models.
 * @throws ServiceError invalid_input
 */
export async function getTrainingUsage({
  ctx: { deps, accountId },
  input: { by, ...days },
}: {
  ctx: Ctx
  input: Days & { by: UsageDimension | null }
}): Promise<{ from: string; to: string; causes: CauseUsage[] }> {
  const { first, last, after } = daysOf(days)
  const range = { from: first, to: after, by, limit: maxCountedJobs }
  return { from: first, to: last, causes: await deps.database.trainingUsage.byCause(accountId, range) }
}
