// The card of a tuned model: one text for the README.md of its exports, the console and the command line.
import { datasetDisplayName } from '../../domain/display-name.ts'
import { sha256Hex } from '../../domain/identifiers.ts'
import { modelCardText, type CardFacts } from '../../domain/model-card.ts'
import type { ExportedFile, ExportFormat } from '../../domain/model-export.ts'
import { storageKeys } from '../../domain/storage-keys.ts'
import type { ModelVersion, TrainingJob, TunedModel } from '../../domain/training-job.ts'
import type { Ctx } from '../context.ts'
import { modelDisplayName } from './display-name.ts'
import { findTunedModel, modelNotFound } from './find-tuned.ts'
import { withScores } from './version-scores.ts'

/** Long enough for graders that ask the embedding model. A card without scores names them as missing. */
const patienceMs = 5000

/** `reference`: the name that a request found the model under, which may name a checkpoint. */
export type NamedModel = { reference: string; model: TunedModel }

/** `url` works for a short time and needs no key. */
export type LinkedFile = ExportedFile & { url: string }

/** @throws ServiceError model_not_found, invalid_input for a base model */
export async function describeCard({ ctx, input: { name } }: { ctx: Ctx; input: { name: string } }) {
  const model = await findTunedModel(ctx, name)
  const facts = await gatherFacts(ctx, { reference: name, model })
  return { modelName: model.name, displayName: facts.name, text: modelCardText(facts, 'adapter') }
}

/** Keeps the card beside the adapter's files, and makes a short-lived URL for it. */
export async function linkCard(ctx: Ctx, named: NamedModel, format: ExportFormat): Promise<LinkedFile> {
  const { storage } = ctx.deps
  const bytes = Buffer.from(modelCardText(await gatherFacts(ctx, named), format))
  const sha256 = sha256Hex(bytes)
  const key = storageKeys.card(named.model.files[0]?.key ?? '', sha256)
  await storage.writeIfAbsent(key, bytes)
  return { name: 'README.md', sizeBytes: bytes.length, sha256, url: await storage.presignDownload(key) }
}

async function gatherFacts(ctx: Ctx, { reference, model }: NamedModel): Promise<CardFacts> {
  const { deps, accountId } = ctx
  const { database, catalogue, settings } = deps
  const [job, version, name] = await Promise.all([
    database.trainingJobs.find(accountId, model.jobId),
    scoredVersion(ctx, model),
    modelDisplayName(ctx, reference, model),
  ])
  if (!job) throw modelNotFound(reference)
  const { name: baseName, source } = job.spec.baseModel
  const license = catalogue.find(model.baseModel)?.license
  return {
    name,
    modelName: model.name,
    jobId: job.id,
    madeAt: model.createdAt,
    base: { name: baseName, source, ...(license !== undefined && { license }) },
    parent: parentOf(version),
    data: await dataOf(ctx, job),
    learned: model.learned ?? null,
    args: job.spec.args,
    method: job.spec.method ?? null,
    givenArgs: [...job.spec.givenArgs, ...(job.spec.method?.given ?? [])],
    evaluation: version && version.evaluatedRows > 0 ? { rows: version.evaluatedRows, scores: version.scores } : null,
    release: settings.release,
  }
}

/** Null for a checkpoint, which is not published and was not evaluated. */
async function scoredVersion(ctx: Ctx, { name }: TunedModel): Promise<ModelVersion | null> {
  const version = await ctx.deps.database.modelNames.describe(ctx.accountId, name)
  const [scored] = version ? await withScores(ctx, [version], { atMostMs: patienceMs }) : []
  return scored ?? null
}

function parentOf(version: ModelVersion | null): string | null {
  const parent = version?.parent
  if (!parent) return null
  return parent.name === null ? parent.modelName : `${parent.name}@${parent.version}`
}

async function dataOf({ deps: { database }, accountId }: Ctx, job: TrainingJob): Promise<CardFacts['data']> {
  const { id, datasetId, datasetVersionId, preparedData, spec } = job
  const rest = { rows: preparedData, hasOwnEvaluation: spec.evaluationKey !== null }
  if (spec.sources) {
    const name = spec.sources.map((source) => `${source.datasetId} (weight ${source.weight})`).join(', ')
    return { name, id: name, ...rest }
  }
  const version = await database.datasets.findVersion(accountId, datasetVersionId)
  const [details] = await database.jobDetails.describe(accountId, [id])
  return {
    name: datasetDisplayName({ datasetId, fileName: details?.fileName ?? null }),
    id: datasetId,
    version: version?.version ?? null,
    ...rest,
  }
}
