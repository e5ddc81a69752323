// The list of jobs for pages that ask again and again: few figures of each job, filters, and a tag that spares the body.
import { jobDisplayName } from '../../domain/display-name.ts'
import { wireTime } from '../../domain/timestamps.ts'
import { hasResumeLeft, isFailedByData } from '../../domain/training-job.ts'
import type { JobBriefFilter } from '../../repositories/job-briefs.ts'
import { findJobBriefs, listJobBriefs, type JobBrief as FoundBrief } from '../../services/training-jobs/list-briefs.ts'
import { defineRoute } from '../kit/route.ts'
import { progressOnWire, queueOnWire } from '../lamini/training-job-summary.ts'
import { JobBriefQuery, JobBriefs, type JobBrief } from './schemas/job-briefs.ts'

const defaultPageSize = 100
const dayMs = 24 * 3600 * 1000

const timeOrNull = (date: Date | null) => date && wireTime(date)

export const jobBriefRoutes = [
  defineRoute({
    name: 'list_training_job_briefs',
    method: 'get',
    path: '/v1/train/jobs/briefs',
    summary: 'List the training jobs of the account as rows of a page: newest first, filtered, without arguments',
    access: 'key',
    scope: 'read',
    query: JobBriefQuery,
    response: JobBriefs,
    hasTag: true,
    async handle({ caller: ctx, query: { job_ids: ids, limit = defaultPageSize, after, ...filter } }) {
      if (ids) return { jobs: (await findJobBriefs({ ctx, input: { ids } })).map(briefOf), next: null }
      const { jobs, next } = await listJobBriefs({ ctx, input: { limit, after, filter: filterOf(filter) } })
      return { jobs: jobs.map(briefOf), next }
    },
  }),
]

type GivenFilter = {
  status?: JobBriefFilter['statuses']
  base_model?: string | undefined
  dataset_id?: string | undefined
  key_id?: string | undefined
  from?: string | undefined
  to?: string | undefined
  q?: string | undefined
}

const filterOf = ({ status, base_model, dataset_id, key_id, from, to, q }: GivenFilter): JobBriefFilter => ({
  statuses: status,
  baseModel: base_model,
  datasetId: dataset_id,
  keyId: key_id,
  from: from === undefined ? undefined : new Date(from),
  to: to === undefined ? undefined : new Date(Date.parse(to) + dayMs),
  text: q === '' ? undefined : q,
})

const briefOf = (job: FoundBrief): JobBrief => ({
  job_id: job.id,
  status: job.status,
  status_reason: job.statusReason,
  status_message: job.statusMessage,
  requested_name: job.customModelName,
  display_name: jobDisplayName(job),
  model_name: job.modelName,
  base_model: job.baseModel,
  dataset_id: job.datasetId,
  dataset_file: job.fileName,
  key_id: job.keyId,
  created_at: wireTime(job.createdAt),
  started_at: timeOrNull(job.startedAt),
  finished_at: timeOrNull(job.finishedAt),
  resume_count: job.resumeCount,
  resumable: hasResumeLeft(job) && !isFailedByData(job),
  queue: queueOnWire(job.queue),
  progress: progressOnWire(job.progress),
  losses: (job.losses ?? []).map(rounded),
  valid_loss: job.validLoss === null ? null : rounded(job.validLoss),
  training_seconds: Math.round(job.trainingSeconds),
  gpu_seconds: Math.round(job.trainingSeconds * (job.gpus ?? job.modelGpus) * job.nodes),
})

/** A curve of a few pixels shows no more digits. */
const rounded = (loss: number) => Number(loss.toPrecision(4))
