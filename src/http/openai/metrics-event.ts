// A reported step in OpenAI's format.
import { openAiSeries } from '../../domain/openai-series.ts'
import type { TrainingJob } from '../../domain/training-job.ts'
import { stepsOf } from '../../domain/training-steps.ts'
import { seconds } from './generation.ts'
import { reinforcementMetrics } from './reinforcement-metrics.ts'

type Measured = number | null | undefined
type Series = { token_accuracy?: Measured; valid_loss?: Measured; valid_token_accuracy?: Measured }
type ReportedStep = Series & { step: number; loss: number; valid_rows?: number | null }

export function metricsOf(job: TrainingJob, { at, step: reported }: { at: Date; step: ReportedStep }) {
  const { step, loss } = reported
  const { spec, preparedData } = job
  const total = stepsOf({ ...spec, trainRows: preparedData?.train.rowCount ?? null })
  const isFull = reported.valid_rows === preparedData?.evaluation.rowCount
  const validation = validationOf(reported, isFull)
  const ofReward = spec.method?.task && reinforcementMetrics(spec.method.task, reported, { isFull })
  const validLoss = validation.valid_loss === undefined ? '' : `, validation loss=${validation.valid_loss.toFixed(2)}`
  const reward =
    ofReward?.train_mean_reward === undefined ? '' : `, mean reward=${ofReward.train_mean_reward.toFixed(2)}`
  return {
    id: `ftevent-step-${step}`,
    object: 'fine_tuning.job.event' as const,
    created_at: seconds(at),
    level: 'info' as const,
    message: `Step ${step}${total === null ? '' : `/${total}`}: training loss=${loss.toFixed(2)}${validLoss}${reward}`,
    type: 'metrics' as const,
    data: {
      step,
      ...(total !== null && { total_steps: total }),
      train_loss: loss,
      ...trainingOf(reported),
      ...validation,
      ...seriesOf(job, reported),
      ...ofReward,
    },
  }
}

/** The figures of the job's method. */
export function seriesOf({ spec }: Pick<TrainingJob, 'spec'>, step: object = {}): Record<string, number> {
  const values = new Map<string, unknown>(Object.entries(step))
  return Object.fromEntries(
    openAiSeries(spec).flatMap(({ stored, shown }) => {
      const value = values.get(stored)
      return typeof value === 'number' ? [[shown, value]] : []
    }),
  )
}

type Validation = {
  valid_loss?: number
  valid_mean_token_accuracy?: number | undefined
  full_valid_loss?: number
  full_valid_mean_token_accuracy?: number | undefined
}

/** Empty where the accuracy was not measured. */
export const trainingOf = ({ token_accuracy }: Series = {}): { train_mean_token_accuracy?: number } =>
  token_accuracy === undefined || token_accuracy === null ? {} : { train_mean_token_accuracy: token_accuracy }

/** Empty where the step has no validation. `isFull`: it took every held-out row. */
export function validationOf(step: Series | undefined, isFull: boolean): Validation {
  const { valid_loss, valid_token_accuracy } = step ?? {}
  if (valid_loss === undefined || valid_loss === null) return {}
  const valid_mean_token_accuracy = valid_token_accuracy ?? undefined
  const full = { full_valid_loss: valid_loss, full_valid_mean_token_accuracy: valid_mean_token_accuracy }
  return { valid_loss, valid_mean_token_accuracy, ...(isFull && full) }
}
