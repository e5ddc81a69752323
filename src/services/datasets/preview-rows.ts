import type { Columns, RowPreview } from '../../domain/dataset-report.ts'
import { chatOptionsOf, systemMessageOf } from '../../domain/learned.ts'
import type { DatasetVersion } from '../../repositories/datasets.ts'
import type { Ctx } from '../context.ts'
import { resolveModel } from '../models/resolve.ts'
import { findDataset } from './find.ts'

type PreviewInput = {
  datasetId: string
  offset: number
  limit: number
  /** The columns to read; null for those that the data set names. */
  columns: Columns | null
  /** The model whose tokenizer and chat template are used; null for the default base model. */
  modelName: string | null
  /** Whether pairs are shown as chats; absent: if the model learned conversations. */
  asChat?: boolean | undefined
}

/**
 * Reads rows of the newest version. An upload that is not there has none.
 * @throws ServiceError not_found, model_not_found; the signal's reason
 */
export async function previewDatasetRows({
  ctx,
  input: { datasetId, modelName, asChat, columns: given, ...page },
  signal,
}: {
  ctx: Ctx
  input: PreviewInput
  signal: AbortSignal
}): Promise<RowPreview & { version: DatasetVersion }> {
  const { catalogue, datasets } = ctx.deps
  const { baseModel, learned } = await resolveModel(ctx, modelName ?? catalogue.defaultCompletionModel.name)
  const version = await findDataset({ ctx, input: { datasetId } })
  const chat = chatOptionsOf({ asChat }, learned)
  const pairs = chat && { system: systemMessageOf(chat, learned) }
  const columns = given ?? (await ctx.deps.database.datasets.columns(version.id))
  const task = { accountId: ctx.accountId, key: version.uploadKey, ...page, columns, model: baseModel.name, pairs }
  const preview = await datasets.preview(task, signal)
  const none = { rows: [], columns: [], readColumns: columns, separator: null, proposedColumns: null, next: null }
  return { version, ...(preview ?? none) }
}
