import type { MetricRow } from '../../repositories/job-details.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

/** Lists a job's reported steps after `sinceStep`, in order. @throws ServiceError not_found */
export async function listMetrics({
  ctx,
  input: { jobId, sinceStep, limit },
}: {
  ctx: Ctx
  input: { jobId: number; sinceStep: number; limit: number }
}): Promise<{ metrics: MetricRow[]; next: number | null }> {
  await findTrainingJob(ctx, jobId)
  const metrics = await ctx.deps.database.jobDetails.metrics(jobId, { sinceStep, limit })
  return { metrics, next: metrics.length === limit ? (metrics.at(-1)?.step ?? null) : null }
}
