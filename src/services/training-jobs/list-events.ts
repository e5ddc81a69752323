import { invalidInput } from '../../domain/service-error.ts'
import type { JobEvent } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

/** Lists a job's events, oldest first. @throws ServiceError not_found, invalid_input */
export async function listJobEvents({
  ctx,
  input: { jobId, after, limit },
}: {
  ctx: Ctx
  input: { jobId: number; after?: string | undefined; limit: number }
}): Promise<{ events: JobEvent[]; next: string | null }> {
  await findTrainingJob(ctx, jobId)
  if (after !== undefined && !/^\d{1,18}$/.test(after))
    throw invalidInput('after', 'after must be the cursor of an earlier page.')
  const events = await ctx.deps.database.jobEvents.list(jobId, {
    after: after === undefined ? null : BigInt(after),
    limit,
  })
  return { events, next: events.length === limit ? (events.at(-1)?.id ?? null) : null }
}
