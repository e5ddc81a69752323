import { setTimeout as sleep } from 'node:timers/promises'
import type { Attempt } from '../src/domain/training-job.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { FineTuneDependencies } from './fine-tune-dependencies.ts'

/** A longer log keeps its end, which says what went wrong. */
export const logLimitBytes = 4 * 1024 * 1024

type LogStores = Pick<FineTuneDependencies, 'storage' | 'database'>

const waitedForMs = 5000
const retryMs = 10_000
const triedForMs = 30 * 60_000

/**
 * Copies the log of a run to where the API reads it, unless its length is unchanged.
 * @returns its length
 */
export async function copyLog(
  deps: Pick<FineTuneDependencies, 'trainers' | 'storage' | 'database'>,
  attempt: Attempt,
  copiedBytes: number,
): Promise<number> {
  const range = { offsetBytes: -logLimitBytes, limitBytes: logLimitBytes }
  const tail = await deps.trainers.readLogs({ name: attempt.runName }, range)
  if (tail === null || tail.sizeBytes === copiedBytes) return copiedBytes
  await writeLog(deps, attempt, tail.text)
  return tail.sizeBytes
}

/** Resolves when the store has the log, or after 5 s; then this worker retries for half an hour. */
export async function keepLog(deps: LogStores, attempt: Attempt, text: string) {
  const deadline = performance.now() + triedForMs
  const writing = (async () => {
    while (performance.now() < deadline) {
      const isKept = await writeLog(deps, attempt, text).then(
        () => true,
        () => false,
      )
      if (isKept) return
      await sleep(retryMs, undefined, { ref: false })
    }
  })()
  await Promise.race([writing, sleep(waitedForMs, undefined, { ref: false })])
}

async function writeLog({ storage, database }: LogStores, attempt: Attempt, text: string) {
  const bytes = Buffer.from(text)
  await storage.write(storageKeys.log(attempt.jobId, attempt.number), bytes)
  await database.attempts.noteLog(attempt, bytes.length)
}
