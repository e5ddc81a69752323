// A page of the answers that a reinforcement job sampled for a step. The log-probabilities of a group may take megabytes, so
// a thread parses them.
import type { GradeError } from '../domain/rollouts.ts'
import type { Storage } from '../storage/storage.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'

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

/** Keys of the two files; null for rewards that are not committed yet. */
export type PageWanted = {
  samplesKey: string
  rewardsKey: string | null
  row: number | undefined
  /** Groups to pass over. */
  after: number
  limit: number
}
type ShownGroup = ReturnType<typeof groupOf>
export type RolloutPage = { groups: ShownGroup[]; next: number | null }

/** @returns null when no object has the key of the samples. @throws DatasetInvalidError for a line that is too long */
export async function readRolloutPage(
  storage: Storage,
  { samplesKey, rewardsKey, ...wanted }: PageWanted,
): Promise<RolloutPage | null> {
  const samples = await storage.read(samplesKey)
  const rewards = samples && rewardsKey !== null ? await storage.read(rewardsKey) : null
  if (!samples) return null
  try {
    return await readPage(wanted, { samples, rewards })
  } finally {
    // Nothing more is fetched.
    for (const file of [samples, rewards]) file?.destroy()
  }
}

type Files = { samples: AsyncIterable<Buffer>; rewards: AsyncIterable<Buffer> | null }

/** Both files have a line for each group, in the same order. */
async function readPage(
  { row, after, limit }: Omit<PageWanted, 'samplesKey' | 'rewardsKey'>,
  { samples, rewards }: Files,
): Promise<RolloutPage> {
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

/** @throws DatasetInvalidError for a line that is too long to be parsed */
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
      throw new DatasetInvalidError(`A group of this step has more than ${lineBytes >> 20} MiB and cannot be shown.`)
  }
  if (sizeBytes > 0) yield Buffer.concat(begun)
}
