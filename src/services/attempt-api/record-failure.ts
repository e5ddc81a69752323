import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'

/** The pod's own sentence on why it is about to exit; the exit code decides, this explains. @throws ServiceError attempt_fenced */
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
