import { costMicros } from '../../domain/prices.ts'
import { usageDimensions } from '../../domain/usage.ts'
import { getUsage } from '../../services/usage/get-usage.ts'
import { getTrainingUsage } from '../../services/usage/get-training-usage.ts'
import { defineRoute } from '../kit/route.ts'
import { TrainingUsage, TrainingUsageQuery, Usage, UsageQuery } from './schemas/usage.ts'

const defaultPageSize = 100
const groupField = { day: 'day', key: 'key_id', model: 'model_name' } as const

export const usageRoutes = [
  defineRoute({
    name: 'get_usage',
    method: 'get',
    path: '/v1/usage',
    summary: 'Get the usage of the account by day, key and model',
    access: 'key',
    scope: 'read',
    query: UsageQuery,
    response: Usage,
    async handle({ caller: ctx, query }) {
      const by = query.group_by ?? usageDimensions
      const { prices } = ctx.deps.settings
      const { from = null, to = null, after = null, limit = defaultPageSize } = query
      const { lines, next, modelNames, keyNames, ...range } = await getUsage({
        ctx,
        input: { from, to, by, after, limit },
      })
      const usage = lines.map(({ day, key, model, ...amount }) => ({
        ...(by.includes('day') && { day }),
        ...(by.includes('key') && { key_id: key === '' ? null : key, key_name: keyNames.get(key) ?? null }),
        ...(by.includes('model') && { model_name: model, display_name: modelNames.get(model) ?? null }),
        prompts: amount.prompts,
        prompt_tokens: amount.promptTokens,
        completion_tokens: amount.completionTokens,
        engine_seconds: amount.engineSeconds,
        training_seconds: amount.trainingSeconds,
        gpu_seconds: amount.gpuSeconds,
        ...(prices && { cost_micros: costMicros(prices, amount) }),
      }))
      return { ...range, ...(prices && { currency: prices.currency }), usage, next }
    },
  }),
  defineRoute({
    name: 'get_training_usage',
    chapter: 'Training',
    method: 'get',
    path: '/v1/usage/training',
    summary:
      'Get the time of training attempts, productive and lost, by the causes of their ends and by day, key or model',
    access: 'key',
    scope: 'read',
    query: TrainingUsageQuery,
    response: TrainingUsage,
    async handle({ caller: ctx, query: { from = null, to = null, group_by: by = null } }) {
      const { causes, ...range } = await getTrainingUsage({ ctx, input: { from, to, by } })
      const onWire = causes.map(({ group, training, gpu, ...each }) => ({
        ...(by !== null && group !== null && { [groupField[by]]: group }),
        ...each,
        training_seconds: training,
        gpu_seconds: gpu,
      }))
      return { ...range, causes: onWire }
    },
  }),
]
