import { setTimeout as sleep } from 'node:timers/promises'
import type { Attempt } from '../src/domain/training-job.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { FineTuneDependencies } from './fine-tune.ts'

/** A log that grew beyond this keeps its end: what went wrong stands there. */
export const logLimitBytes = 4 * 1024 * 1024

const waitedForMs = 5000
const retryMs = 10_000
const triedForMs = 30 * 60_000

/**
 * Copies the log of a run to where the API reads it, unless it is as long as it was.
 * @returns how long it is
 */
export async function copyLog(
  deps: Pick<FineTuneDependencies, 'compute' | 'storage'>,
  attempt: Attempt,
  copiedBytes: number,
): Promise<number> {
  const range = { offsetBytes: -logLimitBytes, limitBytes: logLimitBytes }
  const tail = await deps.compute.readLogs({ name: attempt.runName }, range)
  if (tail === null || tail.sizeBytes === copiedBytes) return copiedBytes
  await writeLog(deps, attempt, tail.text)
  return tail.sizeBytes
}

/** Resolves when the store has it, or after 5 s; then this worker goes on trying for half an hour. */
export async function keepLog(deps: Pick<FineTuneDependencies, 'storage'>, attempt: Attempt, text: string) {
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

async function writeLog({ storage }: Pick<FineTuneDependencies, 'storage'>, { jobId, number }: Attempt, text: string) {
  await storage.write(storageKeys.log(jobId, number), Buffer.from(text))
}
