import type { CatalogueEntry } from '../../domain/catalogue.ts'
import type { TunedModel } from '../../domain/training-job.ts'
import { listModels } from '../../services/list-models.ts'
import { defineRoute } from '../edge/route.ts'
import { ModelList } from '../schemas/models.ts'

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
