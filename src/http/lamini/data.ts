import { skippingRefusal, type DatasetReport as Report, type TokenLengths } from '../../domain/dataset-report.ts'
import { wireTime } from '../../domain/timestamps.ts'
import { recordRowCount } from '../../services/datasets/record-row-count.ts'
import { deleteDataset } from '../../services/datasets/delete.ts'
import { findDataset } from '../../services/datasets/find.ts'
import { getDatasetReport, type CheckedDataset } from '../../services/datasets/get-report.ts'
import { requestDatasetUpload } from '../../services/datasets/request-upload.ts'
import { storeDataset } from '../../services/datasets/store.ts'
import { defineRoute } from '../kit/route.ts'
import {
  DataAnswer,
  DataRequest,
  DatapointsAnswer,
  DatapointsRequest,
  DatasetDeleted,
  DatasetParams,
  ExistingDataAnswer,
  ExistingDataRequest,
  LocalDataAnswer,
  LocalDataRequest,
  ReportQuery,
  UploadBasePath,
} from './schemas/data.ts'
import { DatasetReport } from '../anneal/schemas/dataset-report.ts'

/** Never `azure`: old clients would then send rows inline. */
const uploadBasePath = 's3' as const
const mebibyte = 1024 * 1024

export const dataRoutes = [
  defineRoute({
    name: 'data',
    method: 'post',
    path: '/v1/data',
    summary: 'Get a URL to upload a data set to',
    access: 'key',
    scope: 'data',
    body: DataRequest,
    idempotent: true,
    response: DataAnswer,
    async handle({ caller: ctx, body, idempotency }) {
      const { datasetId, url } = await requestDatasetUpload({ ctx, input: { datasetId: body.dataset_id }, idempotency })
      return { upload_base_path: uploadBasePath, dataset_location: url, dataset_id: datasetId }
    },
  }),
  defineRoute({
    name: 'local_data',
    method: 'post',
    path: '/v1/local-data',
    summary: 'Upload a data set as the rows of one request',
    access: 'key',
    scope: 'data',
    body: LocalDataRequest,
    rows: { fields: ['data'], limitBytes: 1024 * mebibyte, restLimitBytes: mebibyte },
    idempotent: true,
    response: LocalDataAnswer,
    async handle({ caller: ctx, body, rows, idempotency }) {
      const { datasetId, location } = await storeDataset({
        ctx,
        input: {
          datasetId: body.dataset_id ?? undefined,
          isPublic: body.is_public ?? false,
          rows: rows['data'] ?? null,
        },
        idempotency,
      })
      return { dataset_location: location, dataset_id: datasetId }
    },
  }),
  defineRoute({
    name: 'existing_data',
    method: 'post',
    path: '/v1/existing-data',
    summary: 'Get the location of a data set',
    access: 'key',
    scope: 'data',
    body: ExistingDataRequest,
    errorStatuses: [404],
    response: ExistingDataAnswer,
    async handle({ caller: ctx, body }) {
      const { datasetId, location } = await findDataset({ ctx, input: { datasetId: body.dataset_id } })
      return { dataset_location: location, upload_base_path: uploadBasePath, dataset_id: datasetId }
    },
  }),
  defineRoute({
    name: 'num_datapoints',
    method: 'post',
    path: '/v1/data/num-datapoints',
    summary: 'Record the number of uploaded rows',
    access: 'key',
    scope: 'data',
    body: DatapointsRequest,
    errorStatuses: [404],
    response: DatapointsAnswer,
    async handle({ caller: ctx, body: { dataset_id: datasetId, num_datapoints: rowCount } }) {
      await recordRowCount({ ctx, input: { datasetId, rowCount } })
      return { dataset_id: datasetId, num_datapoints: rowCount }
    },
  }),
  defineRoute({
    name: 'get_dataset',
    method: 'get',
    path: '/v1/data/:dataset_id',
    summary: 'Get the validation report of a data set: rows, bad rows, duplicates, lengths',
    access: 'key',
    scope: 'read',
    params: DatasetParams,
    query: ReportQuery,
    response: DatasetReport,
    async handle({ caller: ctx, params, query: { model_name: modelName = null, method = null } }) {
      return reportOnWire(await getDatasetReport({ ctx, input: { datasetId: params.dataset_id, modelName, method } }))
    },
  }),
  defineRoute({
    name: 'delete_dataset',
    method: 'delete',
    path: '/v1/data/:dataset_id',
    summary: 'Delete a data set; jobs keep their copies of the rows',
    access: 'key',
    scope: 'data',
    params: DatasetParams,
    errorStatuses: [409],
    response: DatasetDeleted,
    async handle({ caller: ctx, params: { dataset_id: datasetId } }) {
      const { deleted } = await deleteDataset({ ctx, input: { datasetId } })
      return { dataset_id: datasetId, deleted }
    },
  }),
  defineRoute({
    name: 'get_upload_base_path',
    method: 'get',
    path: '/v1/get-upload-base-path',
    summary: 'Get the kind of storage that data sets are uploaded to',
    access: 'key',
    scope: 'data',
    response: UploadBasePath,
    handle: () => ({ upload_base_path: uploadBasePath }),
  }),
]

const noLengths = { p50: 0, p90: 0, p99: 0, max: 0 }

function reportOnWire({ version, report }: CheckedDataset) {
  const rowCount = report?.rowCount ?? 0
  const badRowCount = report?.badRowCount ?? 0
  return {
    dataset_id: version.datasetId,
    dataset_location: version.location,
    version: version.version,
    method: report?.method ?? ('supervised' as const),
    state: rowCount === 0 ? ('empty' as const) : badRowCount === 0 ? ('valid' as const) : ('invalid' as const),
    announced_rows: version.announcedRows,
    rows: rowCount,
    bytes: report?.sizeBytes ?? 0,
    bad_rows: badRowCount,
    errors: report?.badRows ?? [],
    ...errorsOnWire(report),
    read_columns: report?.columns ?? null,
    form: report?.form ?? null,
    unread_fields: report?.unreadFields ?? [],
    duplicates: report?.duplicateCount ?? 0,
    empty_outputs: report?.emptyOutputCount ?? 0,
    input_length: report?.inputLength ?? noLengths,
    output_length: report?.outputLength ?? noLengths,
    token_length: report?.tokenLength ? tokensOnWire(report.tokenLength) : null,
    checked_at: report ? wireTime(new Date(report.checkedAt)) : null,
  }
}

const errorsOnWire = (report: Report | null) => ({
  error_groups: (report?.badRowGroups ?? []).map(({ field, reason, rowCount, lines }) => {
    return { field, reason, rows: rowCount, lines }
  }),
  skippable: report !== null && skippingRefusal(report) === null,
})

const tokensOnWire = ({ tokenizer, sampledRows, input, output, histogram }: TokenLengths) => ({
  tokenizer,
  sampled_rows: sampledRows,
  input,
  output,
  histogram: histogram.map(({ upTo, rows }) => ({ up_to: upTo, rows })),
})
