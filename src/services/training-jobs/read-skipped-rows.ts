import { Readable } from 'node:stream'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

type SkippedRows = { bytes: AsyncIterable<Buffer>; sizeBytes: number }

/**
 * Reads the rows that a job has left out as JSON Lines of {line, field, reason}. They are kept as long as the job's rows.
 * @throws ServiceError not_found, conflict before the job has read its rows
 */
export async function readSkippedRows({ ctx, input }: { ctx: Ctx; input: { jobId: number } }): Promise<SkippedRows> {
  const { id, status, preparedData, finishedAt } = await findTrainingJob(ctx, input.jobId)
  if (!preparedData && !finishedAt)
    throw new ServiceError('conflict', `Job ${id} is ${status} and has not read its rows yet.`)
  const skipped = preparedData?.skipped
  if (!skipped) return { bytes: Readable.from([]), sizeBytes: 0 }
  const bytes = await ctx.deps.storage.read(skipped.key)
  if (!bytes)
    throw new ServiceError('not_found', `The list of the rows that job ${id} has left out is no longer kept.`)
  return { bytes, sizeBytes: skipped.sizeBytes }
}
