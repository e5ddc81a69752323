import { z } from 'zod'
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import { jobDisplayName } from '../../domain/display-name.ts'
import { fineTunedName, parseCheckpointName } from '../../domain/model-reference.ts'
import type { ListedModel, TunedModel } from '../../domain/training-job.ts'
import type { Ctx } from '../../services/context.ts'
import { deleteModel } from '../../services/models/delete.ts'
import { findTunedModel } from '../../services/models/find-tuned.ts'
import { modelDisplayName } from '../../services/models/display-name.ts'
import { listModels } from '../../services/models/list.ts'
import { named } from '../kit/named-schemas.ts'
import { pathText } from '../kit/params.ts'
import { JsonText, listText } from '../kit/respond.ts'
import { defineRoute } from '../kit/route.ts'
import { limitsOf, modelLimits } from '../anneal/schemas/models.ts'
import { answeredName } from './generation.ts'
import { parametersOf } from './honoured-parameters.ts'

const Model = named(
  'OpenAiModel',
  z.object({
    id: z.string().describe('Used as model in requests'),
    object: z.literal('model').describe('Always model'),
    created: z.int().describe('Seconds since 1970; 0 for the models of the catalogue'),
    name: z.string().describe('The display name, where chat front ends look for it'),
    display_name: z
      .string()
      .describe('A name for people: pip@2, or "products, run 2" where the job gave no name; the id of a base model'),
    owned_by: z.enum(['catalogue', 'account']).describe('catalogue: a base model; account: a tuned model'),
    task: z.enum(['completion', 'embedding']).describe('What the model does'),
    model_name: z.string().optional().describe('The id of a tuned model: 64 hex digits, as /v1 has it'),
    base_model: z.string().nullable().describe('The base that a tuned model is an adapter of; null for a base model'),
    ...modelLimits,
    supported_parameters: z
      .array(z.string())
      .describe('Parameters of chats, completions or embeddings that the model honours'),
  }),
)
type Model = z.output<typeof Model>

const ModelList = named(
  'OpenAiModelList',
  z.object({
    object: z.literal('list').describe('Always list'),
    data: z.array(Model).describe('The base models, then the tuned models, newest first'),
  }),
)

const ModelDeleted = named(
  'OpenAiModelDeleted',
  z.object({
    id: z.string().describe('The id of the deleted model'),
    object: z.literal('model').describe('Always model'),
    deleted: z.boolean().describe('Always true'),
  }),
)

const ModelPath = z.object({ model: pathText(256).describe('The name of a model, or an alias') })

export const modelRoutes = [
  defineRoute({
    name: 'openai_list_models',
    method: 'get',
    path: '/openai/v1/models',
    summary: 'List the base models, then the tuned models of the account, newest first',
    access: 'key',
    scope: 'read',
    response: ModelList,
    handle: ({ caller: ctx }) =>
      new JsonText(
        listText(ctx.deps.catalogue.entries.map(baseModel), listModels({ ctx, input: {} }), (model) =>
          listedModel(ctx, model),
        ),
      ),
  }),
  defineRoute({
    name: 'openai_get_model',
    method: 'get',
    path: '/openai/v1/models/:model',
    summary: 'Get one model by its name or an alias',
    access: 'key',
    scope: 'read',
    params: ModelPath,
    response: Model,
    async handle({ caller: ctx, params }) {
      const entry = ctx.deps.catalogue.find(params.model)
      if (entry) return baseModel(entry)
      const { name, ...found } = await findTunedModel(ctx, params.model)
      const displayName = await modelDisplayName(ctx, params.model, { ...found, name })
      const id = parseCheckpointName(params.model) ? params.model : answeredName(ctx, params.model, name)
      return tunedModel(ctx, { ...found, id, modelName: name, displayName })
    },
  }),
  defineRoute({
    name: 'openai_delete_model',
    method: 'delete',
    path: '/openai/v1/models/:model',
    summary: 'Delete a tuned model with all of its files',
    access: 'key',
    scope: 'training',
    params: ModelPath,
    errorStatuses: [409],
    response: ModelDeleted,
    async handle({ caller: ctx, params }) {
      const { name } = await deleteModel({ ctx, input: { name: params.model } })
      return { id: answeredName(ctx, params.model, name), object: 'model' as const, deleted: true }
    },
  }),
]

const baseModel = (entry: CatalogueEntry): Model => ({
  id: entry.name,
  object: 'model' as const,
  created: 0,
  name: entry.name,
  display_name: entry.name,
  owned_by: 'catalogue' as const,
  task: entry.task,
  base_model: null,
  ...limitsOf(entry),
  supported_parameters: parametersOf(entry.task),
})

/** Its first name with a version is the custom name of the job. */
function listedModel(ctx: Ctx, { name, aliases, ...model }: ListedModel): Model {
  const customName = aliases.find((alias) => /@\d+$/.test(alias))?.replace(/@\d+$/, '') ?? null
  const id = fineTunedName({ baseModel: model.baseModel, name }, { accountId: ctx.accountId, customName })
  return tunedModel(ctx, { ...model, id, modelName: name, displayName: jobDisplayName(model) })
}

type Tuned = Pick<TunedModel, 'createdAt' | 'baseModel'> & { id: string; modelName: string; displayName: string }

const tunedModel = (ctx: Ctx, { id, modelName, displayName, createdAt, baseModel }: Tuned): Model => ({
  id,
  name: displayName,
  display_name: displayName,
  model_name: modelName,
  object: 'model' as const,
  created: Math.floor(createdAt.getTime() / 1000),
  owned_by: 'account' as const,
  task: 'completion' as const,
  base_model: baseModel,
  ...limitsOf(ctx.deps.catalogue.find(baseModel)),
  supported_parameters: parametersOf('completion'),
})
