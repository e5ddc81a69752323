import { progressOf, type JobProgress } from '../../domain/job-progress.ts'
import { stepsBetweenValidations, stepsOf } from '../../domain/training-steps.ts'
import type { JobDetails } from '../../repositories/job-details.ts'
import type { Database } from '../../repositories/database.ts'
import type { Ctx } from '../context.ts'
import { createTtlCache } from '../ttl-cache.ts'

export type DescribedJob = JobDetails & {
  progress: JobProgress | null
  /** Null unless the job is QUEUED. `place` counts from 1 and is null when the job waits for something other than a slot. */
  queue: { place: number | null; reason: string | null; message: string | null } | null
}

/** The number of places that are kept. A job that is further behind has none. */
const toldPlaces = 10_000

/** Describes those of the jobs that the account has, by their ids. */
export async function describeTrainingJobs({
  ctx,
  input: { jobIds },
}: {
  ctx: Ctx
  input: { jobIds: readonly number[] }
}): Promise<Map<number, DescribedJob>> {
  const { database } = ctx.deps
  const jobs = await database.jobDetails.describe(ctx.accountId, jobIds)
  const places = jobs.some(({ status }) => status === 'QUEUED') ? await placesIn(database) : new Map<number, number>()
  return new Map(jobs.map((job) => [job.id, describe(job, places)]))
}

function describe(job: JobDetails, places: ReadonlyMap<number, number>): DescribedJob {
  const { id, status, statusReason: reason, statusMessage: message, lastStep, args } = job
  const steps = stepsOf(job)
  return {
    ...job,
    args: args && steps !== null ? { ...args, eval_steps: stepsBetweenValidations(args, steps) } : args,
    progress: progressOf(lastStep, { totalSteps: steps, isTraining: status === 'TRAINING MODEL' }),
    queue: status === 'QUEUED' ? { place: places.get(id) ?? null, reason, message } : null,
  }
}

type Places = ReadonlyMap<number, number>
/** The places are the same for all accounts, so a process reads them once a second at most. */
const caches = new WeakMap<object, ReturnType<typeof createTtlCache<Places>>>()

function placesIn(database: Pick<Database, 'jobDetails'>): Promise<Places> {
  const cache = caches.get(database) ?? createTtlCache<Places>()
  caches.set(database, cache)
  return cache.get('all', async () => {
    const waiting = await database.jobDetails.waiting(toldPlaces)
    return new Map(waiting.map((jobId, index) => [jobId, index + 1]))
  })
}
