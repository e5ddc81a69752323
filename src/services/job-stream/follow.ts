import { parseCursor, startCursor } from '../../domain/job-cursor.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from '../training-jobs/get.ts'
import type { Batch } from './job-feed.ts'

/**
 * Follows a job from its acceptance on, from now on, or from after the message with the id `lastEventId`. See job-feeds.ts.
 * @throws ServiceError not_found, invalid_input, quota_exceeded, unavailable
 */
export async function followTrainingJob({
  ctx,
  input: { jobId, lastEventId, isFromNow },
  signal,
}: {
  ctx: Ctx
  input: { jobId: number; lastEventId: string | undefined; isFromNow: boolean }
  signal: AbortSignal
}): Promise<AsyncGenerator<Batch | null>> {
  await findTrainingJob(ctx, jobId)
  const beginning = isFromNow ? await ctx.deps.database.jobFeed.now(jobId) : startCursor
  const cursor = lastEventId ? parseCursor(lastEventId) : (beginning ?? startCursor)
  if (cursor === null) throw invalidInput('Last-Event-ID', 'Last-Event-ID must be the id of an event of this stream.')
  const { accountId, apiKeyId } = ctx
  return ctx.deps.jobFeeds.follow({ accountId, apiKeyId, jobId, cursor, signal })
}
