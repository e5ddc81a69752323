import type { Attempt } from '../domain/training-job.ts'
import type { Ctx } from './context.ts'
import { findTrainingJob } from './get-training-job.ts'

/** Newest first. @throws ServiceError not_found */
export async function listAttempts({
  ctx,
  input: { jobId, before, limit },
}: {
  ctx: Ctx
  input: { jobId: number; before?: number | undefined; limit: number }
}): Promise<{ attempts: Attempt[]; next: number | null }> {
  await findTrainingJob(ctx, jobId)
  const attempts = await ctx.deps.database.attempts.list(jobId, { before: before ?? null, limit })
  return { attempts, next: attempts.length === limit ? (attempts.at(-1)?.number ?? null) : null }
}
