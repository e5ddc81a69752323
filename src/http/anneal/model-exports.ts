// Exports of tuned models: files that other programs load.
import { exportModel, findExport, type Exported } from '../../services/models/export.ts'
import { defineRoute } from '../kit/route.ts'
import { ExportPath, ExportRequest, ModelExport, ModelExportFiles } from './schemas/model-exports.ts'
import { ModelPath } from './schemas/models.ts'

export const modelExportRoutes = [
  defineRoute({
    name: 'export_model',
    method: 'post',
    path: '/v1/models/:name/export',
    summary:
      'Export a tuned model; a repeat gives the same export. A merged one needs the scope training, is made in the background and survives restarts',
    access: 'key',
    scope: 'read',
    params: ModelPath,
    body: ExportRequest,
    idempotent: true,
    errorStatuses: [404, 594, 409],
    response: ModelExport,
    handle: async ({ caller: ctx, params, body, idempotency }) =>
      onWire(await exportModel({ ctx, input: { ...params, ...body }, idempotency })),
  }),
  defineRoute({
    name: 'get_model_export',
    errorStatuses: [404, 594],
    method: 'get',
    path: '/v1/models/:name/exports/:export_id',
    summary: 'Get an export of a tuned model, with short-lived links to its files',
    access: 'key',
    scope: 'read',
    params: ExportPath,
    response: ModelExportFiles,
    async handle({ caller: ctx, params: { name, export_id: id } }) {
      const {
        files,
        expiresInSeconds,
        statusReason = null,
        message = null,
        ...found
      } = await findExport({ ctx, input: { name, id } })
      const links = files.map(({ sizeBytes, ...file }) => ({ ...file, size_bytes: sizeBytes }))
      return { ...onWire(found), status_reason: statusReason, message, expires_in: expiresInSeconds, files: links }
    },
  }),
]

const onWire = ({ modelName, ...rest }: Exported) => ({ ...rest, model_name: modelName })
