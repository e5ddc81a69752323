import { assertNever } from '../../domain/assert-never.ts'
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import type { DataSource } from '../../domain/data-sources.ts'
import type { Grader } from '../../domain/grader.ts'
import { canBeAsked } from '../../domain/model-reference.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { resolveSharding } from '../../domain/base-sharding.ts'
import { resolveTrainingArgs, type FinetuneArgs, type TrainingNote } from '../../domain/training-args.ts'
import type { MethodRequest } from '../../domain/method-request.ts'
import { resolveMethod, type TrainingMethod } from '../../domain/training-method.ts'
import type { TrackerRequest } from '../../domain/tracker.ts'
import type { EvaluationSettings, TrainingSpec } from '../../domain/training-job.ts'
import type { Acceptance, AcceptanceRequest } from '../../repositories/job-acceptance.ts'
import { requireChatTemplate } from '../completions/read-input.ts'
import type { Ctx } from '../context.ts'
import { keyIsTaken, orFirstAnswer, requireFreeKey, type Idempotency } from '../idempotency.ts'
import { acceptUpload, acceptWithinQuota, noRoomForJob, requireRoomForRollouts } from '../limits/account-quotas.ts'
import type { ReceivedRows } from '../datasets/ingest-rows.ts'
import { resolveSources } from '../datasets/resolve-several.ts'
import {
  findReferenced,
  nothingUploaded,
  placeOf,
  resolveDataset,
  rowsLeft,
  type DatasetReference,
} from '../datasets/resolve.ts'
import { trackersOf, type Integration } from '../trackers/accept.ts'
import { notesOnAnswers, requireBoundedSampling, requireRowsOfStep } from './bounded-sampling.ts'
import { isFitKnown, requireFit } from './require-fit.ts'
import { checkFirstRows, resolveTask } from './reward-task.ts'
import { specHash } from './spec-hash.ts'
import { findStartModel, withShape, type FoundStart } from './start-model.ts'

export type SubmitTrainingJobInput = DatasetReference & {
  modelName: string
  /** Evaluation rows from the request's body. */
  evaluationRows?: ReceivedRows | undefined
  evaluation?: EvaluationSettings | undefined
  /** Start a training that does not fit into the memory of the model's GPUs. */
  isForced?: boolean | undefined
  /** Train on the good rows and leave the bad ones out. */
  skipBadRows?: boolean | undefined
  finetuneArgs: FinetuneArgs
  /** Supervised when absent. */
  method?: MethodRequest | null | undefined
  /** What to tell about the arguments as they were sent. */
  notes?: readonly TrainingNote[] | undefined
  gpuConfig: { gpus?: number | null | undefined; nodes?: number | null | undefined }
  isPublic: boolean
  customModelName: string | null
  /** Stored with the job and returned with it. */
  metadata?: Record<string, string> | undefined
  integrations?: readonly Integration[] | undefined
}

/** The answer to a submit and to its repeats. */
export type SubmittedTrainingJob = { jobId: number; status: 'CREATED'; datasetId: string; warnings: string[] }

type GpuConfig = SubmitTrainingJobInput['gpuConfig']
type Submission = { ctx: Ctx; input: SubmitTrainingJobInput; idempotency: Idempotency }

/**
 * Accepts a job: one row and its start message, committed together.
 * @throws ServiceError model_not_found, invalid_input, does_not_fit, quota_exceeded, idempotency_mismatch
 */
export const submitTrainingJob = (submission: Submission): Promise<SubmittedTrainingJob> =>
  orFirstAnswer(submission.ctx, submission.idempotency, () => submit(submission))

async function submit(submission: Submission): Promise<SubmittedTrainingJob> {
  const { ctx, input } = submission
  const asked = await resolveTraining(ctx, input)
  const fitting = fittingOf(ctx, input, asked)
  await requireFit(ctx, fitting, null)
  if (asked.method?.task) await requireRoomForRollouts(ctx)
  const areChecked = await checkRowsOfRequest(ctx, input, asked.method)
  const upload = await findUpload(submission, asked.method)
  await requireFit(ctx, fitting, upload.sources ? upload.sources.map(uploadOf) : [upload])
  const left = upload.leavesRows ? [rowsLeft(upload.datasetId ?? '')] : []
  const resolved = { ...asked, notes: [...asked.notes, ...left] }
  if (asked.method?.task && !areChecked) await checkFirstRows(ctx, asked.method.task, dataOf(upload))
  const acceptance = await accept(submission, resolved, upload)
  if (acceptance.outcome !== 'unseen') return answerTo(submission, { upload, resolved }, acceptance)
  const { datasetId } = acceptance
  const found = { ...upload, datasetId, wasSeen: true }
  if (!(await acceptUpload(ctx, upload))) throw nothingUploaded('upload_file_path', datasetId)
  return answerTo(submission, { upload: found, resolved }, await accept(submission, resolved, found))
}

/** @throws ServiceError model_not_found, invalid_input */
export async function resolveTraining(ctx: Ctx, input: SubmitTrainingJobInput): Promise<Resolved> {
  const { entry, startFrom, shape, learned } = await findStartModel(ctx, input.modelName)
  checkGpuConfig(ctx, input.gpuConfig)
  if (input.evaluation?.graders) await checkGraders(ctx, input.evaluation.graders)
  if (input.evaluation?.asChat) requireChatTemplate(entry, 'evaluation.as_chat')
  const trackers = trackersOf(ctx, input.integrations ?? [])
  const { method: asked, finetuneArgs, recommendedArgs } = resolveMethod(input, entry)
  const recommended = { ...entry, recommendedArgs: { ...entry.recommendedArgs, ...recommendedArgs } }
  const { notes, ...args } = resolveTrainingArgs(withShape(finetuneArgs, shape, entry), recommended)
  if (asked?.type === 'reinforcement') requireBoundedSampling(asked, args.args, entry)
  if (asked) requireRowsOfStep(asked, args.args)
  resolveSharding({ args: args.args, method: asked }, args.givenArgs)
  const method = await withTask(ctx, asked, { sent: input.method, entry })
  const told = [
    ...(input.notes ?? []),
    ...notes,
    ...(asked?.type === 'reinforcement' ? notesOnAnswers(asked) : []),
    ...gpuNotes(ctx, input.gpuConfig),
    ...nameNotes(ctx, input.customModelName),
  ]
  return { entry, startFrom, learned, trackers, method, ...args, notes: told }
}

async function withTask(
  ctx: Ctx,
  method: TrainingMethod | null,
  { sent, entry }: { sent: MethodRequest | null | undefined; entry: CatalogueEntry },
): Promise<TrainingMethod | null> {
  if (method?.type !== 'reinforcement') return method
  return { ...method, task: await resolveTask(ctx, sent?.reinforcement ?? {}, method.hyperparameters, entry) }
}

type Resolved = Pick<FoundStart, 'entry' | 'startFrom' | 'learned'> & {
  trackers: TrackerRequest[]
  method: TrainingMethod | null
} & ReturnType<typeof resolveTrainingArgs>
type Upload = AcceptanceRequest['version'] & { leavesRows?: boolean; sources?: DataSource[] }

const dataOf = ({ uploadKey, sources }: Upload) =>
  sources?.map(({ dataKey: key, datasetId: set }) => ({ key, set })) ?? [{ key: uploadKey }]

const uploadOf = ({ versionId: id, dataKey: uploadKey }: DataSource) => ({ id, uploadKey })

const fittingOf = (
  { deps }: Ctx,
  { gpuConfig, isForced = false }: SubmitTrainingJobInput,
  { entry, args, method }: Resolved,
) => ({ entry, args, method, isForced, gpus: askedGpus(deps.settings, gpuConfig), nodes: gpuConfig.nodes ?? 1 })

/** A data set is made of the rows of a request only when graders can read them. @returns whether they were read. @throws ServiceError invalid_input */
async function checkRowsOfRequest(
  ctx: Ctx,
  input: SubmitTrainingJobInput,
  method: TrainingMethod | null,
): Promise<boolean> {
  if (!method?.task || !input.rows) return false
  const { storedCollection, version } = await findReferenced(ctx, input)
  const isNew = storedCollection === null && version === null
  if (isNew) await checkFirstRows(ctx, method.task, [{ key: input.rows.key }])
  return isNew
}

/** A location names its upload without a query: the acceptance then looks for the row, unless rows are read before it. */
async function findUpload({ ctx, input, idempotency }: Submission, method: TrainingMethod | null): Promise<Upload> {
  const named = method?.task ? null : placeOf(ctx, input)
  if (named) return { ...named, datasetId: input.datasetId, wasSeen: false }
  if (input.sets) {
    const sources = await resolveSources(ctx, input.sets)
    const [{ datasetId, versionId: id, dataKey: uploadKey }] = sources
    return { id, uploadKey, datasetId, wasSeen: true, sources }
  }
  // Rows in the request become a data set before the job is accepted: a repeat must not make a second one.
  await requireFreeKey(ctx, idempotency)
  return { ...(await resolveDataset(ctx, input)), wasSeen: true }
}

const accept = ({ ctx, input, idempotency }: Submission, resolved: Resolved, version: Upload) =>
  acceptWithinQuota(ctx, {
    job: newJob(ctx, input, resolved, version),
    version,
    otherVersionIds: [
      ...(version.sources ?? []).slice(1).map(({ versionId }) => versionId),
      ...(input.evaluationRows ? [input.evaluationRows.versionId] : []),
    ],
    idempotency,
    origin: ctx.origin,
    person: ctx.person ?? null,
  })

async function answerTo(
  { ctx, input }: Submission,
  { upload: { datasetId = '', wasSeen }, resolved }: { upload: Upload; resolved: Resolved },
  acceptance: Acceptance,
): Promise<SubmittedTrainingJob> {
  switch (acceptance.outcome) {
    case 'accepted':
      return {
        jobId: acceptance.jobId,
        status: 'CREATED',
        datasetId: acceptance.datasetId,
        warnings: resolved.notes.map(({ message }) => message),
      }
    case 'no_room':
      throw noRoomForJob(ctx)
    case 'key_taken':
      // The job of the first request has its own copy of these rows.
      if (input.rows) input.rows.kept = 'no'
      throw keyIsTaken()
    case 'no_data':
    case 'unseen':
      // Throws the reason why the location names no upload.
      if (!wasSeen) await resolveDataset(ctx, input)
      throw invalidInput('dataset_id', `The data set "${datasetId}" was deleted meanwhile.`)
    default:
      return assertNever(acceptance)
  }
}

function newJob(
  ctx: Ctx,
  input: SubmitTrainingJobInput,
  resolved: Resolved,
  { uploadKey, sources }: Upload,
): AcceptanceRequest['job'] {
  const { accountId, apiKeyId, deps } = ctx
  const { customModelName, isPublic, metadata, evaluationRows, evaluation, skipBadRows } = input
  const { entry, startFrom, trackers, method, args, givenArgs, notes } = resolved
  const { resumeLimit } = deps.settings
  const fitting = fittingOf(ctx, input, resolved)
  const asked = {
    gpus: fitting.gpus,
    nodes: fitting.nodes,
    ...(isFitKnown(fitting) && entry.shape && { shape: entry.shape }),
    ...(metadata && { metadata }),
    ...(evaluation && { evaluation }),
    ...(method && { method }),
    ...(skipBadRows && { skipBadRows }),
    ...(trackers.length > 0 && { trackers }),
  }
  const data = { dataKey: uploadKey, evaluationKey: evaluationRows?.key ?? null, ...(sources && { sources }) }
  const warnings = notes.map(({ message }) => message)
  const told = { ...(startFrom && { startFrom }), ...(warnings.length > 0 && { warnings }) }
  const spec = { baseModel: frozen(entry), args, givenArgs, ...asked, ...data, ...told }
  const job = { accountId, apiKeyId, baseModel: entry.name, customModelName, isPublic, resumeLimit }
  return { ...job, spec, specHash: specHash(spec), notes }
}

/** Such names were always accepted, so they are noted and not refused. */
function nameNotes({ deps: { catalogue } }: Ctx, name: string | null): TrainingNote[] {
  if (name === null || name === '' || (canBeAsked(name) && !catalogue.find(name))) return []
  const message = `Requests cannot name the model "${name}", because that name means a base model or has another form. Name it by the 64 hex digits of its model_name.`
  return [{ code: 'custom_model_name_unused', message }]
}

/** The answers are scored when they are read, which is too often to ask a judge or to run a program. */
export async function checkGraders({ deps, accountId }: Ctx, graders: readonly Grader[]) {
  await deps.grading.compile(accountId, graders, 'evaluation.graders')
  for (const [index, grader] of graders.entries())
    if (grader.type === 'model' || grader.type === 'python')
      throw invalidInput(
        `evaluation.graders[${index}]`,
        `The grader ${grader.type} ${grader.type === 'model' ? 'asks a model' : 'runs a program'}. After the training, use it with POST /v1/evaluations.`,
      )
}

/** The old platform's default is one GPU, so its users send it; without any GPU the job runs on a CPU. */
const isForCpu = ({ maxGpus }: { maxGpus: number }, { gpus }: GpuConfig) => maxGpus === 0 && gpus === 1

/** @returns null for the number that the base model needs */
export const askedGpus = (settings: { maxGpus: number }, gpuConfig: GpuConfig): number | null =>
  isForCpu(settings, gpuConfig) ? null : (gpuConfig.gpus ?? null)

function gpuNotes(ctx: Ctx, gpuConfig: GpuConfig): TrainingNote[] {
  if (!isForCpu(ctx.deps.settings, gpuConfig)) return []
  return [
    { code: 'gpu_absent', message: 'There is no GPU here, so gpu_config.gpus 1 has no effect: the job runs on a CPU.' },
  ]
}

function checkGpuConfig(ctx: Ctx, gpuConfig: GpuConfig) {
  const { nodes } = gpuConfig
  const { maxGpus, maxNodes } = ctx.deps.settings
  if ((askedGpus(ctx.deps.settings, gpuConfig) ?? 0) > maxGpus)
    throw invalidInput('gpu_config.gpus', `gpu_config.gpus may be at most ${maxGpus} here.`)
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
