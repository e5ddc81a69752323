import type { CatalogueEntry } from '../../domain/catalogue.ts'
import type { TunedModel } from '../../domain/training-job.ts'
import { deleteModel } from '../../services/delete-model.ts'
import { downloadModel } from '../../services/download-model.ts'
import { listModels } from '../../services/list-models.ts'
import { defineRoute } from '../edge/route.ts'
import { ModelDeleted, ModelDownload, ModelList, ModelPath } from '../schemas/models.ts'

export const modelRoutes = [
  defineRoute({
    name: 'models',
    method: 'get',
    path: '/v1/models',
    summary: 'The base models, and the tuned models of the account',
    access: 'key',
    scope: 'read',
    response: ModelList,
    async handle({ caller: ctx }) {
      const { base, tuned } = await listModels({ ctx })
      return { object: 'list' as const, data: [...base.map(baseModel), ...tuned.map(tunedModel)] }
    },
  }),
  defineRoute({
    name: 'download_model',
    method: 'get',
    path: '/v1/models/:name/download',
    summary: 'Short-lived links to the files of a tuned model',
    access: 'key',
    scope: 'read',
    params: ModelPath,
    refuses: [400],
    response: ModelDownload,
    async handle({ caller: ctx, params }) {
      const { name, baseModel, files, expiresInSeconds } = await downloadModel({ ctx, input: params })
      const links = files.map(({ sizeBytes, ...file }) => ({ ...file, size: sizeBytes }))
      return { model_name: name, base_model: baseModel, expires_in: expiresInSeconds, files: links }
    },
  }),
  defineRoute({
    name: 'delete_model',
    method: 'delete',
    path: '/v1/models/:name',
    summary: 'Delete a tuned model with all of its files',
    access: 'key',
    scope: 'training',
    params: ModelPath,
    refuses: [409],
    response: ModelDeleted,
    async handle({ caller: ctx, params }) {
      const { name } = await deleteModel({ ctx, input: params })
      return { model_name: name, message: `deleted ${name}` }
    },
  }),
]

const baseModel = ({ name, aliases, task }: CatalogueEntry) => ({
  id: name,
  object: 'model' as const,
  created: 0,
  owned_by: 'catalogue' as const,
  task,
  aliases,
  base_model: null,
  job_id: null,
})

const tunedModel = ({ name, createdAt, baseModel, jobId }: TunedModel) => ({
  id: name,
  object: 'model' as const,
  created: Math.floor(createdAt.getTime() / 1000),
  owned_by: 'account' as const,
  task: 'completion' as const,
  aliases: [],
  base_model: baseModel,
  job_id: jobId,
})
