import { invalidInput } from '../../domain/service-error.ts'
import type { TrainingJobStatus } from '../../domain/training-job-status.ts'
import type { TrainingJobSummary } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'

const pageSize = 500

export const encodeJobCursor = (jobId: number) => Buffer.from(`job:${jobId}`).toString('base64url')

export function decodeJobCursor(cursor: string): number {
  const id = /^job:(\d{1,10})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1]
  if (id === undefined || encodeJobCursor(Number(id)) !== cursor || Number(id) > 2 ** 31 - 1)
    throw invalidInput('after', 'after must be the cursor of an earlier page.')
  return Number(id)
}

/**
 * Yields the account's jobs page by page, newest first, so that the whole list is never in memory.
 * @throws ServiceError invalid_input for a malformed cursor
 */
export async function* listTrainingJobs({
  ctx,
  input: { status, after, limit, metadata = null },
}: {
  ctx: Ctx
  input: {
    status?: TrainingJobStatus | undefined
    after?: string | undefined
    limit?: number | undefined
    /** Pairs that the metadata of a job must hold. */
    metadata?: Record<string, string> | null
  }
}): AsyncGenerator<TrainingJobSummary[]> {
  let last = after === undefined ? null : decodeJobCursor(after)
  let left = limit ?? Number.POSITIVE_INFINITY
  while (left > 0) {
    const wanted = Math.min(left, pageSize)
    const page = await ctx.deps.database.trainingJobs.list(ctx.accountId, {
      limit: wanted,
      after: last,
      status: status ?? null,
      metadata,
    })
    if (page.length > 0) yield page
    if (page.length < wanted) return
    left -= page.length
    last = page.at(-1)?.id ?? null
  }
}
