import { storageKeys } from '../../domain/storage-keys.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

/**
 * Reads an attempt's log from the object store. The worker copies it there while the program runs and when it ends.
 * @param input.attempt defaults to the newest attempt
 * @throws ServiceError not_found
 */
export async function readJobLogs({
  ctx,
  input: { jobId, attempt, offset, limit },
}: {
  ctx: Ctx
  input: { jobId: number; attempt?: number | undefined; offset?: number | undefined; limit: number }
}): Promise<{ attempt: number; text: string; nextOffset: number; complete: boolean }> {
  const { database, storage } = ctx.deps
  const job = await findTrainingJob(ctx, jobId)
  const number = attempt ?? job.currentAttempt
  const [found] = number === 0 ? [] : await database.attempts.list(jobId, { before: number + 1, limit: 1 })
  if (number !== 0 && found?.number !== number)
    throw new ServiceError('not_found', `Job ${jobId} has no attempt ${number}.`)
  const start = offset ?? 0
  const { bytes, sizeBytes } = await storage.readRange(storageKeys.log(jobId, number), { offset: start, limit })
  const whole = bytes.subarray(0, wholeCharacters(bytes))
  const nextOffset = start + whole.length
  return {
    attempt: number,
    text: whole.toString(),
    nextOffset,
    complete: found?.releasedAt != null && nextOffset >= sizeBytes,
  }
}

/** Length without an incomplete UTF-8 character at the end. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? bytes.length - back : bytes.length
    if (byte < 0x80) break
  }
  return bytes.length
}
