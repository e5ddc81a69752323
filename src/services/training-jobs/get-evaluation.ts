import { ServiceError } from '../../domain/service-error.ts'
import type { EvaluationRow, TrainingJob } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'
import type { ScoredEvaluation } from './score-evaluation.ts'

type JobEvaluation = {
  job: TrainingJob
  tunedModelName: string
  baseModelName: string
  rows: EvaluationRow[]
  /** Null when scoring takes too long. */
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
  const { database, evaluationScores } = ctx.deps
  const job = await findTrainingJob(ctx, jobId)
  const model = job.modelName === null ? null : await database.models.find(ctx.accountId, job.modelName)
  const rows = model ? await database.artifacts.listEvaluation(model.artifactId) : []
  if (!model || rows.length === 0)
    throw new ServiceError(
      'conflict',
      `Job ${jobId} is ${job.status} and has no evaluation results${job.finishedAt ? '' : ' yet'}.`,
    )
  const { name: modelName } = model
  const graders = job.spec.evaluation?.graders ?? null
  const scored = await evaluationScores({ accountId: ctx.accountId, modelName }, { rows, graders }).catch(nullIfLate)
  return { job, tunedModelName: modelName, baseModelName: model.baseModel, rows, scored }
}

function nullIfLate(error: unknown): null {
  if (error instanceof ServiceError && error.code === 'invalid_input') return null
  throw error
}
