// Custom names of tuned models: their versions and aliases.
import type { Catalogue } from '../../domain/catalogue.ts'
import { wireTime } from '../../domain/timestamps.ts'
import type { ModelVersion } from '../../domain/training-job.ts'
import { deleteAlias, setAlias } from '../../services/models/aliases.ts'
import { describeModel } from '../../services/models/describe.ts'
import { defineRoute } from '../kit/route.ts'
import {
  AliasBody,
  AliasPath,
  DeletedAlias,
  factsOf,
  ModelPath,
  ModelVersions,
  ModelVersionsQuery,
  MovedAlias,
} from './schemas/models.ts'

export const modelNameRoutes = [
  defineRoute({
    name: 'get_model',
    errorStatuses: [404, 594],
    method: 'get',
    path: '/v1/models/:name',
    summary: 'List the versions of a custom name, newest first, with their jobs and scores, and its aliases',
    access: 'key',
    scope: 'read',
    params: ModelPath,
    query: ModelVersionsQuery,
    response: ModelVersions,
    async handle({ caller: ctx, params, query: { after = null, limit } }) {
      const { versions, aliases, ...rest } = await describeModel({ ctx, input: { ...params, after, limit } })
      return {
        ...rest,
        versions: versions.map((version) => versionOf(version, ctx.deps.catalogue)),
        aliases: aliases.map(({ movedAt, ...alias }) => ({ ...alias, moved_at: wireTime(movedAt) })),
      }
    },
  }),
  defineRoute({
    name: 'set_model_alias',
    method: 'put',
    path: '/v1/models/:name/aliases/:alias',
    summary: 'Let name@alias lead to a version, at once for all new requests',
    access: 'key',
    scope: 'training',
    params: AliasPath,
    body: AliasBody,
    errorStatuses: [404, 594, 409],
    response: MovedAlias,
    async handle({ caller: ctx, params, body }) {
      const { modelName, previousVersion, ...moved } = await setAlias({ ctx, input: { ...params, ...body } })
      return { ...moved, model_name: modelName, previous_version: previousVersion }
    },
  }),
  defineRoute({
    name: 'delete_model_alias',
    errorStatuses: [404, 594],
    method: 'delete',
    path: '/v1/models/:name/aliases/:alias',
    summary: 'Delete an alias; the version stays',
    access: 'key',
    scope: 'training',
    params: AliasPath,
    response: DeletedAlias,
    async handle({ caller: ctx, params }) {
      await deleteAlias({ ctx, input: params })
      return { ...params, message: `deleted ${params.name}@${params.alias}` }
    },
  }),
]

const versionOf = (
  {
    version,
    modelName,
    jobId,
    datasetId,
    baseModel,
    status,
    createdAt,
    evaluatedRows,
    scores,
    parent,
    learned,
  }: ModelVersion,
  catalogue: Catalogue,
) => ({
  version,
  model_name: modelName,
  status,
  job_id: jobId,
  dataset_id: datasetId,
  base_model: baseModel,
  ...factsOf(catalogue.find(baseModel), learned),
  created_at: wireTime(createdAt),
  parent: parent && { model_name: parent.modelName, name: parent.name, version: parent.version },
  evaluation: evaluatedRows > 0 ? { rows: evaluatedRows, path: `/v1/train/jobs/${jobId}/eval`, scores } : null,
})
