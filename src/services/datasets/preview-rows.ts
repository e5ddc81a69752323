import type { Columns, RowPreview } from '../../domain/dataset-report.ts'
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import { chatOptionsOf, systemMessageOf } from '../../domain/learned.ts'
import type { MethodName } from '../../domain/method-table.ts'
import type { TokenizedRow } from '../../domain/row-tokens.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { resolveTrainingArgs } from '../../domain/training-args.ts'
import { resolveMethod } from '../../domain/training-method.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import type { Ctx } from '../context.ts'
import { requireScopeNow } from '../authenticate.ts'
import { resolveModel } from '../models/resolve.ts'
import { findDataset } from './find.ts'
import { mostShownRows, showTokens, type Training } from './show-tokens.ts'

type PreviewInput = {
  datasetId: string
  offset: number
  limit: number
  /** The columns to read; null for those that the data set names. */
  columns: Columns | null
  /** The model whose tokenizer and chat template are used; null for the default base model. */
  modelName: string | null
  /** The method that the rows are read for; null for the one that takes the first rows. */
  method: MethodName | null
  /** Whether pairs are shown as chats; absent: if the model learned conversations. */
  asChat?: boolean | undefined
  /** Also shows the rows as tokens, as a training with these arguments would learn them. */
  tokens: TokensWanted | null
}
type TokensWanted = { trainOn: string | undefined; maxLength: number | undefined }

/** `tokens`: of the first rows of the page, in their order. */
type ShownRows = RowPreview & { version: DatasetVersion; tokens: TokenizedRow[] }

/**
 * Reads rows of the newest version. An upload that is not there has none.
 * @throws ServiceError not_found, model_not_found, invalid_input, invalid_token, unavailable; the signal's reason
 */
export async function previewDatasetRows({
  ctx,
  input: { datasetId, modelName, asChat, columns: given, tokens: wanted, ...page },
  signal,
}: {
  ctx: Ctx
  input: PreviewInput
  signal: AbortSignal
}): Promise<ShownRows> {
  const { catalogue, datasets, database } = ctx.deps
  if (wanted && page.limit > mostShownRows)
    throw invalidInput('limit', `limit must be at most ${mostShownRows} with tokens=true.`)
  // The tokens may start a model server, and a key that may only read starts nothing.
  if (wanted) await requireScopeNow(ctx, 'training')
  const { baseModel, learned } = await resolveModel(ctx, modelName ?? catalogue.defaultCompletionModel.name)
  const version = await findDataset({ ctx, input: { datasetId } })
  const chat = chatOptionsOf({ asChat }, learned)
  const pairs = chat && { system: systemMessageOf(chat, learned) }
  const columns = given ?? (await database.datasets.columns(version.id))
  const read = { accountId: ctx.accountId, key: version.uploadKey, ...page, columns }
  const preview = await datasets.preview({ ...read, model: baseModel.name, pairs }, signal)
  if (!preview) return { version, ...noRows, readColumns: columns }
  const { method } = preview
  const prepared = wanted && (await datasets.lines({ ...read, method }, signal))
  const training = wanted && trainingOf(baseModel, method, wanted)
  const tokens = prepared && training ? await showTokens(ctx, { rows: prepared.rows, training }, signal) : []
  return { version, ...preview, tokens }
}

const noRows = {
  ...{ rows: [], tokens: [], method: 'supervised' as const, columns: [] },
  ...{ separator: null, proposedColumns: null, next: null },
}

function trainingOf(entry: CatalogueEntry, type: MethodName, { trainOn, maxLength }: TokensWanted): Training {
  if (trainOn !== undefined && type !== 'supervised')
    throw invalidInput('train_on', `train_on is a hyperparameter of supervised, and these rows are read for ${type}.`)
  const hyperparameters = trainOn === undefined ? {} : { train_on: trainOn }
  const asked = { method: { type, [type]: { hyperparameters } }, finetuneArgs: { max_length: maxLength } }
  const { method, finetuneArgs, recommendedArgs } = resolveMethod(asked, entry)
  const recommended = { ...entry, recommendedArgs: { ...entry.recommendedArgs, ...recommendedArgs } }
  return { entry, method, args: resolveTrainingArgs(finetuneArgs, recommended).args }
}
