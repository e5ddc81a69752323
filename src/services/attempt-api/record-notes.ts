import type { TrainingNote } from '../../domain/training-args.ts'
import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'

/** Adds the trainer's notes, such as a shortened max_length, to the job's events. @throws ServiceError attempt_fenced */
export async function recordNotes({
  pod,
  input: { notes },
}: {
  pod: PodCtx
  input: { notes: readonly TrainingNote[] }
}): Promise<void> {
  await fencedWrite(pod, (tx, { jobId, number }) =>
    tx.jobEvents.add(
      jobId,
      ...notes.map(({ code, message }) => ({
        kind: 'note' as const,
        attempt: number,
        reason: code,
        message,
        actor: `attempt:${number}`,
      })),
    ),
  )
}
