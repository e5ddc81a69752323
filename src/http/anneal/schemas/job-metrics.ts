import { z } from 'zod'
import { named } from '../../kit/named-schemas.ts'
import { queryInt } from '../../kit/params.ts'

export const MetricsQuery = z.strictObject({
  since_step: queryInt({ min: 0, max: 2 ** 31 - 1 })
    .optional()
    .describe('Only later steps; the `next` of the page before'),
  limit: queryInt({ min: 1, max: 10_000 }).optional().describe('Default 1000'),
})

const series = z.number().nullable()

const MethodSeries = named(
  'MethodSeries',
  z
    .record(z.string(), z.number())
    .describe('Figures that only some methods of training have, by their names in TRL, such as rewards/margins'),
)

/** The series that every metric has, null where the trainer reported none at this step. Others follow as they are stored. */
export const Metric = named(
  'TrainingJobMetric',
  z.looseObject({
    step: z.int().describe('The step, from 1'),
    loss: z.number().describe('Per target token of this step'),
    token_accuracy: series.describe('Share of the tokens of this step that the model predicts right, from 0 to 1'),
    valid_loss: series.describe('Loss on held-out rows'),
    valid_token_accuracy: series.describe('Share of the held-out tokens that the model predicts right, from 0 to 1'),
    learning_rate: series.describe('The learning rate of this step'),
    grad_norm: series.describe('Length of the gradient before it is cut to max_grad_norm'),
    epoch: series.describe('Passes over the training rows so far'),
    tokens_per_second: series.describe('Training tokens per second'),
    iter_time: series.describe('Seconds per step'),
    remaining_time: series.describe('In seconds'),
    flops: series.describe('Since the first step'),
    series: MethodSeries.optional(),
  }),
)
export type Metric = z.infer<typeof Metric>

/** Its media type is application/octet-stream. */
export const TensorBoardFile = named('TensorBoardFile', z.unknown().describe('An event file of TensorBoard'))

export const MetricList = named(
  'TrainingJobMetrics',
  z.object({
    metrics: z.array(Metric).describe('The figures of the page, in the order of steps'),
    next: z.int().nullable().describe('The `since_step` of the next page; null on the last'),
  }),
)
