// Shapes what the services tell of a job for the wire.
import type { DataSource, PreparedSource } from '../../domain/data-sources.ts'
import { datasetDisplayName, jobDisplayName } from '../../domain/display-name.ts'
import { fineTuneWorkflowId } from '../../domain/identifiers.ts'
import type { JobProgress } from '../../domain/job-progress.ts'
import { costMicros } from '../../domain/prices.ts'
import { defaultedHyperparameters, shownMethod } from '../../domain/training-method.ts'
import type { RowCounts } from '../../domain/row-tokens.ts'
import { wireTime } from '../../domain/timestamps.ts'
import type { TrainingJobSummary } from '../../domain/training-job.ts'
import type { Ctx } from '../../services/context.ts'
import type { DescribedJob } from '../../services/training-jobs/describe.ts'
import { shownIntegration } from './schemas/integrations.ts'
import type { Metric } from '../anneal/schemas/job-metrics.ts'
import type { JobSummary } from './schemas/job-resource.ts'

const timeOrNull = (date: Date | null) => date && wireTime(date)

export const summaryOf = (ctx: Ctx, job: TrainingJobSummary, details: DescribedJob): JobSummary => ({
  job_id: job.id,
  status: job.status,
  start_time: wireTime(job.createdAt),
  model_name: job.modelName,
  custom_model_name: job.modelName === null ? null : (job.customModelName ?? ''),
  requested_name: job.customModelName,
  resume_count: job.resumeCount,
  dataset_id: job.datasetId,
  resume_limit: job.resumeLimit,
  status_reason: details.statusReason,
  status_message: details.statusMessage,
  display_name: jobDisplayName(details),
  ...resourceOf(ctx, details),
})

function resourceOf(ctx: Ctx, job: DescribedJob) {
  const { args, givenArgs, queue, nodes, trainingSeconds } = job
  const gpus = job.gpus ?? job.modelGpus
  const { prices } = ctx.deps.settings
  const time = { trainingSeconds, trainingGpuSeconds: trainingSeconds * gpus * nodes }
  return {
    base_model: job.baseModel,
    finetune_args: args,
    finetune_args_defaults: Object.keys(args).filter((name) => !givenArgs.includes(name)),
    method: {
      ...shownMethod(job, ctx.deps.catalogue.find(job.baseModel)),
      defaulted: defaultedHyperparameters(job.method),
    },
    gpu_config: { gpus, nodes },
    sent_by: senderOnWire(ctx, job.sender),
    created_at: wireTime(job.createdAt),
    started_at: timeOrNull(job.startedAt),
    finished_at: timeOrNull(job.finishedAt),
    queue: queueOnWire(queue),
    progress: progressOnWire(job.progress),
    dataset: {
      id: job.datasetId,
      display_name: datasetDisplayName(job),
      rows: job.checkedRows,
      train_rows: job.trainRows,
      truncated_rows: job.truncatedRows,
      tokens: job.estimatedTokens,
      counted: job.rowCounts && countsOnWire(job.rowCounts),
    },
    ...(job.sources && { datasets: setsOnWire(job.sources, job.preparedSources) }),
    skip_bad_rows: job.skipsBadRows,
    skipped_rows: job.skippedRows,
    attempts: {
      count: job.attemptCount,
      newest: newestAttemptOf(job),
      training_seconds: trainingSeconds,
      gpu_seconds: time.trainingGpuSeconds,
    },
    ...(prices && { cost: { currency: prices.currency, micros: costMicros(prices, time) } }),
    links: linksOf(ctx, job.id),
    metadata: job.metadata ?? {},
    integrations: (job.trackers ?? []).map(shownIntegration),
  }
}

/** Only an admin of the account sees who a person is at the identity provider. */
const senderOnWire = ({ isAdmin }: Ctx, { keyId, name, person }: DescribedJob['sender']) => ({
  key_id: keyId,
  name,
  person: isAdmin ? person : null,
})

const countsOnWire = ({ withoutEnd, isWhole, ...counts }: RowCounts) => ({
  ...counts,
  without_end: withoutEnd,
  complete: isWhole,
})

const setsOnWire = (sources: readonly DataSource[], prepared: readonly PreparedSource[] | null) =>
  sources.map(({ datasetId, weight }, index) => ({
    dataset_id: datasetId,
    weight,
    rows: prepared?.[index]?.rowCount ?? null,
    train_rows: prepared?.[index]?.trainRows ?? null,
    held_out_rows: prepared?.[index]?.heldOutRows ?? null,
  }))

const newestAttemptOf = ({ newestAttempt }: DescribedJob) =>
  newestAttempt && {
    attempt: newestAttempt.number,
    mode: newestAttempt.mode,
    phase: newestAttempt.phase,
    cause: newestAttempt.cause,
    created_at: wireTime(newestAttempt.createdAt),
    claimed_at: timeOrNull(newestAttempt.claimedAt),
    ended_at: timeOrNull(newestAttempt.endedAt),
  }

function linksOf({ deps: { settings } }: Ctx, jobId: number) {
  const self = `/v1/train/jobs/${jobId}`
  return {
    self,
    events: `${self}/events`,
    logs: `${self}/logs`,
    attempts: `${self}/attempts`,
    metrics: `${self}/metrics`,
    stream: `${self}/stream`,
    evaluation: `${self}/eval`,
    temporal_ui: settings.temporalWorkflowsUrl && `${settings.temporalWorkflowsUrl}/${fineTuneWorkflowId(jobId)}`,
  }
}

export const queueOnWire = (queue: DescribedJob['queue']) =>
  queue && { ...queue, ahead: queue.place === null ? null : queue.place - 1 }

export const progressOnWire = (progress: JobProgress | null) =>
  progress && {
    step: progress.step,
    of: progress.of,
    percent: progress.percent,
    tokens: progress.tokens,
    tokens_per_second: progress.tokensPerSecond,
    remaining_seconds: progress.remainingSeconds,
  }

const missingSeries = {
  valid_loss: null,
  valid_token_accuracy: null,
  token_accuracy: null,
  learning_rate: null,
  grad_norm: null,
  epoch: null,
  tokens_per_second: null,
  iter_time: null,
  remaining_time: null,
  flops: null,
}

const isColumn = (name: string) => name in missingSeries || ['step', 'loss', 'tokens', 'valid_rows'].includes(name)

export function metricOnWire(row: { step: number; loss: number }): Metric {
  const entries = Object.entries(row)
  const ofMethod = Object.fromEntries(entries.filter(([name]) => !isColumn(name)))
  const columns = Object.fromEntries(entries.filter(([name]) => isColumn(name))) as typeof row
  return { ...missingSeries, ...columns, ...(Object.keys(ofMethod).length > 0 && { series: ofMethod }) }
}
