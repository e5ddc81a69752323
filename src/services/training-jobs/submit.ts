import { assertNever } from '../../domain/assert-never.ts'
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import { canonicalJson, sha256Hex } from '../../domain/identifiers.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import {
  resolveTrainingArgs,
  type FinetuneArgs,
  type TrainingArgs,
  type TrainingNote,
} from '../../domain/training-args.ts'
import type { TrainingSpec } from '../../domain/training-job.ts'
import type { AcceptanceRequest } from '../../repositories/job-acceptance.ts'
import type { Ctx } from '../context.ts'
import { once, orFirstAnswer, takenOver, type Idempotency } from '../idempotency.ts'
import { acceptWithinQuota, noRoomForJob } from '../limits/account-quotas.ts'
import type { ReceivedRows } from '../datasets/ingest-rows.ts'
import { nothingUploaded, placeOf, resolveDataset, type DatasetReference } from '../datasets/resolve.ts'

export type SubmitTrainingJobInput = DatasetReference & {
  modelName: string
  /** Rows to evaluate on that came inside the request. */
  evaluationRows?: ReceivedRows | undefined
  finetuneArgs: FinetuneArgs
  gpuConfig: { gpus?: number | null | undefined; nodes?: number | null | undefined }
  isPublic: boolean
  customModelName: string | null
  /** Kept with the job, to be told again. */
  metadata?: Record<string, string> | undefined
}

/** What the submit answers, the first time and on a replay. */
export type SubmittedTrainingJob = { jobId: number; status: 'CREATED'; datasetId: string }

type Submission = { ctx: Ctx; input: SubmitTrainingJobInput; idempotency: Idempotency }

/**
 * Accepts a job: one row and its start message, committed together.
 * @throws ServiceError model_not_found, invalid_input, quota_exceeded
 */
export const submitTrainingJob = (submission: Submission): Promise<SubmittedTrainingJob> =>
  orFirstAnswer(submission.ctx, submission.idempotency, () => submit(submission))

async function submit(submission: Submission): Promise<SubmittedTrainingJob> {
  const { ctx, input, idempotency } = submission
  const entry = findBaseModel(ctx, input.modelName)
  checkGpuConfig(ctx, input.gpuConfig)
  const resolved = { entry, ...resolveTrainingArgs(input.finetuneArgs, entry) }
  const early = await submitOnSeenData(submission, resolved)
  if (early && 'jobId' in early) return early
  return once<SubmittedTrainingJob>(ctx, idempotency, () => submitOnAnyData(submission, resolved, early))
}

type Resolved = { entry: CatalogueEntry; args: TrainingArgs; notes: TrainingNote[] }

/** An upload that nobody has looked at yet; the look is under way. */
type Unseen = { version: { id: string; uploadKey: string; datasetId: string }; wasSeen: Promise<boolean> }

/**
 * In one round trip, when the upload is known to be there: a job was accepted on it, or it was checked.
 * @returns null when the data is none, or another kind
 */
async function submitOnSeenData(
  { ctx, input, idempotency }: Submission,
  resolved: Resolved,
): Promise<SubmittedTrainingJob | Unseen | null> {
  const place = input.evaluationRows ? null : placeOf(ctx, input)
  if (!place) return null
  const acceptance = await acceptWithinQuota(ctx, {
    job: newJob(ctx, input, resolved, { dataKey: place.uploadKey, evaluationKey: null }),
    version: { ...place, datasetId: input.datasetId, wasSeen: false },
    idempotency: idempotency && { ...idempotency, isClaimed: false },
    origin: ctx.origin,
  })
  if (acceptance.outcome === 'accepted') return answerOf(acceptance)
  if (acceptance.outcome === 'unseen') return look(ctx, { ...place, datasetId: acceptance.datasetId })
  if (acceptance.outcome === 'no_room') throw noRoomForJob(ctx)
  return null
}

function look(ctx: Ctx, version: Unseen['version']): Unseen {
  const wasSeen = ctx.deps.storage.stat(version.uploadKey).then((object) => object !== null)
  // Reported where it is awaited, if it is.
  wasSeen.catch(() => undefined)
  return { version, wasSeen }
}

async function lookedAt({ version, wasSeen }: Unseen) {
  if (!(await wasSeen)) throw nothingUploaded('upload_file_path', version.datasetId)
  return { version, dataKey: version.uploadKey }
}

async function submitOnAnyData({ ctx, input, idempotency }: Submission, resolved: Resolved, unseen: Unseen | null) {
  const { version, dataKey } = await (unseen ? lookedAt(unseen) : resolveDataset(ctx, input))
  const { evaluationRows } = input
  const acceptance = await acceptWithinQuota(ctx, {
    job: newJob(ctx, input, resolved, { dataKey, evaluationKey: evaluationRows?.key ?? null }),
    version: { id: version.id, uploadKey: version.uploadKey, wasSeen: true },
    // Used, they are not discarded after the answer.
    evaluationVersionId: evaluationRows?.versionId,
    idempotency: idempotency && { ...idempotency, isClaimed: true },
    origin: ctx.origin,
  })
  switch (acceptance.outcome) {
    case 'accepted':
      return answerOf(acceptance)
    case 'no_room':
      throw noRoomForJob(ctx)
    case 'key_taken':
      throw takenOver()
    case 'no_data':
    case 'unseen':
      throw invalidInput('dataset_id', `The data set "${version.datasetId}" was deleted meanwhile.`)
    default:
      return assertNever(acceptance)
  }
}

const answerOf = ({ jobId, datasetId }: { jobId: number; datasetId: string }): SubmittedTrainingJob => ({
  jobId,
  status: 'CREATED',
  datasetId,
})

function newJob(
  { accountId, apiKeyId, deps }: Ctx,
  { gpuConfig, customModelName, isPublic, metadata }: SubmitTrainingJobInput,
  { entry, args, notes }: Resolved,
  data: Pick<TrainingSpec, 'dataKey' | 'evaluationKey'>,
): AcceptanceRequest['job'] {
  const asked = { gpus: gpuConfig.gpus ?? null, nodes: gpuConfig.nodes ?? 1, ...(metadata && { metadata }) }
  const spec = { baseModel: frozen(entry), args, ...asked, ...data }
  const { resumeLimit } = deps.settings
  const job = { accountId, apiKeyId, baseModel: entry.name, customModelName, isPublic, resumeLimit }
  return { ...job, spec, specHash: specHash(spec), notes }
}

function findBaseModel(ctx: Ctx, name: string): CatalogueEntry {
  const entry = ctx.deps.catalogue.find(name)
  if (entry?.task === 'completion') return entry
  if (entry) throw invalidInput('model_name', `"${name}" is an embedding model and cannot be fine-tuned.`)
  throw new ServiceError(
    'model_not_found',
    `There is no base model "${name}": GET /v1/models lists what can be fine-tuned.`,
  )
}

function checkGpuConfig(ctx: Ctx, { gpus, nodes }: SubmitTrainingJobInput['gpuConfig']) {
  const { maxGpus, maxNodes } = ctx.deps.settings
  if ((gpus ?? 0) > maxGpus) throw invalidInput('gpu_config.gpus', `gpu_config.gpus may be at most ${maxGpus} here.`)
  if ((nodes ?? 1) > maxNodes)
    throw invalidInput('gpu_config.nodes', `gpu_config.nodes may be at most ${maxNodes} here.`)
}

const frozen = ({ name, source, resources, contextLength, sha256 }: CatalogueEntry): TrainingSpec['baseModel'] => ({
  name,
  source,
  resources,
  contextLength,
  sha256: sha256 ?? null,
})

/** Checkpoints of one hash can be resumed by a job of the same one. */
const specHash = ({ baseModel, args, dataKey }: TrainingSpec) =>
  sha256Hex(
    canonicalJson({
      baseModel: { name: baseModel.name, source: baseModel.source, sha256: baseModel.sha256 },
      args,
      dataKey,
    }),
  )
