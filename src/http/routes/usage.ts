import { usageDimensions } from '../../domain/usage.ts'
import { getUsage } from '../../services/usage/get-usage.ts'
import { defineRoute } from '../framework/route.ts'
import { Usage, UsageQuery } from '../schemas/usage.ts'

const defaultPageSize = 100

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
      const { from = null, to = null, after = null, limit = defaultPageSize } = query
      const { lines, next, ...range } = await getUsage({ ctx, input: { from, to, by, after, limit } })
      const usage = lines.map(({ day, key, model, ...amount }) => ({
        ...(by.includes('day') && { day }),
        ...(by.includes('key') && { key_id: key === '' ? null : key }),
        ...(by.includes('model') && { model_name: model }),
        prompts: amount.prompts,
        prompt_tokens: amount.promptTokens,
        completion_tokens: amount.completionTokens,
        engine_seconds: amount.engineSeconds,
        training_seconds: amount.trainingSeconds,
        gpu_seconds: amount.gpuSeconds,
      }))
      return { ...range, usage, next }
    },
  }),
]
