// Time that an attempt used, and how much of it was productive. docs/reliability.md defines both for users.
import type { Attempt, TrainingSpec } from './training-job.ts'

/** In seconds. `productive` and `lost` add up to `allocated`. */
export type AttemptLedger = { allocated: number; productive: number; lost: number }

type Counted = Pick<Attempt, 'claimedAt' | 'workingAt' | 'savedAt' | 'endedAt' | 'cause'>

/**
 * The start-up and the work after the last save are lost. A running attempt has lost its start-up only.
 * @param repeatedFrom from then on, a later attempt did the same work again
 */
export function ledgerOf(
  { claimedAt, workingAt, savedAt, endedAt, cause }: Counted,
  { repeatedFrom, now }: { repeatedFrom: Date | null; now: Date },
): AttemptLedger {
  if (claimedAt === null) return { allocated: 0, productive: 0, lost: 0 }
  const claimed = claimedAt.getTime()
  const end = Math.max(claimed, (endedAt ?? now).getTime())
  const keptByItself = endedAt === null || cause === 'finished' ? end : (savedAt?.getTime() ?? claimed)
  const kept = Math.min(end, keptByItself, repeatedFrom?.getTime() ?? end)
  const working = Math.min(end, Math.max(claimed, workingAt?.getTime() ?? end))
  const allocated = (end - claimed) / 1000
  const productive = Math.max(0, kept - working) / 1000
  return { allocated, productive, lost: allocated - productive }
}

/** GPUs of all nodes together. The SQL that releases an attempt uses the same formula. */
export const gpuCountOf = ({
  gpus,
  nodes,
  baseModel,
}: Pick<TrainingSpec, 'gpus' | 'nodes'> & { baseModel: { resources: { gpuCount: number } } }): number =>
  nodes * (gpus ?? baseModel.resources.gpuCount)
