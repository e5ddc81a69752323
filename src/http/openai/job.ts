// Translates a training job into OpenAI's format. docs/openai.md has the same tables.
import { isGiven, type MethodRequest } from '../../domain/method-request.ts'
import { resolvedHyperparameters, shownMethod } from '../../domain/training-method.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { jobDisplayName } from '../../domain/display-name.ts'
import { fineTunedName } from '../../domain/model-reference.ts'
import type { TrainingJobStatus } from '../../domain/training-job-status.ts'
import type { JobEvent, TrainingJob } from '../../domain/training-job.ts'
import type { Ctx } from '../../services/context.ts'
import { fileIdOf } from '../../services/files/find-file.ts'
import { resultFileId } from '../../services/files/result-file.ts'
import { describeTrainingJobs, type DescribedJob } from '../../services/training-jobs/describe.ts'
import { jobPrefix, type FineTuningJob, type FineTuningRequest, type openAiStatuses } from './fine-tuning-schemas.ts'
import { shownIntegration } from '../lamini/schemas/integrations.ts'
import { seconds } from './generation.ts'

/** Of what a reinforcement job is rewarded by. */
const listedTaskCharacters = 16_384

type OpenAiStatus = (typeof openAiStatuses)[number]

const statuses = {
  CREATED: 'validating_files',
  QUEUED: 'queued',
  'LOADING DATA': 'running',
  'TRAINING MODEL': 'running',
  'SAVING MODEL': 'running',
  'EVALUATING MODEL': 'running',
  COMPLETED: 'succeeded',
  // A partially completed job has a usable model.
  'PARTIALLY COMPLETED': 'succeeded',
  CANCELLED: 'cancelled',
  FAILED: 'failed',
} as const satisfies Record<TrainingJobStatus, OpenAiStatus>

/** A cancelled job reads cancelled at once. A paused job reads paused only after its release, when it can be resumed. */
function statusOf({ status, cancelRequestedAt, pauseRequestedAt }: TrainingJob): OpenAiStatus {
  if (pauseRequestedAt) return status === 'CANCELLED' ? 'paused' : statuses[status]
  return cancelRequestedAt ? 'cancelled' : statuses[status]
}

/** As a list has them: without long graders, which would multiply. */
export const listedJobsOf = (ctx: Ctx, jobs: readonly TrainingJob[]) => jobsOf(ctx, jobs.map(withoutLongTask))

async function jobsOf(ctx: Ctx, jobs: readonly TrainingJob[]): Promise<FineTuningJob[]> {
  const details = await describeTrainingJobs({ ctx, input: { jobIds: jobs.map(({ id }) => id) } })
  return jobs.map((job) => ({ ...withoutSteps(ctx, job), ...stepsIn(job, details.get(job.id)) }))
}

export async function jobOf(ctx: Ctx, job: TrainingJob): Promise<FineTuningJob> {
  const [answer] = await jobsOf(ctx, [job])
  if (!answer) throw new Error('a job has no answer')
  return answer
}

function withoutLongTask(job: TrainingJob): TrainingJob {
  const { method } = job.spec
  if (!method?.task || JSON.stringify(method.task).length <= listedTaskCharacters) return job
  const { task: _task, ...listed } = method
  return { ...job, spec: { ...job.spec, method: listed } }
}

function stepsIn(job: TrainingJob, details: DescribedJob | undefined) {
  const { progress = null, lastStep = null } = details ?? {}
  const hasEnded = job.finishedAt !== null && statusOf(job) !== 'paused'
  const remainingSeconds = progress?.remainingSeconds ?? null
  return {
    display_name: details ? jobDisplayName(details) : `job ${job.id}`,
    result_files: hasEnded && lastStep ? [resultFileId(job.id)] : [],
    trained_tokens: hasEnded ? (progress?.tokens ?? null) : null,
    estimated_finish: remainingSeconds === null ? null : seconds(new Date()) + Math.ceil(remainingSeconds),
  }
}

function withoutSteps(ctx: Ctx, job: TrainingJob) {
  const { spec, modelName, finishedAt } = job
  const entry = ctx.deps.catalogue.find(job.baseModel)
  const status = statusOf(job)
  return {
    id: jobPrefix + job.id,
    object: 'fine_tuning.job' as const,
    created_at: seconds(job.createdAt),
    finished_at: finishedAt && status !== 'paused' ? seconds(finishedAt) : null,
    model: spec.startFrom?.modelName ?? job.baseModel,
    fine_tuned_model: modelName && nameOfTuned(job, modelName),
    organization_id: job.accountId,
    status,
    hyperparameters: resolvedHyperparameters(spec, entry),
    method: shownMethod(spec, entry),
    training_file: job.datasetId,
    ...(spec.sources && { datasets: spec.sources.map(({ datasetId, weight }) => ({ dataset_id: datasetId, weight })) }),
    validation_file: fileOfKey(spec.evaluationKey),
    error: job.status === 'FAILED' ? errorOf(job) : null,
    user_provided_suffix: job.customModelName,
    seed: spec.args.seed,
    metadata: spec.metadata ?? null,
    integrations: (spec.trackers ?? []).map(shownIntegration),
  }
}

/** The name of the job's model. */
export const nameOfTuned = ({ baseModel, accountId, customModelName: customName }: TrainingJob, name: string) =>
  fineTunedName({ baseModel, name }, { accountId, customName })

const errorOf = ({ statusReason, statusMessage }: TrainingJob) => ({
  code: statusReason ?? 'failed',
  message: statusMessage ?? 'The job failed.',
  param: statusReason === 'data_error' ? 'training_file' : null,
})

/**
 * The method of the request; the hyperparameters of supervised training may also stand at the older place.
 * @throws ServiceError invalid_input for those of another method
 */
export function methodOf({ method, hyperparameters }: FineTuningRequest): MethodRequest | null {
  if (!hyperparameters) return method ?? null
  const type = method?.type ?? 'supervised'
  if (type !== 'supervised')
    throw invalidInput(
      'hyperparameters',
      `hyperparameters is not read beside method: put it into method.${type}.hyperparameters.`,
    )
  const newer: Record<string, unknown> = method?.supervised?.hyperparameters ?? {}
  const given = Object.entries(newer).filter(([, value]) => isGiven(value))
  return { ...method, type, supervised: { hyperparameters: { ...hyperparameters, ...Object.fromEntries(given) } } }
}

function fileOfKey(key: string | null): string | null {
  const versionId = /^inline\/[^/]+\/([0-9a-f-]{36})\//.exec(key ?? '')?.[1]
  return versionId === undefined ? null : fileIdOf(versionId)
}

/** Notes that report what was asked for. */
const welcomeNotes = ['best_kept', 'stopped_early', 'reference_ready']

export function eventOf({ id, at, kind, status, attempt, reason, message }: JobEvent) {
  const isWarning = kind === 'note' && !welcomeNotes.includes(reason ?? '')
  const level = status === 'FAILED' ? ('error' as const) : isWarning ? ('warn' as const) : ('info' as const)
  return {
    id: `ftevent-${id}`,
    object: 'fine_tuning.job.event' as const,
    created_at: seconds(at),
    level,
    message: message ?? (status ? `The job is ${statuses[status]} (${status}).` : `${kind}: ${reason ?? 'noted'}`),
    type: 'message' as const,
    data: { kind, ...(status && { status }), ...(reason !== null && { reason }), ...(attempt !== null && { attempt }) },
  }
}
