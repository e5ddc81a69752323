import { fineTuneWorkflowId } from '../../domain/identifiers.ts'
import { attemptPhases, type AttemptPhase } from '../../domain/training-job-status.ts'
import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'

/** Moves the phase forward and tells the workflow by the outbox. A repeat does nothing. @throws ServiceError attempt_fenced */
export async function reportPhase({
  pod,
  input: { phase },
}: {
  pod: PodCtx
  input: { phase: AttemptPhase }
}): Promise<void> {
  await fencedWrite(pod, async (tx, attempt) => {
    const reached = attempt.phase === null ? -1 : attemptPhases.indexOf(attempt.phase)
    if (attemptPhases.indexOf(phase) <= reached) return
    const { jobId, number, generation } = attempt
    await tx.attempts.update({ jobId, number }, { phase })
    await tx.outbox.add({
      workflowId: fineTuneWorkflowId(jobId),
      kind: 'phase',
      generation,
      payload: { attempt: number, phase },
    })
  })
}
