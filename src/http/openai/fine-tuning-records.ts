// The events and checkpoints of a training job, newest first.
import { isModelId } from '../../domain/model-reference.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { listCheckpoints } from '../../services/training-jobs/list-checkpoints.ts'
import { listJobTimeline } from '../../services/training-jobs/list-timeline.ts'
import { defineRoute } from '../kit/route.ts'
import { pageOf } from './files.ts'
import {
  CheckpointListQuery,
  EventListQuery,
  FineTuningCheckpointList,
  FineTuningEventList,
  FineTuningJobPath,
  jobPrefix,
} from './fine-tuning-schemas.ts'
import { seconds } from './generation.ts'
import { eventOf, nameOfTuned } from './job.ts'
import { metricsOf, seriesOf, trainingOf, validationOf } from './metrics-event.ts'
import { rewardsOf } from './reinforcement-metrics.ts'

const path = '/openai/v1/fine_tuning/jobs/:fine_tuning_job_id'

export const fineTuningRecordRoutes = [
  defineRoute({
    name: 'openai_list_fine_tuning_events',
    method: 'get',
    path: `${path}/events`,
    summary: 'List the events of a training job and its reported steps, newest first',
    access: 'key',
    scope: 'read',
    params: FineTuningJobPath,
    query: EventListQuery,
    response: FineTuningEventList,
    async handle({ caller: ctx, params: { fine_tuning_job_id: jobId }, query: { after, limit = 20 } }) {
      const input = { jobId, after: after === undefined ? null : placeIn(after), limit: limit + 1 }
      const { job, entries } = await listJobTimeline({ ctx, input })
      return pageOf(
        entries.slice(0, limit).map((entry) => (entry.kind === 'event' ? eventOf(entry.event) : metricsOf(job, entry))),
        entries.length > limit,
      )
    },
  }),
  defineRoute({
    name: 'openai_list_fine_tuning_checkpoints',
    method: 'get',
    path: `${path}/checkpoints`,
    summary: 'List the model of a training job and the checkpoints that a resume can start from, newest first',
    access: 'key',
    scope: 'read',
    params: FineTuningJobPath,
    query: CheckpointListQuery,
    response: FineTuningCheckpointList,
    async handle({ caller: ctx, params: { fine_tuning_job_id: jobId }, query: { after, limit = 10 } }) {
      const { job, checkpoints } = await listCheckpoints({ ctx, input: { jobId } })
      const all = checkpoints.map(({ artifact, step, isFullyValidated, modelName, displayName }) => ({
        id: `ftckpt-${artifact.id}`,
        object: 'fine_tuning.job.checkpoint' as const,
        created_at: seconds(artifact.committedAt ?? new Date(0)),
        fine_tuning_job_id: jobPrefix + jobId,
        fine_tuned_model_checkpoint: isModelId(modelName) ? nameOfTuned(job, modelName) : modelName,
        display_name: displayName,
        step_number: artifact.step,
        metrics: {
          step: artifact.step,
          train_loss: step?.loss ?? null,
          ...trainingOf(step),
          ...validationOf(step, isFullyValidated),
          ...seriesOf(job, step?.series),
          ...rewardsOf(step, isFullyValidated),
        },
      }))
      if (after !== undefined) requireId(after, /^ftckpt-([0-9a-f-]{36})$/, 'a checkpoint')
      const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1
      const rest = after !== undefined && from === 0 ? [] : all.slice(from)
      return pageOf(rest.slice(0, limit), rest.length > limit)
    },
  }),
]

/** An event is named by its own number, a step by that of the step. */
function placeIn(after: string) {
  const number = requireId(after, /^ftevent-((?:step-)?\d{1,18})$/, 'an event')
  return number.startsWith('step-')
    ? { kind: 'step' as const, id: number.slice('step-'.length) }
    : { kind: 'event' as const, id: number }
}

function requireId(after: string, pattern: RegExp, what: string): string {
  const id = pattern.exec(after)?.[1]
  if (id === undefined) throw invalidInput('after', `after must be the id of ${what} of an earlier page.`)
  return id
}
