import type { Attempt } from '../src/domain/training-job.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { FineTuneDependencies } from './fine-tune.ts'

/** A log that grew beyond this keeps its end: what went wrong stands there. */
export const logLimitBytes = 4 * 1024 * 1024

/** Copies the log of a run to where the API reads it. */
export async function copyLog(deps: Pick<FineTuneDependencies, 'compute' | 'storage'>, attempt: Attempt) {
  const range = { offsetBytes: -logLimitBytes, limitBytes: logLimitBytes }
  const tail = await deps.compute.readLogs({ name: attempt.runName }, range)
  if (tail) await writeLog(deps, attempt, tail.text)
}

export async function writeLog(
  { storage }: Pick<FineTuneDependencies, 'storage'>,
  { jobId, number }: Attempt,
  text: string,
) {
  await storage.write(storageKeys.log(jobId, number), Buffer.from(text))
}
