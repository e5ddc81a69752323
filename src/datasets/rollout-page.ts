// A page of the answers that a reinforcement job sampled for a step. The log-probabilities of a group may take megabytes, so
// a thread parses them.
import type { GradeError } from '../domain/rollouts.ts'
import type { Storage } from '../storage/storage.ts'
import { linesOf } from './byte-lines.ts'
import { findRowPlaces, type FoundPlace } from './row-places.ts'

/** A page ends after so many bytes of samples, most of which are the log-probabilities of their tokens. */
const pageBytes = 16 * 1024 * 1024

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

/**
 * Keys of the two files; null for rewards that are not committed yet. `linesKey`: the file of the lines that the rows come from,
 * null where the job has none.
 */
export type PageWanted = {
  samplesKey: string
  rewardsKey: string | null
  linesKey: string | null
  row: number | undefined
  /** Groups to pass over. */
  after: number
  limit: number
}
type ShownGroup = ReturnType<typeof groupOf>
/** `place`: null where it is not known any more. */
export type RolloutPage = { groups: (ShownGroup & { place: FoundPlace | null })[]; next: number | null }

/** @returns null when no object has the key of the samples. @throws DatasetInvalidError for a line that is too long */
export async function readRolloutPage(
  storage: Storage,
  { samplesKey, rewardsKey, linesKey, ...wanted }: PageWanted,
): Promise<RolloutPage | null> {
  const samples = await storage.read(samplesKey)
  const rewards = samples && rewardsKey !== null ? await storage.read(rewardsKey) : null
  if (!samples) return null
  try {
    const { groups, next } = await readPage(wanted, { samples, rewards })
    const rows = groups.map(({ row }) => row)
    const places = linesKey === null ? null : await findRowPlaces(storage, { linesKey, rows })
    return { groups: groups.map((group) => ({ ...group, place: places?.get(group.row) ?? null })), next }
  } finally {
    // Nothing more is fetched.
    for (const file of [samples, rewards]) file?.destroy()
  }
}

type Files = { samples: AsyncIterable<Buffer>; rewards: AsyncIterable<Buffer> | null }

/** Both files have a line for each group, in the same order. */
async function readPage(
  { row, after, limit }: Omit<PageWanted, 'samplesKey' | 'rewardsKey' | 'linesKey'>,
  { samples, rewards }: Files,
): Promise<{ groups: ShownGroup[]; next: number | null }> {
  const rewardLines = rewards && linesOf(rewards)
  const groups: ShownGroup[] = []
  let [at, sizeBytes] = [0, 0]
  for await (const line of linesOf(samples)) {
    const rewardLine = rewardLines && (await rewardLines.next())
    const place = at++
    if (place < after) continue
    if (row !== undefined && rowOf(line) !== row) continue
    if (groups.length === limit || sizeBytes > pageBytes) return { groups, next: place }
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
