import type { Attempt } from '../src/domain/training-job.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { FineTuneDependencies } from './fine-tune.ts'

/** A log that grew beyond this keeps its end: what went wrong stands there. */
const limitBytes = 4 * 1024 * 1024

/** Copies the log of a run to where the API reads it. */
export async function copyLog(
  { compute, storage }: Pick<FineTuneDependencies, 'compute' | 'storage'>,
  { jobId, number, runName }: Attempt,
) {
  const tail = await compute.readLogs({ name: runName }, { offsetBytes: -limitBytes, limitBytes })
  if (tail) await storage.write(storageKeys.log(jobId, number), Buffer.from(tail.text))
}
