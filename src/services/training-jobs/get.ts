import { ServiceError } from '../../domain/service-error.ts'
import type { TrainingJob } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { historyText } from './history-text.ts'

/** An unknown id and another account's id get the same refusal. */
export const jobNotFound = (jobId: number | string) =>
  new ServiceError('not_found', `There is no training job ${jobId}.`)

/** @throws ServiceError not_found */
export async function findTrainingJob(ctx: Ctx, jobId: number): Promise<TrainingJob> {
  const job = await ctx.deps.database.trainingJobs.find(ctx.accountId, jobId)
  if (!job) throw jobNotFound(jobId)
  return job
}

/** Finds jobs with all fields, newest first. */
export const findTrainingJobs = (ctx: Ctx, jobIds: readonly number[]): Promise<TrainingJob[]> =>
  ctx.deps.database.trainingJobs.findMany(ctx.accountId, jobIds)

/** `history` is a JSON list of the reported steps. @throws ServiceError not_found */
export async function getTrainingJob({
  ctx,
  input: { jobId },
}: {
  ctx: Ctx
  input: { jobId: number }
}): Promise<{ job: TrainingJob; history: string }> {
  const job = await findTrainingJob(ctx, jobId)
  return { job, history: await historyText(ctx.deps.database, jobId) }
}
