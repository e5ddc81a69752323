import type { TrainingStep } from '../../domain/training-job.ts'
import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'

/** A repeated step overwrites. @throws ServiceError attempt_fenced */
export async function recordSteps({
  pod,
  input: { steps },
}: {
  pod: PodCtx
  input: { steps: readonly TrainingStep[] }
}): Promise<void> {
  if (steps.length === 0) return
  await fencedWrite(pod, async (tx, attempt) => {
    const { jobId, number, fromStep } = attempt
    // One row a step: the statement below may touch each only once.
    const newest = new Map(steps.filter(({ step }) => step > fromStep).map((row) => [row.step, row]))
    await tx.trainingSteps.upsertMany(jobId, number, [...newest.values()])
    await tx.attempts.update({ jobId, number }, { lastStep: Math.max(attempt.lastStep ?? 0, ...newest.keys()) })
  })
}
