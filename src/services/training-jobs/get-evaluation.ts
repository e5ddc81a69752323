import { ServiceError } from '../../domain/service-error.ts'
import type { EvaluationRow, TrainingJob } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'
import { readEvaluation } from './read-evaluation.ts'
import type { ScoredEvaluation } from './score-evaluation.ts'

type JobEvaluation = {
  job: TrainingJob
  tunedModelName: string
  baseModelName: string
  rows: EvaluationRow[]
  /** Null when scoring takes too much time or memory. */
  scored: ScoredEvaluation | null
}

/** @throws ServiceError not_found, conflict for a job without an evaluation */
export async function getEvaluation({
  ctx,
  input: { jobId },
}: {
  ctx: Ctx
  input: { jobId: number }
}): Promise<JobEvaluation> {
  const { deps, accountId } = ctx
  const job = await findTrainingJob(ctx, jobId)
  const model = job.modelName === null ? null : await deps.database.models.find(accountId, job.modelName)
  const graders = job.spec.evaluation?.graders ?? null
  const evaluation =
    model && (await readEvaluation(deps, { accountId, modelName: model.name, artifactId: model.artifactId, graders }))
  if (!evaluation)
    throw new ServiceError(
      'conflict',
      `Job ${jobId} is ${job.status} and has no evaluation results${job.finishedAt ? '' : ' yet'}.`,
    )
  return { job, tunedModelName: model.name, baseModelName: model.baseModel, ...evaluation }
}
