// `anneal export` and `anneal import` need these routes beside those that list and download.
import { importDataset } from '../../services/moving/import-dataset.ts'
import { importJob } from '../../services/moving/import-job.ts'
import { linkVersion } from '../../services/moving/link-version.ts'
import { readJobRecord } from '../../services/moving/read-record.ts'
import { FileBytes } from '../kit/respond.ts'
import { defineRoute } from '../kit/route.ts'
import { JobPath } from '../lamini/schemas/training-job.ts'
import {
  DatasetImport,
  DatasetImported,
  DatasetVersionFile,
  JobImport,
  JobImported,
  JobRecord,
  VersionPath,
} from './schemas/moving.ts'

export const movingRoutes = [
  defineRoute({
    name: 'read_training_job_record',
    method: 'get',
    path: '/v1/train/jobs/:job_id/record',
    summary: 'Read all that is known of an ended job, for its import into another installation',
    access: 'key',
    scope: 'admin',
    params: JobPath,
    errorStatuses: [409],
    response: JobRecord,
    alsoAnswers: 'application/octet-stream',
    async handle({ caller: ctx, params: { job_id: jobId } }) {
      return new FileBytes(await readJobRecord({ ctx, input: { jobId } }), null)
    },
  }),
  defineRoute({
    name: 'get_dataset_version',
    method: 'get',
    path: '/v1/data/:dataset_id/versions/:version',
    summary: 'Get a short-lived link to the rows of a version, as they were uploaded',
    access: 'key',
    scope: 'read',
    params: VersionPath,
    response: DatasetVersionFile,
    async handle({ caller: ctx, params: { dataset_id: datasetId, version } }) {
      const found = await linkVersion({ ctx, input: { datasetId, version: Number(version) } })
      const { fileName, purpose, isPublic, columns, sizeBytes, url, expiresInSeconds } = found
      return {
        ...{ dataset_id: datasetId, version: found.version, file_name: fileName, purpose, columns },
        ...{ is_public: isPublic, size: sizeBytes, url, expires_in: expiresInSeconds },
        created_at: found.createdAt.toISOString(),
        expires_at: found.expiresAt?.toISOString() ?? null,
      }
    },
  }),
  defineRoute({
    name: 'import_dataset',
    method: 'post',
    path: '/v1/imports/datasets',
    summary:
      'Import a version of a data set from another installation, under its number there. A repeat changes nothing',
    access: 'key',
    scope: 'admin',
    body: DatasetImport,
    errorStatuses: [409],
    response: DatasetImported,
    async handle({ caller: ctx, body }) {
      const { dataset_id: datasetId, version, sha256, size: sizeBytes, purpose, columns } = body
      const { file_name: fileName, is_public: isPublic, created_at: created, expires_at: expires } = body
      const times = { createdAt: new Date(created), expiresAt: expires === null ? null : new Date(expires) }
      const input = { ...times, datasetId, version, sha256, sizeBytes, purpose, columns, fileName, isPublic }
      return { state: await importDataset({ ctx, input }) }
    },
  }),
  defineRoute({
    name: 'import_training_job',
    method: 'post',
    path: '/v1/imports/jobs',
    summary:
      'Import an ended job with its model from another installation, as history: it never runs. A repeat changes nothing',
    access: 'key',
    scope: 'admin',
    body: JobImport,
    errorStatuses: [409],
    response: JobImported,
    async handle({ caller: ctx, body }) {
      const { installation, job_id: jobId, base_model: baseModel } = body
      const record = { sizeBytes: body.record.size, sha256: body.record.sha256 }
      const files = body.files.map(({ name, size: sizeBytes, sha256 }) => ({ name, sizeBytes, sha256 }))
      const answer = await importJob({ ctx, input: { installation, jobId, baseModel, record, files } })
      return { state: answer.state, needs: answer.needs, job_id: answer.jobId, model_name: answer.modelName }
    },
  }),
]
