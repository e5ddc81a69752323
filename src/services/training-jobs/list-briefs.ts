import type { JobBriefFilter, JobFigures } from '../../repositories/job-briefs.ts'
import type { Ctx } from '../context.ts'
import { describeTrainingJobs, type DescribedJob } from './describe.ts'
import { decodeJobCursor, encodeJobCursor } from './list.ts'

export type JobBrief = DescribedJob & JobFigures

/**
 * Lists a page of the jobs that fit the filter, newest first. A page may have fewer jobs than the limit before the last one.
 * @throws ServiceError invalid_input for a malformed cursor
 */
export async function listJobBriefs({
  ctx,
  input: { limit, after, filter },
}: {
  ctx: Ctx
  input: { limit: number; after?: string | undefined; filter: JobBriefFilter }
}): Promise<{ jobs: JobBrief[]; next: string | null }> {
  const last = after === undefined ? null : decodeJobCursor(after)
  const { ids, next } = await ctx.deps.database.jobBriefs.find(ctx.accountId, { limit, after: last, filter })
  return { jobs: await findJobBriefs({ ctx, input: { ids } }), next: next === null ? null : encodeJobCursor(next) }
}

/** Describes those of the jobs that the account has, in the order of their ids. */
export async function findJobBriefs({
  ctx,
  input: { ids },
}: {
  ctx: Ctx
  input: { ids: readonly number[] }
}): Promise<JobBrief[]> {
  const [described, figures] = await Promise.all([
    describeTrainingJobs({ ctx, input: { jobIds: ids } }),
    ctx.deps.database.jobBriefs.figures(ctx.accountId, ids),
  ])
  const figuresOf = new Map(figures.map((each) => [each.id, each]))
  return ids.flatMap((id) => {
    const [job, more] = [described.get(id), figuresOf.get(id)]
    return job && more ? [{ ...job, ...more }] : []
  })
}
