import { defineRoute } from '../../http/kit/route.ts'
import {
  announceExportFiles,
  claimExport,
  commitExport,
  recordExportFailure,
} from '../../services/attempt-api/merge.ts'
import { Done } from '../schemas/attempt.ts'
import { reportRoute } from './report.ts'
import { ExportClaim, ExportClaimRequest, ExportFailure, ExportFiles, ExportUploads } from '../schemas/export.ts'
import { placeOf } from './artifacts.ts'

export const exportRoutes = [
  defineRoute({
    name: 'export_claim',
    method: 'post',
    path: '/internal/v1/export/claim',
    summary: 'Get the base model and the adapter to merge',
    access: 'pod',
    body: ExportClaimRequest,
    response: ExportClaim,
    handle: ({ caller: pod, body }) => claimExport({ pod, input: { runtimeVersion: body.runtime_version } }),
  }),
  defineRoute({
    name: 'export_files',
    method: 'post',
    path: '/internal/v1/export/files',
    summary: 'Get URLs to upload the merged files to',
    access: 'pod',
    body: ExportFiles,
    response: ExportUploads,
    async handle({ caller: pod, body }) {
      const files = body.files.map(({ name, size, sha256 }) => ({ name, sizeBytes: size, sha256 }))
      return { uploads: (await announceExportFiles({ pod, input: { files } })).map(placeOf) }
    },
  }),
  defineRoute({
    name: 'export_commit',
    method: 'post',
    path: '/internal/v1/export/commit',
    summary: 'Commit the merged files once all are uploaded',
    access: 'pod',
    response: Done,
    async handle({ caller: pod }) {
      await commitExport({ pod })
      return {}
    },
  }),
  reportRoute(
    {
      name: 'export_failure',
      path: 'export/failure',
      summary: 'Report why the program is about to exit with an error',
      body: ExportFailure,
    },
    recordExportFailure,
  ),
]
