import { warningsOf, type EvaluationSettings, type TrainingJobSummary } from '../../domain/training-job.ts'
import type { Ctx } from '../../services/context.ts'
import { cancelAllTrainingJobs } from '../../services/training-jobs/cancel-all.ts'
import { cancelTrainingJob } from '../../services/training-jobs/cancel.ts'
import { describeTrainingJobs } from '../../services/training-jobs/describe.ts'
import { getEvaluation } from '../../services/training-jobs/get-evaluation.ts'
import { getTrainingJob, jobNotFound } from '../../services/training-jobs/get.ts'
import { encodeJobCursor, listTrainingJobs } from '../../services/training-jobs/list.ts'
import { mayResume, resumeTrainingJob } from '../../services/training-jobs/resume.ts'
import { linkToNext } from '../kit/respond.ts'
import { defineRoute } from '../kit/route.ts'
import { Job, JobList, type JobSummary } from './schemas/job-resource.ts'
import { isMetadataFilter, metadataIn } from './schemas/metadata.ts'
import { usedGrader } from './schemas/scores.ts'
import {
  Evaluation,
  JobCancelled,
  JobListQuery,
  JobPath,
  JobResumed,
  OpenJobsCancelled,
} from './schemas/training-job.ts'
import { summaryOf } from './training-job-summary.ts'

const maxReads = 3

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
      const metadata = metadataIn(query)
      const pages = listTrainingJobs({ ctx, input: { ...query, metadata } })
      if (query.limit === undefined) return summaries(ctx, pages)
      const jobs = (await Array.fromAsync(pages)).flat()
      const last = jobs.at(-1)
      if (last && jobs.length === query.limit)
        setHeader('Link', linkToNext('/v1/train/jobs', { ...filtersOf(query), after: encodeJobCursor(last.id) }))
      return summariesOf(ctx, jobs)
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
      const { job, history, details } = await readJob(ctx, params.job_id)
      return {
        ...summaryOf(ctx, job, { ...details, method: job.spec.method ?? null }),
        is_public: job.isPublic,
        history,
        status_reason: job.statusReason,
        status_message: job.statusMessage,
        resumable: await mayResume(ctx, job),
        evaluation: job.spec.evaluation ? evaluationOnWire(job.spec.evaluation) : null,
        warnings: warningsOf(job),
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
      const evaluation = await getEvaluation({ ctx, input: { jobId: params.job_id } })
      const { job, tunedModelName, baseModelName, rows, scored } = evaluation
      const results = rows.map(({ input, expected, split, tuned, base }, row) => ({
        input,
        outputs: [
          { model_name: tunedModelName, output: tuned, scores: scored?.tuned[row] ?? null },
          { model_name: baseModelName, output: base, scores: scored?.base[row] ?? null },
        ],
        expected,
        split,
      }))
      const graders = scored?.graders.map(usedGrader) ?? null
      return { job_id: job.id, eval_results: results, graders, summary: scored?.summary ?? null }
    },
  }),
]

const evaluationOnWire = ({ graders, maxRows, maxTokens, asChat, system }: EvaluationSettings) => ({
  graders: graders?.map(usedGrader) ?? null,
  max_rows: maxRows ?? null,
  max_tokens: maxTokens ?? null,
  as_chat: asChat ?? null,
  system: system ?? null,
})

/** A job may change its state between the two statements. They are asked again, so that a job that has ended has the time of its end. */
async function readJob(ctx: Ctx, jobId: number) {
  for (let tries = 1; ; tries++) {
    const [{ job, history }, described] = await Promise.all([
      getTrainingJob({ ctx, input: { jobId } }),
      describeTrainingJobs({ ctx, input: { jobIds: [jobId] } }),
    ])
    const details = described.get(job.id)
    if (!details) throw jobNotFound(job.id)
    if (details.status === job.status || tries === maxReads) return { job, history, details }
  }
}

async function* summaries(ctx: Ctx, pages: AsyncIterable<TrainingJobSummary[]>): AsyncGenerator<JobSummary[]> {
  for await (const page of pages) yield await summariesOf(ctx, page)
}

/** Leaves out jobs that were deleted meanwhile, with their account. */
async function summariesOf(ctx: Ctx, jobs: TrainingJobSummary[]): Promise<JobSummary[]> {
  const described = await describeTrainingJobs({ ctx, input: { jobIds: jobs.map(({ id }) => id) } })
  return jobs.flatMap((job) => {
    const details = described.get(job.id)
    return details ? [summaryOf(ctx, job, details)] : []
  })
}

/** The parameters that choose jobs. */
const filtersOf = (query: Parameters<typeof metadataIn>[0]): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(query).flatMap(([name, value]) =>
      ['limit', 'status'].includes(name) || isMetadataFilter(name) ? [[name, String(value)]] : [],
    ),
  )
