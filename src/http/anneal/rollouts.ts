import { readRollouts } from '../../services/training-jobs/read-rollouts.ts'
import { JobPath } from '../lamini/schemas/training-job.ts'
import { linkToNext } from '../kit/respond.ts'
import { defineRoute } from '../kit/route.ts'
import { defaultGroups, RolloutPage, RolloutQuery } from './schemas/rollouts.ts'

export const rolloutRoutes = [
  defineRoute({
    name: 'list_rollouts',
    method: 'get',
    path: '/v1/train/jobs/:job_id/rollouts',
    summary:
      'List the answers that a step of reinforcement sampled, with their rewards. The Link header leads to the next page',
    access: 'key',
    scope: 'read',
    params: JobPath,
    query: RolloutQuery,
    errorStatuses: [409],
    response: RolloutPage,
    async handle({ caller: ctx, params: { job_id: jobId }, query, setHeader, signal }) {
      const { split = 'train', after = 0, limit = defaultGroups, step, row } = query
      const input = { jobId, step, row, split, after, limit }
      const { policyStep, next, groups, step: shownStep } = await readRollouts({ ctx, input, signal })
      if (next !== null)
        setHeader('Link', linkToNext(`/v1/train/jobs/${jobId}/rollouts`, { ...query, step: shownStep, after: next }))
      return {
        step: shownStep,
        policy_step: policyStep,
        groups: groups.map(({ row: number, datasetId, ...group }) => ({
          row: number,
          dataset_id: datasetId,
          ...group,
        })),
        next,
      }
    },
  }),
]
