import { wireTime } from '../../domain/timestamps.ts'
import type { TrainingJobSummary } from '../../domain/training-job.ts'
import { cancelAllTrainingJobs } from '../../services/training-jobs/cancel-all.ts'
import { cancelTrainingJob } from '../../services/training-jobs/cancel.ts'
import { getEvaluation } from '../../services/training-jobs/get-evaluation.ts'
import { getTrainingJob } from '../../services/training-jobs/get.ts'
import { encodeJobCursor, listTrainingJobs } from '../../services/training-jobs/list.ts'
import { resumeTrainingJob } from '../../services/training-jobs/resume.ts'
import { linkToNext } from '../framework/respond.ts'
import { defineRoute } from '../framework/route.ts'
import {
  Evaluation,
  Job,
  JobCancelled,
  JobList,
  JobListQuery,
  JobPath,
  JobResumed,
  OpenJobsCancelled,
  type JobSummary,
} from '../schemas/training-job.ts'

export const trainingJobRoutes = [
  defineRoute({
    name: 'list_training_jobs',
    method: 'get',
    path: '/v1/train/jobs',
    summary:
      'List the training jobs of the account, newest first. With a limit, the Link header leads to the next page',
    access: 'key',
    scope: 'read',
    query: JobListQuery,
    response: JobList,
    async handle({ caller: ctx, query, setHeader }) {
      const pages = listTrainingJobs({ ctx, input: query })
      if (query.limit === undefined) return summaries(pages)
      const jobs = (await Array.fromAsync(pages)).flat()
      const last = jobs.at(-1)
      if (last && jobs.length === query.limit)
        setHeader('Link', linkToNext('/v1/train/jobs', { ...query, after: encodeJobCursor(last.id) }))
      return jobs.map(summaryOf)
    },
  }),
  defineRoute({
    name: 'cancel_open_training_jobs',
    method: 'post',
    path: '/v1/train/jobs/cancel',
    summary: 'Cancel all scheduled and running training jobs of the account',
    access: 'key',
    scope: 'training',
    response: OpenJobsCancelled,
    async handle({ caller: ctx }) {
      const { cancelled } = await cancelAllTrainingJobs(ctx)
      return { message: `cancelled ${cancelled} ${cancelled === 1 ? 'job' : 'jobs'}`, cancelled }
    },
  }),
  defineRoute({
    name: 'get_training_job',
    method: 'get',
    path: '/v1/train/jobs/:job_id',
    summary: 'Get one training job with its history',
    access: 'key',
    scope: 'read',
    params: JobPath,
    response: Job,
    async handle({ caller: ctx, params }) {
      const { job, history } = await getTrainingJob({ ctx, input: { jobId: params.job_id } })
      return {
        ...summaryOf(job),
        is_public: job.isPublic,
        history,
        status_reason: job.statusReason,
        status_message: job.statusMessage,
      }
    },
  }),
  defineRoute({
    name: 'cancel_training_job',
    method: 'post',
    path: '/v1/train/jobs/:job_id/cancel',
    summary: 'Cancel a scheduled or running training job',
    access: 'key',
    scope: 'training',
    params: JobPath,
    response: JobCancelled,
    async handle({ caller: ctx, params: { job_id: jobId } }) {
      await cancelTrainingJob({ ctx, input: { jobId } })
      return { message: `cancelled ${jobId}`, status: 'CANCELLED' as const }
    },
  }),
  defineRoute({
    name: 'resume_training_job',
    method: 'post',
    path: '/v1/train/jobs/:job_id/resume',
    summary: 'Continue an ended training job from its newest checkpoint',
    access: 'key',
    scope: 'training',
    params: JobPath,
    idempotent: true,
    errorStatuses: [409],
    response: JobResumed,
    async handle({ caller: ctx, params, idempotency }) {
      const { jobId, status } = await resumeTrainingJob({ ctx, input: { jobId: params.job_id }, idempotency })
      return { status, job_id: jobId }
    },
  }),
  defineRoute({
    name: 'get_evaluation',
    method: 'get',
    path: '/v1/svc/train/jobs/:job_id/eval',
    aliases: ['/v1/train/jobs/:job_id/eval'],
    summary: 'Get the answers of the tuned model and its base to the evaluation rows',
    access: 'key',
    scope: 'read',
    params: JobPath,
    errorStatuses: [409],
    response: Evaluation,
    async handle({ caller: ctx, params }) {
      const { job, tunedModelName, baseModelName, rows } = await getEvaluation({ ctx, input: { jobId: params.job_id } })
      const results = rows.map(({ input, expected, split, tuned, base }) => ({
        input,
        outputs: [
          { model_name: tunedModelName, output: tuned },
          { model_name: baseModelName, output: base },
        ],
        expected,
        split,
      }))
      return { job_id: job.id, eval_results: results }
    },
  }),
]

async function* summaries(pages: AsyncIterable<TrainingJobSummary[]>): AsyncGenerator<JobSummary[]> {
  for await (const page of pages) yield page.map(summaryOf)
}

const summaryOf = (job: TrainingJobSummary): JobSummary => ({
  job_id: job.id,
  status: job.status,
  start_time: wireTime(job.createdAt),
  model_name: job.modelName,
  custom_model_name: job.modelName === null ? null : (job.customModelName ?? ''),
  resume_count: job.resumeCount,
  dataset_id: job.datasetId,
  resume_limit: job.resumeLimit,
})
