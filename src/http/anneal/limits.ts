import { listLimits } from '../../services/limits/list-limits.ts'
import { defineRoute } from '../kit/route.ts'
import { Limits } from './schemas/limits.ts'

export const limitRoutes = [
  defineRoute({
    name: 'get_limits',
    method: 'get',
    path: '/v1/limits',
    summary: 'Get the limits of the account, what is used of each, and what is left',
    access: 'key',
    scope: 'read',
    response: Limits,
    async handle({ caller: ctx }) {
      const { requests, concurrentRequests } = ctx.deps.limits.settings
      return {
        limits: (await listLimits({ ctx })).map(({ whenFull, ...quota }) => ({
          ...quota,
          left: Math.max(0, quota.limit - quota.used),
          when_full: whenFull,
        })),
        requests: { per_second: requests.perSecond, burst: requests.burst, running: concurrentRequests },
      }
    },
  }),
]
