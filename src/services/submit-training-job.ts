import { canonicalJson, fineTuneWorkflowId, sha256Hex } from '../domain/identifiers.ts'
import { invalidInput, ServiceError } from '../domain/service-error.ts'
import { resolveTrainingArgs, type FinetuneArgs, type TrainingNote } from '../domain/training-args.ts'
import type { CatalogueEntry } from '../domain/catalogue.ts'
import type { TrainingSpec } from '../domain/training-job.ts'
import { recordAudit } from './audit.ts'
import type { Ctx } from './context.ts'
import { once, type Idempotency } from './idempotency.ts'
import { requireRoomForJob } from './limits/account-quotas.ts'
import type { ReceivedRows } from './receive-rows.ts'
import { resolveDataset, type DatasetReference } from './resolve-dataset.ts'

export type SubmitTrainingJobInput = DatasetReference & {
  modelName: string
  /** Rows to evaluate on that came inside the request. */
  evaluationRows?: ReceivedRows | undefined
  finetuneArgs: FinetuneArgs
  gpuConfig: { gpus?: number | null | undefined; nodes?: number | null | undefined }
  isPublic: boolean
  customModelName: string | null
}

/** What the submit answers, the first time and on a replay. */
export type SubmittedTrainingJob = { jobId: number; status: 'CREATED'; datasetId: string }

/**
 * Accepts a job: one row and its start message, committed together.
 * @throws ServiceError model_not_found, invalid_input
 */
export async function submitTrainingJob({
  ctx,
  input,
  idempotency,
}: {
  ctx: Ctx
  input: SubmitTrainingJobInput
  idempotency: Idempotency
}): Promise<SubmittedTrainingJob> {
  const { database, settings } = ctx.deps
  const entry = findBaseModel(ctx, input.modelName)
  checkGpuConfig(ctx, input.gpuConfig)
  const { args, notes } = resolveTrainingArgs(input.finetuneArgs, entry)
  return once<SubmittedTrainingJob>(ctx, idempotency, async (answer) => {
    const { version, dataKey } = await resolveDataset(ctx, input)
    const spec: TrainingSpec = {
      baseModel: frozen(entry),
      args,
      gpus: input.gpuConfig.gpus ?? null,
      nodes: input.gpuConfig.nodes ?? 1,
      dataKey,
      evaluationKey: input.evaluationRows?.key ?? null,
    }
    return database.transaction(async (tx) => {
      await requireRoomForJob(ctx, tx)
      await tx.datasets.markUsed(version.id)
      // Used, they are not discarded after the answer.
      if (input.evaluationRows) await tx.datasets.markUsed(input.evaluationRows.versionId)
      const job = await tx.trainingJobs.create({
        accountId: ctx.accountId,
        apiKeyId: ctx.apiKeyId,
        datasetId: version.datasetId,
        datasetVersionId: version.id,
        baseModel: entry.name,
        customModelName: input.customModelName,
        isPublic: input.isPublic,
        spec,
        specHash: specHash(spec),
        resumeLimit: settings.resumeLimit,
      })
      await tx.jobEvents.add(
        job.id,
        { kind: 'status', status: 'CREATED', actor: `key:${ctx.apiKeyId}` },
        ...notes.map(noteEvent),
      )
      await tx.outbox.add({
        workflowId: fineTuneWorkflowId(job.id),
        kind: 'start',
        generation: 1,
        payload: { jobId: job.id },
      })
      await recordAudit(tx, ctx, 'job.submit', job.id)
      return answer(tx, { jobId: job.id, status: 'CREATED', datasetId: job.datasetId })
    })
  })
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

const noteEvent = ({ code, message }: TrainingNote) => ({ kind: 'note' as const, reason: code, message, actor: 'api' })
