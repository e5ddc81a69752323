import { checkpointDisplayName, jobDisplayName } from '../../domain/display-name.ts'
import { checkpointName } from '../../domain/model-reference.ts'
import type { Artifact, TrainingJob } from '../../domain/training-job.ts'
import type { TrainingStep } from '../../domain/training-step.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

/** `isFullyValidated`: the validation after its step took every held-out row. */
type Checkpoint = {
  artifact: Artifact
  step: TrainingStep | undefined
  isFullyValidated: boolean
  modelName: string
  displayName: string
}

const maxCheckpoints = 1000

/** Lists the published model, then the usable checkpoints, newest first. @throws ServiceError not_found */
export async function listCheckpoints({
  ctx,
  input,
}: {
  ctx: Ctx
  input: { jobId: number }
}): Promise<{ job: TrainingJob; checkpoints: Checkpoint[] }> {
  const { artifacts, jobDetails, trainingSteps } = ctx.deps.database
  const job = await findTrainingJob(ctx, input.jobId)
  const saved = await artifacts.listUsable(job.id, 'checkpoint', maxCheckpoints)
  const model = job.modelName === null ? null : await artifacts.newestModel(job.id)
  const reported = await trainingSteps.find(
    job.id,
    saved.concat(model ?? []).map(({ step }) => step),
  )
  const [named] = await jobDetails.describe(ctx.accountId, [job.id])
  const jobName = named ? jobDisplayName(named) : `job ${job.id}`
  const steps = new Map(reported.map((each) => [each.step, each]))
  const checkpoints = [...(model ? [model] : []), ...saved].map((artifact) => {
    const own = artifact === model ? job.modelName : null
    const modelName = own ?? checkpointName(job.id, artifact.step)
    const step = steps.get(artifact.step)
    const isFullyValidated = step?.valid_rows === job.preparedData?.evaluation.rowCount
    const displayName = own === null ? checkpointDisplayName(jobName, artifact.step) : jobName
    return { artifact, step, isFullyValidated, modelName, displayName }
  })
  return { job, checkpoints }
}
