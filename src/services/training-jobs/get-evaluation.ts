import { ServiceError } from '../../domain/service-error.ts'
import type { EvaluationRow, TrainingJob } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

/** @throws ServiceError not_found, conflict for a job without an evaluation */
export async function getEvaluation({
  ctx,
  input: { jobId },
}: {
  ctx: Ctx
  input: { jobId: number }
}): Promise<{ job: TrainingJob; tunedModelName: string; baseModelName: string; rows: EvaluationRow[] }> {
  const { database } = ctx.deps
  const job = await findTrainingJob(ctx, jobId)
  const model = job.modelName === null ? null : await database.models.find(ctx.accountId, job.modelName)
  const rows = model ? await database.artifacts.listEvaluation(model.artifactId) : []
  if (!model || rows.length === 0)
    throw new ServiceError(
      'conflict',
      `Job ${jobId} is ${job.status} and has no evaluation results${job.finishedAt ? '' : ' yet'}.`,
    )
  return { job, tunedModelName: model.name, baseModelName: model.baseModel, rows }
}
