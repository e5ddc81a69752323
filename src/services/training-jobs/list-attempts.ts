import { gpuCountOf, ledgerOf, type AttemptLedger } from '../../domain/attempt-ledger.ts'
import type { Attempt } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

export type CountedAttempt = Attempt & { ledger: AttemptLedger; gpuCount: number }

/** Lists a job's attempts, newest first. @throws ServiceError not_found */
export async function listAttempts({
  ctx,
  input: { jobId, before, limit },
}: {
  ctx: Ctx
  input: { jobId: number; before?: number | undefined; limit: number }
}): Promise<{ attempts: CountedAttempt[]; next: number | null }> {
  const { spec } = await findTrainingJob(ctx, jobId)
  const { attempts } = ctx.deps.database
  const page = await attempts.list(jobId, { before: before ?? null, limit })
  const [newest, oldest] = [page[0], page.at(-1)]
  if (!newest || !oldest) return { attempts: [], next: null }
  const repeated = await attempts.repeatedFrom(jobId, { from: oldest.number, to: newest.number })
  const [now, gpuCount] = [new Date(), gpuCountOf(spec)]
  const counted = page.map((attempt) => {
    const repeatedFrom = repeated.get(attempt.number) ?? null
    return { ...attempt, ledger: ledgerOf(attempt, { repeatedFrom, now }), gpuCount }
  })
  return { attempts: counted, next: page.length === limit ? oldest.number : null }
}
