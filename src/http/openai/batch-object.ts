import { z } from 'zod'
import { batchAgeLimitMs, batchEndpoints, type RequestBatch } from '../../domain/inference-batch.ts'
import { named } from '../kit/named-schemas.ts'
import { seconds } from './generation.ts'
import { idOf } from './ids.ts'

const time = z.int().nullable()
const statuses = [
  'validating',
  'in_progress',
  'finalizing',
  'completed',
  'failed',
  'expired',
  'cancelling',
  'cancelled',
] as const
type Status = (typeof statuses)[number]

export const Batch = named(
  'OpenAiBatch',
  z.object({
    id: z.string().describe('The id of the batch'),
    object: z.literal('batch').describe('Always batch'),
    endpoint: z.enum(batchEndpoints).describe('The path that answers each line'),
    errors: z
      .object({
        object: z.literal('list').describe('Always list'),
        data: z
          .array(
            z.object({
              code: z.string().describe('A machine-readable error code'),
              message: z.string().describe('A sentence that says what is wrong'),
              param: z.null().describe('Always null'),
              line: z.null().describe('Always null'),
            }),
          )
          .describe('The errors'),
      })
      .nullable()
      .describe('Why the batch as a whole failed. The errors of lines are in the error file'),
    input_file_id: z.string().describe('The file of requests'),
    completion_window: z.literal('24h').describe('Always 24h'),
    status: z.enum(statuses).describe('The state. completed, failed, expired and cancelled are final'),
    output_file_id: z.string().nullable().describe('The file of answers; null until the batch ends'),
    error_file_id: z.string().nullable().describe('The lines that were refused, or not begun before the end'),
    created_at: z.int().describe('Time of acceptance, in seconds since 1970'),
    in_progress_at: time.describe('When the first line was begun, in seconds since 1970'),
    expires_at: time.describe('24 hours after the first line was begun'),
    finalizing_at: time.describe('When the writing of the files began, in seconds since 1970'),
    completed_at: time.describe('When the batch completed, in seconds since 1970'),
    failed_at: time.describe('When it failed, in seconds since 1970'),
    expired_at: time.describe('When it expired, in seconds since 1970'),
    cancelling_at: time.describe('When its cancel was accepted, in seconds since 1970'),
    cancelled_at: time.describe('When its cancel took effect, in seconds since 1970'),
    request_counts: z
      .object({
        total: z.int().describe('Number of lines'),
        completed: z.int().describe('Lines with an answer'),
        failed: z.int().describe('Lines with an error'),
      })
      .describe('The lines of the batch'),
    metadata: z.record(z.string(), z.string()).nullable().describe('The pairs of the request; null without any'),
  }),
)

export function batchOf(batch: RequestBatch): z.output<typeof Batch> {
  const { requests } = batch.request
  const status = statusOf(batch)
  const endedAs = (wanted: Status) => (status === wanted ? secondsOrNull(batch.finishedAt) : null)
  const startedAt = batch.startedAt ?? batch.createdAt
  return {
    id: idOf('batch', batch.id),
    object: 'batch',
    endpoint: requests?.endpoint ?? '/v1/completions',
    errors: errorsOf(batch, status),
    input_file_id: requests?.inputFileId ?? '',
    completion_window: '24h',
    status,
    output_file_id: batch.outputFileId,
    error_file_id: batch.errorFileId,
    created_at: seconds(batch.createdAt),
    in_progress_at: secondsOrNull(batch.startedAt),
    expires_at: seconds(new Date(startedAt.getTime() + batchAgeLimitMs)),
    finalizing_at: secondsOrNull(batch.finalizingAt),
    completed_at: endedAs('completed'),
    failed_at: endedAs('failed'),
    expired_at: endedAs('expired'),
    cancelling_at: secondsOrNull(batch.cancelledAt),
    cancelled_at: endedAs('cancelled'),
    request_counts: {
      total: batch.itemCount,
      completed: batch.doneCount - batch.failedCount,
      failed: batch.failedCount,
    },
    metadata: requests?.metadata ?? null,
  }
}

function statusOf({ state, endReason, startedAt, finalizingAt, doneCount, itemCount }: RequestBatch): Status {
  if (state === 'done') return 'completed'
  if (state === 'failed') return endReason ?? 'failed'
  if (endReason === 'cancelled') return 'cancelling'
  if (finalizingAt !== null || endReason !== null || doneCount === itemCount) return 'finalizing'
  return startedAt === null ? 'validating' : 'in_progress'
}

function errorsOf({ message }: RequestBatch, status: Status) {
  if (status !== 'failed' && status !== 'expired') return null
  const data = [{ code: `batch_${status}`, message: message ?? 'The batch failed.', param: null, line: null }]
  return { object: 'list' as const, data }
}

const secondsOrNull = (date: Date | null) => (date === null ? null : seconds(date))
