import type { TrainingStep } from '../../domain/training-step.ts'
import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'

/** Stores training steps; a repeated step replaces the old one. @throws ServiceError attempt_fenced */
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
    // The statement below must not touch a row twice.
    // A stop may have come between the step of the checkpoint and its report, which then comes from here.
    const newest = new Map(steps.filter(({ step }) => step >= fromStep).map((row) => [row.step, row]))
    await tx.trainingSteps.upsertMany(jobId, number, [...newest.values()])
    await tx.attempts.update({ jobId, number }, { lastStep: Math.max(attempt.lastStep ?? 0, ...newest.keys()) })
  })
}
