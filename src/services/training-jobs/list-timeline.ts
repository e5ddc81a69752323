import type { TrainingJob } from '../../domain/training-job.ts'
import type { TimelineEntry, TimelinePlace } from '../../repositories/job-timeline.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

/** Lists a job's events and reported steps together, newest first. @throws ServiceError not_found */
export async function listJobTimeline({
  ctx,
  input: { jobId, ...page },
}: {
  ctx: Ctx
  input: { jobId: number; after: TimelinePlace | null; limit: number }
}): Promise<{ job: TrainingJob; entries: TimelineEntry[] }> {
  const job = await findTrainingJob(ctx, jobId)
  return { job, entries: await ctx.deps.database.jobTimeline.list(jobId, page) }
}
