import { notAhead, parseCursor, startCursor, type JobCursor } from '../../domain/job-cursor.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
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
  const beginning = async () => (isFromNow ? await ctx.deps.database.jobFeed.now(jobId) : null) ?? startCursor
  const cursor = lastEventId ? await resumed(ctx, jobId, lastEventId) : await beginning()
  const { accountId, apiKeyId, sessionId } = ctx
  return ctx.deps.jobFeeds.follow({ accountId, apiKeyId, sessionId, jobId, cursor, signal })
}

/** A cursor ahead of the database, such as one from before a restore, goes on from now. */
async function resumed({ deps: { database, storage } }: Ctx, jobId: number, lastEventId: string): Promise<JobCursor> {
  const cursor = parseCursor(lastEventId)
  if (cursor === null) throw invalidInput('Last-Event-ID', 'Last-Event-ID must be the id of an event of this stream.')
  const newest = (await database.jobFeed.newest(jobId)) ?? startCursor
  const { attempt, offset } = newest
  if (cursor.attempt !== attempt || cursor.offset <= offset) return notAhead(cursor, newest)
  // The database learns the length of a log after the log is written.
  const stored = await storage.stat(storageKeys.log(jobId, attempt))
  return notAhead(cursor, { ...newest, offset: Math.max(offset, stored?.sizeBytes ?? 0) })
}
