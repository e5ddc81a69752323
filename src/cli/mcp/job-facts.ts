// A job as the tools tell it: without paths, links and the full history of its losses.
import type { Answer } from '../remote/operations.ts'
import type { TrainingStep } from '../remote/progress-line.ts'

type Listed = Answer<'get', '/v1/train/jobs'>[number]
type Job = Answer<'get', '/v1/train/jobs/:job_id'>

const newestLosses = 10

export const jobFacts = (job: Listed | Job) => ({
  job_id: job.job_id,
  status: job.status,
  ...('status_reason' in job && { status_reason: job.status_reason, status_message: job.status_message }),
  base_model: job.base_model,
  dataset_id: job.dataset_id,
  model_name: job.model_name,
  name: job.requested_name,
  accepted_at: job.created_at,
  finished_at: job.finished_at,
  queue: job.queue,
  progress: job.progress,
  arguments: givenArguments(job),
  gpu_config: job.gpu_config,
  metadata: job.metadata,
  training_seconds: job.attempts.training_seconds,
  gpu_seconds: job.attempts.gpu_seconds,
  resume_count: job.resume_count,
  ...('history' in job && { newest_losses: lossesIn(job.history) }),
})

/** The arguments that are not defaults. */
function givenArguments({ finetune_args: args, finetune_args_defaults: defaults }: Listed) {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !defaults.includes(name)))
}

const lossesIn = (history: string) =>
  (JSON.parse(history) as TrainingStep[]).slice(-newestLosses).map(({ step, loss }) => ({ step, loss }))
