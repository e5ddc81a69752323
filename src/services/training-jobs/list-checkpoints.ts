import type { Artifact, TrainingJob, TrainingStep } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { getTrainingJob } from './get.ts'

type Checkpoint = { artifact: Artifact; step: TrainingStep | undefined; modelName: string | null }

const maxCheckpoints = 1000

/** Lists the published model, then the usable checkpoints, newest first. @throws ServiceError not_found */
export async function listCheckpoints({
  ctx,
  input,
}: {
  ctx: Ctx
  input: { jobId: number }
}): Promise<{ job: TrainingJob; checkpoints: Checkpoint[] }> {
  const { artifacts } = ctx.deps.database
  const { job, history } = await getTrainingJob({ ctx, input })
  const saved = await artifacts.listUsable(job.id, 'checkpoint', maxCheckpoints)
  const model = job.modelName === null ? null : await artifacts.newestModel(job.id)
  const steps = new Map(history.map((each) => [each.step, each]))
  const checkpoints = [...(model ? [model] : []), ...saved].map((artifact) => {
    const modelName = artifact === model ? job.modelName : null
    return { artifact, step: steps.get(artifact.step), modelName }
  })
  return { job, checkpoints }
}
