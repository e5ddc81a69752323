import { ServiceError } from '../../domain/service-error.ts'
import type { DataSplit, EvaluationRow } from '../../domain/training-job.ts'
import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'

type EvaluationInput = {
  split: DataSplit
  results: (Omit<EvaluationRow, 'split' | 'prefersChosen' | 'item' | 'samples'> & {
    item?: EvaluationRow['item'] | undefined
    samples?: EvaluationRow['samples'] | undefined
    prefers_chosen?: EvaluationRow['prefersChosen'] | undefined
  })[]
}

/**
 * Stores the evaluation of the job's newest committed model; a repeat replaces it.
 * @throws ServiceError attempt_fenced, conflict without a model
 */
export async function recordEvaluation({
  pod,
  input: { split, results },
}: {
  pod: PodCtx
  input: EvaluationInput
}): Promise<void> {
  await fencedWrite(pod, async (tx, { jobId }) => {
    const [model] = await tx.artifacts.listUsable(jobId, 'model', 1)
    if (!model)
      throw new ServiceError('conflict', 'This job has no committed model to evaluate. Commit the model first.')
    await tx.artifacts.replaceEvaluation(
      model.id,
      results.map(({ prefers_chosen: prefersChosen, item, samples, ...row }) => ({
        ...row,
        split,
        ...(item && { item }),
        ...(samples && { samples }),
        ...(prefersChosen && { prefersChosen }),
      })),
    )
  })
}
