// Rewards of samples: each grader's score, and the formula that combines them.
import { parseFormula } from '../domain/formula.ts'
import { largestReward, type ItemGrader, type Reward } from '../domain/item-grader.ts'
import type { EvalItem } from '../domain/eval-run.ts'
import type { Grading } from './grading-threads.ts'
import { scoreFilled, type Found, type Scoring } from './score.ts'

export type RewardScoring = Scoring & { grading: Pick<Grading, 'fillChunk'> }

export type Scored = { name: string; grader: ItemGrader; found: Found }

/**
 * Scores items that bring their samples.
 * @returns by item, the result of each grader
 * @throws ServiceError and other errors of a model that judges
 */
export async function scoreSamples(
  scoring: RewardScoring,
  { graders }: Pick<Reward, 'graders'>,
  items: readonly EvalItem[],
  signal: AbortSignal,
  ofPrograms = signal,
): Promise<Scored[][]> {
  const named = Object.entries(graders)
  const chunk = { graders: Object.values(graders), items: Buffer.from(JSON.stringify(items)), answers: null, start: 0 }
  const scored: Scored[][] = []
  for (;;) {
    const from = scored.length
    const piece = await scoring.grading.fillChunk(scoring.accountId, { ...chunk, from }, signal)
    const columns = await Promise.all(
      named.map(([, grader], at) =>
        scoreFilled(
          scoring,
          { grader, filled: piece.columns[at] ?? [], start: from },
          grader.type === 'python' ? ofPrograms : signal,
        ),
      ),
    )
    for (const item of piece.samples.keys())
      scored.push(named.map(([name, grader], at) => ({ name, grader, found: columns[at]?.[item] as Found })))
    if (piece.isLast) return scored
  }
}

/** @returns null where the formula has no finite number */
export function rewardOfScores({ graders, formula }: Reward, scores: Readonly<Record<string, number>>): number | null {
  if (formula === null) return Object.values(scores)[0] ?? 0
  return parseFormula(formula, Object.keys(graders))(scores)
}

export const isReward = (value: number | null): value is number => value !== null && Math.abs(value) <= largestReward

/** Why scores give no reward. */
export const noReward = (grades: Readonly<Record<string, number | null>>) =>
  `The grader has no number from -${largestReward} to ${largestReward} for ${JSON.stringify(grades)}.`
