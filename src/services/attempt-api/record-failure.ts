import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'

/** Stores the pod's reason for exiting. The exit code decides the cause. @throws ServiceError attempt_fenced */
export async function recordFailure({
  pod,
  input: { cause, message },
}: {
  pod: PodCtx
  input: { cause: string; message: string }
}): Promise<void> {
  await fencedWrite(pod, (tx, { jobId, number }) =>
    tx.attempts.update({ jobId, number }, { reportedCause: cause, message }),
  )
}
