import { graderName, type Grader, type Scores } from '../../domain/grader.ts'
import type { JobScores } from '../../domain/model-evaluation.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { RewardTask } from '../../domain/reward-task.ts'
import type { EvaluationRow } from '../../domain/training-job.ts'
import type { Grading } from '../../grading/grading-threads.ts'
import { scoreAnswers } from '../../grading/score.ts'
import { compare, summarise } from '../../grading/summarise.ts'
import type { Database } from '../../repositories/database.ts'
import type { RewardScoring } from '../../grading/reward.ts'
import { neededTooMuchMemory } from '../../worker-thread-pool.ts'
import { scoreByReward } from './score-by-reward.ts'

/** Rows beyond these have no scores: their answers are shown, and the figures are about the first rows. */
const maxScoredRows = 2000

type Scoring = {
  grading: Pick<Grading, 'score' | 'python' | 'defaultGraders' | 'fillChunk'>
  /** @throws ServiceError unavailable, and other errors of a model */
  embed: (accountId: string, texts: string[]) => Promise<number[][]>
  /** Asks models that judge. */
  askOf: (accountId: string) => NonNullable<RewardScoring['ask']>
  /** Keeps the figures of a model for its other readers. */
  models: Pick<Database['models'], 'keepScores'>
  /** Keeps the scores that judges gave. */
  artifacts: Pick<Database['artifacts'], 'keepEvaluationScores'>
}

type Evaluation = {
  rows: readonly EvaluationRow[]
  graders: Grader[] | null
  /** Of a reinforcement job: its grader scores when the request named no others. */
  task?: RewardTask | null
}

/** `tuned`, `base`: the scores of each row, as far as rows are scored. */
export type ScoredEvaluation = { graders: Grader[]; tuned: Scores[]; base: Scores[]; summary: JobScores }

/**
 * Scores the answers of a job's model and its base.
 * @throws ServiceError invalid_input when the graders take too long, and the errors of the embedding model
 */
async function scoreEvaluation(
  { grading, embed, askOf }: Scoring,
  accountId: string,
  { rows: all, graders: wanted, task }: Evaluation,
): Promise<ScoredEvaluation> {
  const rows = all.slice(0, maxScoredRows)
  const own = { accountId, grading, embed: (texts: string[]) => embed(accountId, texts) }
  if (task && !wanted) {
    const { tuned, base } = await scoreByReward({ ...own, ask: askOf(accountId) }, task, rows)
    return { graders: [], tuned, base, summary: summaryOf(Object.keys(tuned[0] ?? {}), tuned, base) }
  }
  const expected = rows.map((row) => row.expected)
  const graders = wanted ?? (await grading.defaultGraders(accountId, expected))
  const names = new Set([...(rows.some(isPair) ? [preference] : []), ...graders.map(graderName)])
  const scoresOf = async (side: 'tuned' | 'base'): Promise<Scores[]> => {
    const answers = rows.map((row) => ({ output: row[side], error: null }))
    const scored = await scoreAnswers(own, { graders, rows, answers }, new AbortController().signal)
    return scored.map(({ scores }, index) => ({ ...preferenceOf(rows[index], side), ...scores }))
  }
  const [tuned, base] = [await scoresOf('tuned'), await scoresOf('base')]
  return { graders, tuned, base, summary: summaryOf([...names], tuned, base) }
}

const summaryOf = (names: readonly string[], tuned: readonly Scores[], base: readonly Scores[]): JobScores =>
  Object.fromEntries(names.map((name) => [name, figures(name, tuned, base)]))

/** 1 where a model finds the better answer of a pair likelier, else 0. A grader of this name takes its place. */
const preference = 'prefers_chosen'
const isPair = ({ prefersChosen }: EvaluationRow) => prefersChosen !== undefined
const preferenceOf = (row: EvaluationRow | undefined, side: 'tuned' | 'base'): Scores =>
  row?.prefersChosen ? { [preference]: Number(row.prefersChosen[side]) } : {}

function figures(grader: string, tuned: readonly Scores[], base: readonly Scores[]): JobScores[string] {
  const [ours, theirs] = [summarise(grader, tuned), summarise(grader, base)]
  const comparison = compare(grader, tuned, base)
  return ours && theirs && comparison && { tuned: ours, base: theirs, ...comparison }
}

type Evaluated = { accountId: string; modelName: string; artifactId: string }

/** Results of one process, lasting failures included: a model's answers never change, and scoring may take minutes. */
const maxKept = 100

export function createEvaluationScores(scoring: Scoring) {
  /** In the order of the latest use. */
  const kept = new Map<string, Promise<ScoredEvaluation>>()
  const score = async ({ accountId, modelName, artifactId }: Evaluated, evaluation: Evaluation) => {
    const scored = await scoreEvaluation(scoring, accountId, evaluation)
    if (evaluation.task && !evaluation.rows[0]?.scores) {
      const ofRows = scored.tuned.map((tuned, row) => ({ tuned, base: scored.base[row] ?? {} }))
      await scoring.artifacts.keepEvaluationScores(artifactId, ofRows)
    }
    await scoring.models.keepScores(modelName, scored.summary)
    return scored
  }
  return async (model: Evaluated, evaluation: Evaluation): Promise<ScoredEvaluation> => {
    const { modelName } = model
    const scored = kept.get(modelName) ?? score(model, evaluation)
    kept.delete(modelName)
    kept.set(modelName, scored)
    scored.catch((error: unknown) => {
      if (!wouldFailAgain(error) && kept.get(modelName) === scored) kept.delete(modelName)
    })
    for (const oldest of kept.keys()) if (kept.size > maxKept) kept.delete(oldest)
    return scored
  }
}

/** Whether a repeat would take the account's thread again and fail in the same way. */
export const wouldFailAgain = (error: unknown) =>
  (error instanceof ServiceError && error.code === 'invalid_input') || neededTooMuchMemory(error)

export type EvaluationScores = ReturnType<typeof createEvaluationScores>
