// Shows the answers that a reinforcement job sampled for a step, with their rewards.
import { DatasetInvalidError } from '../../datasets/dataset-invalid-error.ts'
import type { RolloutPage } from '../../datasets/rollout-page.ts'
import { rolloutFiles, type RolloutSplit } from '../../domain/rollouts.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

type ReadInput = {
  jobId: number
  /** The newest step with samples when absent. */
  step: number | undefined
  row: number | undefined
  split: RolloutSplit
  /** Groups to pass over. */
  after: number
  limit: number
}
/** `policyStep`: the updates that the sampling model had seen. */
type Rollouts = RolloutPage & { step: number; policyStep: number }

/** @throws ServiceError not_found */
export async function readRollouts({
  ctx,
  input,
  signal,
}: {
  ctx: Ctx
  input: ReadInput
  signal: AbortSignal
}): Promise<Rollouts> {
  const { split } = input
  const { database, datasets } = ctx.deps
  const { id } = await findTrainingJob(ctx, input.jobId)
  const names = rolloutFiles[split]
  const step = input.step ?? (await database.artifacts.newestRolloutStep(id, names.samples))
  const [found] = step === null ? [] : await database.artifacts.listRollouts(id, { from: step, to: step })
  const keyOf = (name: string) => found?.files.find((file) => file.name === name)?.key
  const [samplesKey, rewardsKey] = [keyOf(names.samples), keyOf(names.rewards)]
  if (step === null || samplesKey === undefined) throw noRollouts({ jobId: id, step, split })
  const { row, after, limit } = input
  const wanted = { samplesKey, rewardsKey: rewardsKey ?? null, row, after, limit }
  const page = await datasets.rollouts({ ...wanted, accountId: ctx.accountId }, signal).catch(asConflict)
  if (!page) throw noRollouts({ jobId: id, step, split })
  return { step, policyStep: split === 'train' ? step - 1 : step, ...page }
}

function asConflict(error: unknown): never {
  throw error instanceof DatasetInvalidError ? new ServiceError('conflict', error.message) : error
}

const noRollouts = ({ jobId, step, split }: { jobId: number; step: number | null; split: RolloutSplit }) =>
  new ServiceError(
    'not_found',
    `Job ${jobId} has no ${split === 'train' ? '' : 'held-out '}rollouts${step === null ? '' : ` of step ${step}`}. A job of reinforcement has them from its sampling until keep_rollouts days after its end.`,
  )
