// Exports of tuned models: files that other programs load.
import { exportModel, findExport, type ModelExport } from '../../services/models/export.ts'
import { defineRoute } from '../framework/route.ts'
import { ExportPath, ExportRequest, ModelExport as Exported, ModelExportFiles } from '../schemas/model-exports.ts'
import { ModelPath } from '../schemas/models.ts'

export const modelExportRoutes = [
  defineRoute({
    name: 'export_model',
    method: 'post',
    path: '/v1/models/:name/export',
    summary: 'Export a tuned model; a repeat gives the same export',
    access: 'key',
    scope: 'read',
    params: ModelPath,
    body: ExportRequest,
    response: Exported,
    handle: async ({ caller: ctx, params }) => onWire(await exportModel({ ctx, input: params })),
  }),
  defineRoute({
    name: 'get_model_export',
    method: 'get',
    path: '/v1/models/:name/exports/:export_id',
    summary: 'Get an export of a tuned model, with short-lived links to its files',
    access: 'key',
    scope: 'read',
    params: ExportPath,
    response: ModelExportFiles,
    async handle({ caller: ctx, params: { name, export_id: id } }) {
      const { files, expiresInSeconds, ...found } = await findExport({ ctx, input: { name, id } })
      const links = files.map(({ sizeBytes, ...file }) => ({ ...file, size_bytes: sizeBytes }))
      return { ...onWire(found), expires_in: expiresInSeconds, files: links }
    },
  }),
]

const onWire = ({ modelName, ...rest }: ModelExport) => ({ ...rest, model_name: modelName })
