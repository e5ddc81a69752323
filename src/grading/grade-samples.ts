// Grades of a reinforcement job's samples: the reward of each, the score by each grader, and why there is none.
import type { Reward } from '../domain/item-grader.ts'
import type { EvalItem } from '../domain/eval-run.ts'
import type { Grade, GradeError } from '../domain/rollouts.ts'
import { isReward, noReward, rewardOfScores, scoreSamples, type RewardScoring, type Scored } from './reward.ts'
import type { Found } from './score.ts'

/** @throws ServiceError and other errors of a model that judges: then nothing is graded */
export async function gradeSamples(
  scoring: RewardScoring,
  reward: Reward,
  items: readonly EvalItem[],
  signal: AbortSignal,
): Promise<Grade[]> {
  // A program has a limit of its own, and may wait for a sandbox.
  const { signal: ofPrograms } = new AbortController()
  const scored = await scoreSamples(scoring, reward, items, signal, ofPrograms)
  return scored.map((each) => gradeOf(reward, each))
}

function gradeOf(reward: Reward, scored: readonly Scored[]): Grade {
  const grades = Object.fromEntries(scored.map(({ name, found }) => [name, gradeIn(found)]))
  const failed = scored.find(({ name }) => grades[name] === null)
  if (failed) return { reward: null, grades, error: errorOf(failed) }
  const value = rewardOfScores(reward, grades as Record<string, number>)
  if (isReward(value)) return { reward: value, grades, error: null }
  const message = noReward(grades)
  const grader = reward.formula === null ? (scored[0]?.name ?? '') : 'multi'
  return { reward: null, grades, error: { grader, kind: 'formula_parse_error', message } }
}

/** What the answer itself lacks is the model's fault and scores 0. Everything else is no score. */
const gradeIn = (found: Found): number | null =>
  found.score ?? (found.problem === 'sample is no JSON' || found.problem === 'sample lacks a part' ? 0 : null)

const maxMessage = 4000
/** By OpenAI's names. */
const kinds = {
  'missing part': 'invalid_variable_error',
  'sample lacks a part': 'sample_parse_error',
  'sample is no JSON': 'sample_parse_error',
  'too long': 'other_error',
  'judge refused': 'model_grader_server_error',
  'judge without a verdict': 'model_grader_parse_error',
  'program failed': 'python_grader_runtime_error',
  'no score': 'other_error',
} as const

/** Postgres refuses NUL and broken Unicode. */
const storable = (message: string) => message.slice(0, maxMessage).toWellFormed().replaceAll('\0', '\u{fffd}')

function errorOf({ name, found }: Scored): GradeError | null {
  return found.score === null ? { grader: name, kind: kinds[found.problem], message: storable(found.error) } : null
}
