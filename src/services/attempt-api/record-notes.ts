import type { RowCounts } from '../../domain/row-tokens.ts'
import type { TrainingNote } from '../../domain/training-args.ts'
import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'

/**
 * Adds the trainer's notes, such as a shortened max_length, to the job's events, and keeps its counts of rows and tokens.
 * An attempt that goes on from a checkpoint repeats the notes of the steps since then: each is added once.
 * @throws ServiceError attempt_fenced
 */
export async function recordNotes({
  pod,
  input: { notes, truncatedRows, rowCounts },
}: {
  pod: PodCtx
  input: { notes: readonly TrainingNote[]; truncatedRows?: number | undefined; rowCounts?: RowCounts | undefined }
}): Promise<void> {
  await fencedWrite(pod, async (tx, { jobId, number }) => {
    const counts = { ...(truncatedRows !== undefined && { truncatedRows }), ...(rowCounts && { rowCounts }) }
    if (Object.keys(counts).length > 0) await tx.attempts.update({ jobId, number }, counts)
    await tx.jobEvents.addOnce(
      jobId,
      ...notes.map(({ code, message }) => ({
        kind: 'note' as const,
        attempt: number,
        reason: code,
        message,
        actor: `attempt:${number}`,
      })),
    )
  })
}
