import { ServiceError } from '../../domain/service-error.ts'
import type { DataSplit, EvaluationRow } from '../../domain/training-job.ts'
import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'

export type EvaluationInput = { split: DataSplit; results: Omit<EvaluationRow, 'split'>[] }

/** Belongs to the newest committed model of the job; a repeat replaces. @throws ServiceError attempt_fenced, conflict without a model */
export async function recordEvaluation({
  pod,
  input: { split, results },
}: {
  pod: PodCtx
  input: EvaluationInput
}): Promise<void> {
  await fencedWrite(pod, async (tx, { jobId }) => {
    const [model] = await tx.artifacts.listUsable(jobId, 'model', 1)
    if (!model) throw new ServiceError('conflict', 'An evaluation needs a committed model.')
    await tx.artifacts.replaceEvaluation(
      model.id,
      results.map((row) => ({ ...row, split })),
    )
  })
}
