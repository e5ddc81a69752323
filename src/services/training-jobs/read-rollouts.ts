// Shows the answers that a reinforcement job sampled for a step, with their rewards.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { rolloutFiles, type GradeError, type RolloutSplit } from '../../domain/rollouts.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { inByteTurn } from '../byte-turns.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from './get.ts'

/** A page ends after so many bytes of samples, most of which are the log-probabilities of their tokens. */
const pageBytes = 16 * 1024 * 1024
/** A line is parsed as a whole. */
const lineBytes = 32 * 1024 * 1024

/** A line of samples as the trainer writes it, and the fields of one of rewards. */
type SampledGroup = {
  row: number
  prompt: unknown
  item: Record<string, unknown>
  samples: { index: number; tokens: number[]; text: string; tool_calls: unknown[] | null; finish_reason: string }[]
}
type RewardedGroup = {
  rewards: (number | null)[]
  advantages: number[]
  grades: Record<string, number | null>[]
  errors: (GradeError | null)[]
}

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
type ShownGroup = ReturnType<typeof groupOf>
/** `policyStep`: the updates that the sampling model had seen. */
type Rollouts = { step: number; policyStep: number; groups: ShownGroup[]; next: number | null }

/** @throws ServiceError not_found */
export async function readRollouts({ ctx, input }: { ctx: Ctx; input: ReadInput }): Promise<Rollouts> {
  const { split } = input
  const { database, storage } = ctx.deps
  const { id } = await findTrainingJob(ctx, input.jobId)
  const names = rolloutFiles[split]
  const step = input.step ?? (await database.artifacts.newestRolloutStep(id, names.samples))
  const [found] = step === null ? [] : await database.artifacts.listRollouts(id, { from: step, to: step })
  const keyOf = (name: string) => found?.files.find((file) => file.name === name)?.key
  const [samplesKey, rewardsKey] = [keyOf(names.samples), keyOf(names.rewards)]
  const samples = samplesKey === undefined ? null : await storage.read(samplesKey)
  if (step === null || !samples) throw noRollouts({ jobId: id, step, split })
  const rewards = rewardsKey === undefined ? null : await storage.read(rewardsKey)
  try {
    const page = await inByteTurn(ctx, () => readPage(input, { samples, rewards }))
    return { step, policyStep: split === 'train' ? step - 1 : step, ...page }
  } finally {
    // Nothing more is fetched.
    for (const file of [samples, rewards]) file?.destroy()
  }
}

const noRollouts = ({ jobId, step, split }: { jobId: number; step: number | null; split: RolloutSplit }) =>
  new ServiceError(
    'not_found',
    `Job ${jobId} has no ${split === 'train' ? '' : 'held-out '}rollouts${step === null ? '' : ` of step ${step}`}. A job of reinforcement has them from its sampling until keep_rollouts days after its end.`,
  )

type Files = { samples: AsyncIterable<Buffer>; rewards: AsyncIterable<Buffer> | null }

/** Both files have a line for each group, in the same order. */
async function readPage(
  { row, after, limit }: ReadInput,
  { samples, rewards }: Files,
): Promise<Pick<Rollouts, 'groups' | 'next'>> {
  const rewardLines = rewards && linesOf(rewards)
  const groups: ShownGroup[] = []
  let [at, sizeBytes] = [0, 0]
  for await (const line of linesOf(samples)) {
    const rewardLine = rewardLines && (await rewardLines.next())
    const place = at++
    if (place < after) continue
    if (groups.length === limit || sizeBytes > pageBytes) return { groups, next: place }
    if (row !== undefined && rowOf(line) !== row) continue
    sizeBytes += line.length
    const rewarded = rewardLine?.done === false ? (JSON.parse(rewardLine.value.toString()) as RewardedGroup) : null
    groups.push(groupOf(JSON.parse(line.toString()) as SampledGroup, rewarded))
    await nextTurn()
  }
  return { groups, next: null }
}

/** Trainers write it first, so that other groups need not be parsed. */
function rowOf(line: Buffer): number {
  const begun = /^\{"row": ?(\d+),/.exec(line.subarray(0, 32).toString('latin1'))?.[1]
  return begun === undefined ? (JSON.parse(line.toString()) as SampledGroup).row : Number(begun)
}

const groupOf = ({ row, prompt, item, samples }: SampledGroup, rewarded: RewardedGroup | null) => ({
  ...{ row, prompt, item },
  samples: samples.map(({ index, tokens, text, tool_calls: calls, finish_reason }, at) => ({
    ...{ index, text, ...(calls && { tool_calls: calls }), tokens: tokens.length, finish_reason },
    reward: rewarded?.rewards[at] ?? null,
    grades: rewarded?.grades[at] ?? {},
    error: rewarded?.errors[at] ?? null,
    advantage: rewarded?.advantages[at] ?? null,
  })),
})

/** @throws ServiceError conflict for a line that is too long to be parsed */
async function* linesOf(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let begun: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of file) {
    let from = 0
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      yield Buffer.concat([...begun, chunk.subarray(from, end)])
      begun = []
      sizeBytes = 0
      from = end + 1
    }
    begun.push(chunk.subarray(from))
    sizeBytes += chunk.length - from
    if (sizeBytes > lineBytes)
      throw new ServiceError(
        'conflict',
        `A group of this step has more than ${lineBytes >> 20} MiB and cannot be shown.`,
      )
  }
  if (sizeBytes > 0) yield Buffer.concat(begun)
}
