import type { Catalogue, CatalogueEntry } from '../../domain/catalogue.ts'
import { jobDisplayName } from '../../domain/display-name.ts'
import { laterDefaults, resolveTrainingArgs } from '../../domain/training-args.ts'
import type { ListedModel } from '../../domain/training-job.ts'
import { describeCard } from '../../services/models/card.ts'
import { deleteModel } from '../../services/models/delete.ts'
import { downloadModel } from '../../services/models/download.ts'
import { listStarts, type Starts } from '../../services/models/list-starts.ts'
import { encodeModelCursor, listModels } from '../../services/models/list.ts'
import { JsonText, linkToNext, listText } from '../kit/respond.ts'
import { defineRoute } from '../kit/route.ts'
import {
  factsOf,
  limitsOf,
  ModelCard,
  parametersOf,
  ModelDeleted,
  ModelDownload,
  ModelList,
  ModelListQuery,
  ModelPath,
  weightsOf,
  type Model,
} from './schemas/models.ts'

export const modelRoutes = [
  defineRoute({
    name: 'models',
    method: 'get',
    path: '/v1/models',
    summary:
      'List the base models, then the tuned models of the account, newest first. With a limit, the Link header leads to the next page',
    access: 'key',
    scope: 'read',
    query: ModelListQuery,
    response: ModelList,
    async handle({ caller: ctx, query, setHeader }) {
      const { catalogue } = ctx.deps
      const starts = await listStarts({ ctx })
      const tunedModel = (model: ListedModel) => tunedModelOf(model, catalogue, starts)
      const pages = listModels({ ctx, input: query })
      const base = query.after === undefined ? catalogue.entries.map((entry) => baseModel(entry, starts)) : []
      if (query.limit === undefined) return new JsonText(listText(base, pages, tunedModel))
      const tuned = (await Array.fromAsync(pages)).flat()
      const last = tuned.at(-1)
      if (last && tuned.length === query.limit)
        setHeader('Link', linkToNext('/v1/models', { ...query, after: encodeModelCursor(last) }))
      return { object: 'list' as const, data: [...base, ...tuned.map(tunedModel)] }
    },
  }),
  defineRoute({
    name: 'download_model',
    method: 'get',
    path: '/v1/models/:name/download',
    summary: 'Get short-lived links to the files of a tuned model',
    access: 'key',
    scope: 'read',
    params: ModelPath,
    errorStatuses: [404, 594, 400],
    response: ModelDownload,
    async handle({ caller: ctx, params }) {
      const { name, baseModel, files, expiresInSeconds } = await downloadModel({ ctx, input: params })
      const links = files.map(({ sizeBytes, ...file }) => ({ ...file, size: sizeBytes }))
      return { model_name: name, base_model: baseModel, expires_in: expiresInSeconds, files: links }
    },
  }),
  defineRoute({
    name: 'get_model_card',
    method: 'get',
    path: '/v1/models/:name/card',
    summary: 'Get the card of a tuned model: from what it was made, how good it is, and how a program loads it',
    access: 'key',
    scope: 'read',
    params: ModelPath,
    errorStatuses: [404, 594, 400],
    response: ModelCard,
    async handle({ caller: ctx, params }) {
      const { modelName, displayName, text } = await describeCard({ ctx, input: params })
      return { model_name: modelName, display_name: displayName, text }
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
    errorStatuses: [404, 594, 409],
    response: ModelDeleted,
    async handle({ caller: ctx, params }) {
      const { name } = await deleteModel({ ctx, input: params })
      return { model_name: name, message: `deleted ${name}` }
    },
  }),
]

const baseModel = (entry: CatalogueEntry, starts: Starts): Model => ({
  id: entry.name,
  object: 'model' as const,
  created: 0,
  owned_by: 'catalogue' as const,
  task: entry.task,
  aliases: entry.aliases,
  display_name: entry.name,
  base_model: null,
  job_id: null,
  recommended_args: entry.task === 'completion' ? { ...laterDefaults, ...resolveTrainingArgs({}, entry).args } : null,
  ...limitsOf(entry),
  ...weightsOf(entry),
  ...factsOf(entry),
  starting: starts.get(entry.name) ?? null,
  supported_parameters: parametersOf(entry.task),
})

const tunedModelOf = (
  { name, aliases, createdAt, baseModel, learned, ...parts }: ListedModel,
  catalogue: Catalogue,
  starts: Starts,
): Model => ({
  id: name,
  object: 'model' as const,
  created: Math.floor(createdAt.getTime() / 1000),
  owned_by: 'account' as const,
  task: 'completion' as const,
  aliases,
  display_name: jobDisplayName(parts),
  base_model: baseModel,
  job_id: parts.jobId,
  recommended_args: null,
  ...limitsOf(catalogue.find(baseModel)),
  ...weightsOf(catalogue.find(baseModel)),
  ...factsOf(catalogue.find(baseModel), learned),
  starting: starts.get(baseModel) ?? null,
  supported_parameters: parametersOf('completion'),
})
