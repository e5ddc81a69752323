import { cancelOpenTrainingJobs } from '../../services/training-jobs/cancel-all.ts'
import { defineRoute } from '../framework/route.ts'
import { OpenJobsCancelled } from '../schemas/training-job.ts'

export const openTrainingJobRoutes = [
  defineRoute({
    name: 'cancel_open_training_jobs',
    method: 'post',
    path: '/v1/train/jobs/cancel',
    summary: 'Cancel all scheduled and running training jobs of the account',
    access: 'key',
    scope: 'training',
    response: OpenJobsCancelled,
    async handle({ caller: ctx }) {
      const { cancelled } = await cancelOpenTrainingJobs(ctx)
      return { message: `cancelled ${cancelled} ${cancelled === 1 ? 'job' : 'jobs'}`, cancelled }
    },
  }),
]
