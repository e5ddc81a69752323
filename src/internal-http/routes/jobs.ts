// The training jobs of every account. A key with the scope admin sees those of its own.
import { attemptOf, eventOnWire } from '../../http/anneal/training-job-records.ts'
import { defineRoute } from '../../http/kit/route.ts'
import { JobPath } from '../../http/lamini/schemas/training-job.ts'
import { summaryOf } from '../../http/lamini/training-job-summary.ts'
import { getJob, listJobs } from '../../services/admin/jobs.ts'
import { operatorJobOf } from '../operator-job.ts'
import { JobsQuery, OperatorJobRecord, OperatorJobs } from '../schemas/jobs.ts'

export const jobRoutes = [
  defineRoute({
    name: 'list_jobs_of_accounts',
    method: 'get',
    path: '/internal/v1/admin/jobs',
    summary: 'List the training jobs of one account or of all, newest first',
    access: 'admin',
    query: JobsQuery,
    response: OperatorJobs,
    async handle({ caller: admin, query }) {
      const { account_id: accountId = null, status = null, after = null, limit } = query
      const { jobs, next } = await listJobs({ admin, input: { accountId, status, after, limit } })
      return { jobs: jobs.map(operatorJobOf), next }
    },
  }),
  defineRoute({
    name: 'get_job_of_account',
    method: 'get',
    path: '/internal/v1/admin/jobs/:job_id',
    summary: 'Get one training job of any account with its newest attempts and events',
    access: 'admin',
    params: JobPath,
    response: OperatorJobRecord,
    async handle({ caller: admin, params }) {
      const { ctx, job, row, details, attempts, events } = await getJob({ admin, input: { jobId: params.job_id } })
      return {
        ...summaryOf(ctx, row, details),
        account_id: job.accountId,
        account_name: job.accountName,
        status_reason: job.statusReason,
        status_message: job.statusMessage,
        newest_attempts: attempts.map(attemptOf),
        newest_events: events.map(eventOnWire),
      }
    },
  }),
]
