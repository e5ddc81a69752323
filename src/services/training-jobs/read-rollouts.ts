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
type Rollouts = Omit<RolloutPage, 'groups'> & { step: number; policyStep: number; groups: ShownGroup[] }
/** `datasetId`, `line`: where the row stands in the user's own files; null where it is not known. */
type ShownGroup = Omit<RolloutPage['groups'][number], 'place'> & { datasetId: string | null; line: number | null }

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
  const job = await findTrainingJob(ctx, input.jobId)
  const { id } = job
  const names = rolloutFiles[split]
  const step = input.step ?? (await database.artifacts.newestRolloutStep(id, names.samples))
  const [found] = step === null ? [] : await database.artifacts.listRollouts(id, { from: step, to: step })
  const keyOf = (name: string) => found?.files.find((file) => file.name === name)?.key
  const [samplesKey, rewardsKey] = [keyOf(names.samples), keyOf(names.rewards)]
  if (step === null || samplesKey === undefined) throw noRollouts({ jobId: id, step, split })
  const { row, after, limit } = input
  const linesKey = job.preparedData?.[split === 'train' ? 'train' : 'evaluation'].lines?.key ?? null
  const wanted = { samplesKey, rewardsKey: rewardsKey ?? null, linesKey, row, after, limit }
  const page = await datasets.rollouts({ ...wanted, accountId: ctx.accountId }, signal).catch(asConflict)
  if (!page) throw noRollouts({ jobId: id, step, split })
  // Rows that the caller gave for the evaluation are in no data set of the job.
  const onlySet = split === 'held_out' && job.spec.evaluationKey !== null ? null : job.datasetId
  const groups = page.groups.map(({ place, ...group }) => ({
    ...group,
    datasetId: place && (place.set ?? onlySet),
    line: place && place.line,
  }))
  return { step, policyStep: split === 'train' ? step - 1 : step, groups, next: page.next }
}

function asConflict(error: unknown): never {
  throw error instanceof DatasetInvalidError ? new ServiceError('conflict', error.message) : error
}

const noRollouts = ({ jobId, step, split }: { jobId: number; step: number | null; split: RolloutSplit }) =>
  new ServiceError(
    'not_found',
    `Job ${jobId} has no ${split === 'train' ? '' : 'held-out '}rollouts${step === null ? '' : ` of step ${step}`}. A job of reinforcement has them from its sampling until keep_rollouts days after its end.`,
  )
