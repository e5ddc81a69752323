// Looks into data sets: the list of them, their rows, and the columns that rows are made from.
import type { z } from 'zod'
import type { Columns, ListedDataset, ListedVersion, PreviewedRow, MarkedText } from '../../domain/dataset-report.ts'
import type { TokenizedRow } from '../../domain/row-tokens.ts'
import { datasetDisplayName } from '../../domain/display-name.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { wireTime } from '../../domain/timestamps.ts'
import { listDatasets } from '../../services/datasets/list.ts'
import { listDatasetVersions } from '../../services/datasets/list-versions.ts'
import { mapDatasetColumns } from '../../services/datasets/map-columns.ts'
import { previewDatasetRows } from '../../services/datasets/preview-rows.ts'
import { setDatasetColumns } from '../../services/datasets/set-columns.ts'
import { sequencesOnWire } from '../lamini/schemas/row-tokens.ts'
import { defineRoute } from '../kit/route.ts'
import { ColumnMapping, ColumnReading, ColumnsRead, MappedDataset } from '../lamini/schemas/data-columns.ts'
import {
  DatasetList,
  DatasetListQuery,
  DatasetParams,
  DatasetRows,
  DatasetVersions,
  RowsQuery,
  VersionsQuery,
} from '../lamini/schemas/data.ts'

export const dataSetRoutes = [
  defineRoute({
    name: 'list_datasets',
    method: 'get',
    path: '/v1/data',
    summary: 'List the data sets by id, with their rows, tokens, versions and jobs',
    access: 'key',
    scope: 'read',
    query: DatasetListQuery,
    response: DatasetList,
    async handle({ caller: ctx, query: { after = null, limit } }) {
      const { datasets, next } = await listDatasets({ ctx, input: { after, limit } })
      return { datasets: datasets.map(listed), next }
    },
  }),
  defineRoute({
    name: 'list_dataset_versions',
    method: 'get',
    path: '/v1/data/:dataset_id/versions',
    summary: 'List the versions of a data set, with their rows, sizes and jobs',
    access: 'key',
    scope: 'read',
    params: DatasetParams,
    query: VersionsQuery,
    response: DatasetVersions,
    async handle({ caller: ctx, params, query: { after = null, limit } }) {
      const { versions, next } = await listDatasetVersions({
        ctx,
        input: { datasetId: params.dataset_id, after, limit },
      })
      return { dataset_id: params.dataset_id, versions: versions.map(listedVersion), next }
    },
  }),
  defineRoute({
    name: 'preview_dataset_rows',
    method: 'get',
    path: '/v1/data/:dataset_id/rows',
    summary: 'Show rows of the newest version as the trainer reads them, with the reason of each bad one',
    access: 'key',
    scope: 'read',
    params: DatasetParams,
    query: RowsQuery,
    response: DatasetRows,
    async handle({ caller: ctx, params, query, signal }) {
      const { offset, limit, input_column: column = null, output_column: output } = query
      const { model_name: modelName = null, as_chat: asChat, method = null } = query
      if (column !== null && output === undefined)
        throw invalidInput('output_column', 'Name output_column beside input_column.')
      const asked: Columns | null = output === undefined ? null : { input: column, output }
      const input = {
        ...{ datasetId: params.dataset_id, offset, limit, columns: asked },
        ...{ modelName, method, asChat: asChat && asChat === 'true', tokens: tokensAsked(query) },
      }
      const { version, rows, tokens, readColumns, proposedColumns, ...found } = await previewDatasetRows({
        ctx,
        input,
        signal,
      })
      return {
        ...{ ...found, dataset_id: version.datasetId, version: version.version },
        rows: rows.map((row, index) => previewed(row, tokens[index])),
        ...{ read_columns: readColumns, proposed_columns: proposedColumns },
      }
    },
  }),
  defineRoute({
    name: 'set_dataset_columns',
    method: 'put',
    path: '/v1/data/:dataset_id/columns',
    summary: 'Say which columns of the newest version are read as input and output',
    access: 'key',
    scope: 'data',
    params: DatasetParams,
    body: ColumnReading,
    response: ColumnsRead,
    async handle({ caller: ctx, params, body: { input, output }, signal }) {
      if (input && !output) throw invalidInput('output', 'Name the column of the outputs beside that of the inputs.')
      const columns = output ? { input: input ?? null, output } : null
      const named = { datasetId: params.dataset_id, columns }
      const { datasetId, version } = await setDatasetColumns({ ctx, input: named, signal })
      return { dataset_id: datasetId, version, read_columns: columns }
    },
  }),
  defineRoute({
    name: 'map_dataset_columns',
    method: 'post',
    path: '/v1/data/:dataset_id/columns',
    summary: 'Make a data set of input and output from a file whose columns have other names',
    access: 'key',
    scope: 'data',
    params: DatasetParams,
    body: ColumnMapping,
    idempotent: true,
    response: MappedDataset,
    async handle({ caller: ctx, params, body, idempotency, signal }) {
      const columns = { input: body.input ?? null, output: body.output }
      const input = { datasetId: params.dataset_id, columns, newId: body.dataset_id ?? undefined }
      const { datasetId, location, rowCount } = await mapDatasetColumns({ ctx, input, idempotency, signal })
      return { dataset_id: datasetId, dataset_location: location, rows: rowCount }
    },
  }),
]

const listed = (dataset: ListedDataset) => ({
  dataset_id: dataset.datasetId,
  display_name: datasetDisplayName(dataset),
  versions: dataset.versionCount,
  ...listedVersion(dataset),
})

const listedVersion = (version: ListedVersion) => ({
  version: version.version,
  file_name: version.fileName,
  created_at: wireTime(version.createdAt),
  state: stateOf(version),
  rows: version.rowCount,
  bad_rows: version.badRowCount,
  bytes: version.sizeBytes,
  tokens: version.tokenCount,
  job_ids: version.jobIds,
})

function stateOf({ rowCount, badRowCount }: ListedVersion) {
  if (rowCount === null) return 'unchecked' as const
  if (rowCount === 0) return 'empty' as const
  return badRowCount === 0 ? ('valid' as const) : ('invalid' as const)
}

function tokensAsked({ tokens, train_on: trainOn, max_length: maxLength }: z.output<typeof RowsQuery>) {
  if (tokens === 'true') return { trainOn, maxLength }
  if (trainOn !== undefined || maxLength !== undefined)
    throw invalidInput('tokens', 'train_on and max_length are for tokens=true.')
  return null
}

const previewed = (
  { index, line, row, answers, messages, templated, specialTokens, isCut, error }: PreviewedRow,
  tokens: TokenizedRow | undefined,
) => ({
  index,
  line,
  input: row?.input ?? null,
  output: row?.output ?? null,
  answers: answers && answers.map(({ text, isGood }) => ({ text, good: isGood })),
  sequences: sequencesOnWire(tokens?.sequences ?? null),
  special_tokens: specialTokens,
  messages: messages && messages.map(({ role, text, isLearned }) => ({ role, text, learned: isLearned })),
  chat_template: templated && {
    model_name: templated.model,
    sequences: templated.sequences.map((parts) => parts.map(marked)),
    error: templated.error,
  },
  cut: isCut,
  error: error ?? tokens?.error ?? null,
})

const marked = ({ text, isLearned, special }: MarkedText) => ({ text, learned: isLearned, special_tokens: special })
